-- The tail of a term: `n` is the term's document frequency, `data` its newest postings. Tails had been block 0 of
-- `posting`, where each lay between sealed blocks on a page of its own. `posting` keeps the sealed blocks alone.
CREATE TABLE IF NOT EXISTS posting_tail (
    scope  BIGINT     NOT NULL,
    corpus BIGINT     NOT NULL,
    term   BIGINT     NOT NULL,
    n      BIGINT     NOT NULL,
    data   MEDIUMBLOB NOT NULL,
    PRIMARY KEY (scope, corpus, term)
) PARTITION BY KEY (scope) PARTITIONS 16;

REPLACE INTO posting_tail (scope, corpus, term, n, data)
    SELECT scope, corpus, term, n, data FROM posting WHERE block = 0;
DELETE FROM posting WHERE block = 0;
