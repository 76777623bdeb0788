-- Ids of Scopes and principals are chosen by callers and compared as bytes; ids that are text sort as bytes too.
-- Rows of versions and revisions are immutable but for the mark where they left and for erasure.

CREATE TABLE setting (
    name  TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE scope (
    id                  BIGINT PRIMARY KEY,
    ident               BYTEA  NOT NULL UNIQUE,
    title               TEXT   NOT NULL,
    summary             TEXT   NOT NULL,
    parent              BIGINT REFERENCES scope (id),
    external_references TEXT   NOT NULL,
    version             BIGINT NOT NULL,
    idempotency_key     BYTEA  NOT NULL UNIQUE,
    parameters_digest   BYTEA  NOT NULL
);
CREATE INDEX scope_parent ON scope (parent);

CREATE TABLE scope_reference (
    scope      BIGINT NOT NULL REFERENCES scope (id),
    position   BIGINT NOT NULL,
    referenced BIGINT NOT NULL REFERENCES scope (id),
    PRIMARY KEY (scope, position)
);
CREATE INDEX scope_reference_referenced ON scope_reference (referenced);

CREATE TABLE memory_head (
    scope            BIGINT PRIMARY KEY REFERENCES scope (id),
    revision         BIGINT NOT NULL,
    import_floor     BIGINT NOT NULL,
    next_slot        BIGINT NOT NULL
);

CREATE TABLE memory_version (
    scope            BIGINT NOT NULL REFERENCES scope (id),
    slot             BIGINT NOT NULL,
    entry_id         TEXT   COLLATE "C" NOT NULL,
    version_id       TEXT   COLLATE "C" NOT NULL,
    version          BIGINT NOT NULL,
    kind             TEXT   NOT NULL,
    text             TEXT   NOT NULL,
    identity         BYTEA  NOT NULL,
    entered_revision BIGINT NOT NULL,
    left_revision    BIGINT,
    reason           TEXT,
    left_reason      TEXT,
    erased           BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, slot)
);
CREATE UNIQUE INDEX memory_version_entry ON memory_version (scope, entry_id, version);
CREATE UNIQUE INDEX memory_version_version ON memory_version (scope, version_id);
CREATE INDEX memory_version_identity ON memory_version (scope, identity);
CREATE INDEX memory_version_entered ON memory_version (scope, entered_revision);
CREATE INDEX memory_version_left ON memory_version (scope, left_revision);

-- `number` counts the Artifacts of a Scope; it names an Artifact in cursors.
CREATE TABLE artifact_head (
    scope       BIGINT NOT NULL REFERENCES scope (id),
    family      TEXT   COLLATE "C" NOT NULL,
    artifact_id TEXT   COLLATE "C" NOT NULL,
    number      BIGINT NOT NULL,
    revision    BIGINT NOT NULL,
    slot        BIGINT NOT NULL,
    erased      BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, family, artifact_id)
);
CREATE UNIQUE INDEX artifact_head_number ON artifact_head (scope, number);
CREATE INDEX artifact_head_slot ON artifact_head (scope, family, slot);

CREATE TABLE artifact_revision (
    scope            BIGINT NOT NULL REFERENCES scope (id),
    family           TEXT   COLLATE "C" NOT NULL,
    artifact_id      TEXT   COLLATE "C" NOT NULL,
    revision         BIGINT NOT NULL,
    content          TEXT   NOT NULL,
    digest           TEXT   NOT NULL,
    source_refs      TEXT   NOT NULL,
    artifact_refs    TEXT   NOT NULL,
    memory_citations TEXT   NOT NULL,
    title            TEXT,
    summary          TEXT,
    published_at     TEXT   NOT NULL,
    erased           BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, family, artifact_id, revision)
);

-- The pieces of Topic Memory details that recall searches and shows as snippets; only those of head revisions.
CREATE TABLE topic_piece (
    scope       BIGINT NOT NULL REFERENCES scope (id),
    slot        BIGINT NOT NULL,
    artifact_id TEXT   COLLATE "C" NOT NULL,
    text        TEXT   NOT NULL,
    PRIMARY KEY (scope, slot)
);
CREATE INDEX topic_piece_artifact ON topic_piece (scope, artifact_id);

CREATE TABLE candidate (
    scope            BIGINT NOT NULL REFERENCES scope (id),
    candidate_id     TEXT   COLLATE "C" NOT NULL,
    number           BIGINT NOT NULL,
    version          BIGINT NOT NULL,
    family           TEXT   NOT NULL,
    status           TEXT   NOT NULL,
    proposal         TEXT   NOT NULL,
    source_refs      TEXT   NOT NULL,
    artifact_refs    TEXT   NOT NULL,
    memory_citations TEXT   NOT NULL,
    target           TEXT,
    reason           TEXT,
    result_artifact  TEXT,
    decision_reason  TEXT,
    PRIMARY KEY (scope, candidate_id)
);
CREATE UNIQUE INDEX candidate_number ON candidate (scope, number);

CREATE TABLE token (
    id             BIGINT PRIMARY KEY,
    token_id       TEXT   COLLATE "C" NOT NULL UNIQUE,
    digest         BYTEA  NOT NULL UNIQUE,
    principal_id   BYTEA  NOT NULL,
    principal_type TEXT   NOT NULL,
    description    TEXT,
    created_at     TEXT   NOT NULL,
    revoked_at     TEXT
);

CREATE TABLE access_grant (
    principal_id BYTEA NOT NULL,
    scope_ident  BYTEA NOT NULL,
    role         TEXT  COLLATE "C" NOT NULL,
    PRIMARY KEY (principal_id, scope_ident, role)
);

-- The text index: per Scope and corpus how many live documents there are and how long they are together.
CREATE TABLE corpus (
    scope      BIGINT NOT NULL REFERENCES scope (id),
    corpus     BIGINT NOT NULL,
    live       BIGINT NOT NULL,
    length_sum BIGINT NOT NULL,
    PRIMARY KEY (scope, corpus)
);

-- Block 0 of a term is its tail, `n` the term's document frequency and `data` its newest postings; other blocks are
-- sealed, named by their first slot, and `n` counts their postings. Only what is live is in here.
CREATE TABLE posting (
    scope  BIGINT NOT NULL,
    corpus BIGINT NOT NULL,
    term   BIGINT NOT NULL,
    block  BIGINT NOT NULL,
    n      BIGINT NOT NULL,
    data   BYTEA  NOT NULL,
    PRIMARY KEY (scope, corpus, term, block)
);

-- The terms under which a live document was indexed, so that taking it out does not depend on today's tokenizer.
CREATE TABLE posting_document (
    scope  BIGINT NOT NULL,
    corpus BIGINT NOT NULL,
    slot   BIGINT NOT NULL,
    length BIGINT NOT NULL,
    terms  BYTEA  NOT NULL,
    PRIMARY KEY (scope, corpus, slot)
);
