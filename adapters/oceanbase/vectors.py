"""Vectors in OceanBase: its own type, from version 4.3.3 on."""

from adapters.sql.vectors import NativeVectors


class OceanBaseVectors(NativeVectors):
    """`adapters.sql.vectors.Vectors`."""

    def __init__(self) -> None:
        super().__init__(
            create=(
                "CREATE TABLE IF NOT EXISTS embedding (scope BIGINT NOT NULL, corpus BIGINT NOT NULL,"
                " slot BIGINT NOT NULL, data VECTOR(…) NOT NULL, PRIMARY KEY (scope, corpus, slot))"
                " PARTITION BY KEY (scope) PARTITIONS 16"
            ),
            mark="?",
            similarity="1e0 - cosine_distance(data, ?)",
        )
