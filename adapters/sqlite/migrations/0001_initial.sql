-- Ids of Scopes, references and Memory are chosen by callers and compared as bytes.
-- Rows of versions and revisions are immutable but for the mark where they left and for erasure.

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE scope (
    id                  INTEGER PRIMARY KEY,
    ident               BLOB    NOT NULL UNIQUE,
    title               TEXT    NOT NULL,
    summary             TEXT    NOT NULL,
    parent              INTEGER REFERENCES scope (id),
    external_references TEXT    NOT NULL,
    version             INTEGER NOT NULL,
    idempotency_key     BLOB    NOT NULL UNIQUE,
    parameters_digest   BLOB    NOT NULL
);
CREATE INDEX scope_parent ON scope (parent);

CREATE TABLE scope_reference (
    scope      INTEGER NOT NULL REFERENCES scope (id),
    position   INTEGER NOT NULL,
    referenced INTEGER NOT NULL REFERENCES scope (id),
    PRIMARY KEY (scope, position)
) WITHOUT ROWID;
CREATE INDEX scope_reference_referenced ON scope_reference (referenced);

CREATE TABLE memory_head (
    scope            INTEGER PRIMARY KEY REFERENCES scope (id),
    revision         INTEGER NOT NULL,
    import_floor     INTEGER NOT NULL,
    next_slot        INTEGER NOT NULL
);

CREATE TABLE memory_version (
    scope            INTEGER NOT NULL REFERENCES scope (id),
    slot             INTEGER NOT NULL,
    entry_id         TEXT    NOT NULL,
    version_id       TEXT    NOT NULL,
    version          INTEGER NOT NULL,
    kind             TEXT    NOT NULL,
    text             TEXT    NOT NULL,
    identity         BLOB    NOT NULL,
    entered_revision INTEGER NOT NULL,
    left_revision    INTEGER,
    reason           TEXT,
    left_reason      TEXT,
    erased           INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, slot)
);
CREATE UNIQUE INDEX memory_version_entry ON memory_version (scope, entry_id, version);
CREATE UNIQUE INDEX memory_version_version ON memory_version (scope, version_id);
CREATE INDEX memory_version_identity ON memory_version (scope, identity);
CREATE INDEX memory_version_entered ON memory_version (scope, entered_revision);
CREATE INDEX memory_version_left ON memory_version (scope, left_revision);

-- `number` counts the Artifacts of a Scope; it names an Artifact in cursors.
CREATE TABLE artifact_head (
    scope       INTEGER NOT NULL REFERENCES scope (id),
    family      TEXT    NOT NULL,
    artifact_id TEXT    NOT NULL,
    number      INTEGER NOT NULL,
    revision    INTEGER NOT NULL,
    slot        INTEGER NOT NULL,
    erased      INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, family, artifact_id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX artifact_head_number ON artifact_head (scope, number);
CREATE INDEX artifact_head_slot ON artifact_head (scope, family, slot);

CREATE TABLE artifact_revision (
    scope            INTEGER NOT NULL REFERENCES scope (id),
    family           TEXT    NOT NULL,
    artifact_id      TEXT    NOT NULL,
    revision         INTEGER NOT NULL,
    content          TEXT    NOT NULL,
    digest           TEXT    NOT NULL,
    source_refs      TEXT    NOT NULL,
    artifact_refs    TEXT    NOT NULL,
    memory_citations TEXT    NOT NULL,
    title            TEXT,
    summary          TEXT,
    published_at     TEXT    NOT NULL,
    erased           INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (scope, family, artifact_id, revision)
);

-- The pieces of Topic Memory details that recall searches and shows as snippets; only those of head revisions.
CREATE TABLE topic_piece (
    scope       INTEGER NOT NULL REFERENCES scope (id),
    slot        INTEGER NOT NULL,
    artifact_id TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    PRIMARY KEY (scope, slot)
) WITHOUT ROWID;
CREATE INDEX topic_piece_artifact ON topic_piece (scope, artifact_id);

CREATE TABLE candidate (
    scope            INTEGER NOT NULL REFERENCES scope (id),
    candidate_id     TEXT    NOT NULL,
    number           INTEGER NOT NULL,
    version          INTEGER NOT NULL,
    family           TEXT    NOT NULL,
    status           TEXT    NOT NULL,
    proposal         TEXT    NOT NULL,
    source_refs      TEXT    NOT NULL,
    artifact_refs    TEXT    NOT NULL,
    memory_citations TEXT    NOT NULL,
    target           TEXT,
    reason           TEXT,
    result_artifact  TEXT,
    decision_reason  TEXT,
    PRIMARY KEY (scope, candidate_id)
);
CREATE UNIQUE INDEX candidate_number ON candidate (scope, number);

CREATE TABLE token (
    id             INTEGER PRIMARY KEY,
    token_id       TEXT    NOT NULL UNIQUE,
    digest         BLOB    NOT NULL UNIQUE,
    principal_id   BLOB    NOT NULL,
    principal_type TEXT    NOT NULL,
    description    TEXT,
    created_at     TEXT    NOT NULL,
    revoked_at     TEXT
);

CREATE TABLE access_grant (
    principal_id BLOB NOT NULL,
    scope_ident  BLOB NOT NULL,
    role         TEXT NOT NULL,
    PRIMARY KEY (principal_id, scope_ident, role)
) WITHOUT ROWID;

-- The text index: per Scope and corpus how many live documents there are and how long they are together.
CREATE TABLE corpus (
    scope      INTEGER NOT NULL REFERENCES scope (id),
    corpus     INTEGER NOT NULL,
    live       INTEGER NOT NULL,
    length_sum INTEGER NOT NULL,
    PRIMARY KEY (scope, corpus)
) WITHOUT ROWID;

-- Block 0 of a term is its tail, `n` the term's document frequency and `data` its newest postings; other blocks are
-- sealed, named by their first slot, and `n` counts their postings. Only what is live is in here.
CREATE TABLE posting (
    scope  INTEGER NOT NULL,
    corpus INTEGER NOT NULL,
    term   INTEGER NOT NULL,
    block  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (scope, corpus, term, block)
) WITHOUT ROWID;

-- The terms under which a live document was indexed, so that taking it out does not depend on today's tokenizer.
CREATE TABLE posting_document (
    scope  INTEGER NOT NULL,
    corpus INTEGER NOT NULL,
    slot   INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms  BLOB    NOT NULL,
    PRIMARY KEY (scope, corpus, slot)
) WITHOUT ROWID;
