-- One statement at a time, each safe to repeat: DDL commits by itself here.
-- Ids that callers choose are VARBINARY, because collations merge case, accents, trailing blanks and even emoji.
-- Ids of printable ASCII are VARCHAR with a binary collation, which pads with blanks; they hold none.
-- What belongs to a Scope is partitioned by its key, so that the work of one Scope stays on one node; unique keys hold
-- the Scope for that reason. Foreign keys are left out: they would lock across partitions at every write.
-- Rows of versions and revisions are immutable but for the mark where they left and for erasure.

CREATE TABLE IF NOT EXISTS setting (
    name  VARCHAR(64) NOT NULL,
    value MEDIUMBLOB  NOT NULL,
    PRIMARY KEY (name)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS scope (
    id                  BIGINT          NOT NULL,
    ident               VARBINARY(1024) NOT NULL,
    title               VARCHAR(256)    NOT NULL,
    summary             MEDIUMTEXT      NOT NULL,
    parent              BIGINT,
    external_references MEDIUMTEXT      NOT NULL,
    version             BIGINT          NOT NULL,
    idempotency_key     VARBINARY(1024) NOT NULL,
    parameters_digest   VARBINARY(32)   NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY scope_ident (ident),
    UNIQUE KEY scope_idempotency_key (idempotency_key),
    KEY scope_parent (parent)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS scope_reference (
    scope      BIGINT NOT NULL,
    position   BIGINT NOT NULL,
    referenced BIGINT NOT NULL,
    PRIMARY KEY (scope, position),
    KEY scope_reference_referenced (referenced)
);

CREATE TABLE IF NOT EXISTS memory_head (
    scope            BIGINT NOT NULL,
    revision         BIGINT NOT NULL,
    import_floor     BIGINT NOT NULL,
    next_slot        BIGINT NOT NULL,
    PRIMARY KEY (scope)
) PARTITION BY KEY (scope) PARTITIONS 16;

CREATE TABLE IF NOT EXISTS memory_version (
    scope            BIGINT        NOT NULL,
    slot             BIGINT        NOT NULL,
    entry_id         VARCHAR(128)  NOT NULL,
    version_id       VARCHAR(128)  NOT NULL,
    version          BIGINT        NOT NULL,
    kind             VARCHAR(128)  NOT NULL,
    text             MEDIUMTEXT    NOT NULL,
    identity         VARBINARY(32) NOT NULL,
    entered_revision BIGINT        NOT NULL,
    left_revision    BIGINT,
    reason           MEDIUMTEXT,
    left_reason      MEDIUMTEXT,
    erased           BIGINT        NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, slot),
    UNIQUE KEY memory_version_entry (scope, entry_id, version),
    UNIQUE KEY memory_version_version (scope, version_id),
    KEY memory_version_identity (scope, identity),
    KEY memory_version_entered (scope, entered_revision),
    KEY memory_version_left (scope, left_revision)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin PARTITION BY KEY (scope) PARTITIONS 16;

-- `number` counts the Artifacts of a Scope; it names an Artifact in cursors.
CREATE TABLE IF NOT EXISTS artifact_head (
    scope       BIGINT       NOT NULL,
    family      VARCHAR(32)  NOT NULL,
    artifact_id VARCHAR(128) NOT NULL,
    number      BIGINT       NOT NULL,
    revision    BIGINT       NOT NULL,
    slot        BIGINT       NOT NULL,
    erased      BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, family, artifact_id),
    UNIQUE KEY artifact_head_number (scope, number),
    KEY artifact_head_slot (scope, family, slot)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin PARTITION BY KEY (scope) PARTITIONS 16;

CREATE TABLE IF NOT EXISTS artifact_revision (
    scope            BIGINT       NOT NULL,
    family           VARCHAR(32)  NOT NULL,
    artifact_id      VARCHAR(128) NOT NULL,
    revision         BIGINT       NOT NULL,
    content          MEDIUMTEXT   NOT NULL,
    digest           VARCHAR(128) NOT NULL,
    source_refs      MEDIUMTEXT   NOT NULL,
    artifact_refs    MEDIUMTEXT   NOT NULL,
    memory_citations MEDIUMTEXT   NOT NULL,
    title            MEDIUMTEXT,
    summary          MEDIUMTEXT,
    published_at     VARCHAR(64)  NOT NULL,
    erased           BIGINT       NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, family, artifact_id, revision)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin PARTITION BY KEY (scope) PARTITIONS 16;

-- The pieces of Topic Memory details that recall searches and shows as snippets; only those of head revisions.
CREATE TABLE IF NOT EXISTS topic_piece (
    scope       BIGINT       NOT NULL,
    slot        BIGINT       NOT NULL,
    artifact_id VARCHAR(128) NOT NULL,
    text        MEDIUMTEXT   NOT NULL,
    PRIMARY KEY (scope, slot),
    KEY topic_piece_artifact (scope, artifact_id)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin PARTITION BY KEY (scope) PARTITIONS 16;

CREATE TABLE IF NOT EXISTS candidate (
    scope            BIGINT       NOT NULL,
    candidate_id     VARCHAR(128) NOT NULL,
    number           BIGINT       NOT NULL,
    version          BIGINT       NOT NULL,
    family           VARCHAR(32)  NOT NULL,
    status           VARCHAR(32)  NOT NULL,
    proposal         MEDIUMTEXT   NOT NULL,
    source_refs      MEDIUMTEXT   NOT NULL,
    artifact_refs    MEDIUMTEXT   NOT NULL,
    memory_citations MEDIUMTEXT   NOT NULL,
    target           MEDIUMTEXT,
    reason           MEDIUMTEXT,
    result_artifact  MEDIUMTEXT,
    decision_reason  MEDIUMTEXT,
    PRIMARY KEY (scope, candidate_id),
    UNIQUE KEY candidate_number (scope, number)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin PARTITION BY KEY (scope) PARTITIONS 16;

CREATE TABLE IF NOT EXISTS token (
    id             BIGINT          NOT NULL,
    token_id       VARCHAR(128)    NOT NULL,
    digest         VARBINARY(32)   NOT NULL,
    principal_id   VARBINARY(1024) NOT NULL,
    principal_type VARCHAR(32)     NOT NULL,
    description    MEDIUMTEXT,
    created_at     VARCHAR(64)     NOT NULL,
    revoked_at     VARCHAR(64),
    PRIMARY KEY (id),
    UNIQUE KEY token_token_id (token_id),
    UNIQUE KEY token_digest (digest)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

CREATE TABLE IF NOT EXISTS access_grant (
    principal_id VARBINARY(1024) NOT NULL,
    scope_ident  VARBINARY(1024) NOT NULL,
    role         VARCHAR(32)     NOT NULL,
    PRIMARY KEY (principal_id, scope_ident, role)
) DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin;

-- The text index: per Scope and corpus how many live documents there are and how long they are together.
CREATE TABLE IF NOT EXISTS corpus (
    scope      BIGINT NOT NULL,
    corpus     BIGINT NOT NULL,
    live       BIGINT NOT NULL,
    length_sum BIGINT NOT NULL,
    PRIMARY KEY (scope, corpus)
) PARTITION BY KEY (scope) PARTITIONS 16;

-- Block 0 of a term is its tail, `n` the term's document frequency and `data` its newest postings; other blocks are
-- sealed, named by their first slot, and `n` counts their postings. Only what is live is in here.
CREATE TABLE IF NOT EXISTS posting (
    scope  BIGINT     NOT NULL,
    corpus BIGINT     NOT NULL,
    term   BIGINT     NOT NULL,
    block  BIGINT     NOT NULL,
    n      BIGINT     NOT NULL,
    data   MEDIUMBLOB NOT NULL,
    PRIMARY KEY (scope, corpus, term, block)
) PARTITION BY KEY (scope) PARTITIONS 16;

-- The terms under which a live document was indexed, so that taking it out does not depend on today's tokenizer.
CREATE TABLE IF NOT EXISTS posting_document (
    scope  BIGINT     NOT NULL,
    corpus BIGINT     NOT NULL,
    slot   BIGINT     NOT NULL,
    length BIGINT     NOT NULL,
    terms  MEDIUMBLOB NOT NULL,
    PRIMARY KEY (scope, corpus, slot)
) PARTITION BY KEY (scope) PARTITIONS 16;
