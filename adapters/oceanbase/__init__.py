"""OceanBase in MySQL mode, a cluster or a single seekdb node: tables partitioned by Scope."""
