-- The tail of a term: `n` is the term's document frequency, `data` its newest postings. Tails had been block 0 of
-- `posting`, where each lay between sealed blocks on a page of its own. `posting` keeps the sealed blocks alone.
CREATE TABLE posting_tail (
    scope  INTEGER NOT NULL,
    corpus INTEGER NOT NULL,
    term   INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    data   BLOB    NOT NULL,
    PRIMARY KEY (scope, corpus, term)
) WITHOUT ROWID;

INSERT INTO posting_tail (scope, corpus, term, n, data)
    SELECT scope, corpus, term, n, data FROM posting WHERE block = 0;
DELETE FROM posting WHERE block = 0;
