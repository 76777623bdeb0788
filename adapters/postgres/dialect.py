"""PostgreSQL's fragments of SQL."""

from collections.abc import Sequence
from functools import lru_cache

from adapters.postgres.vectors import PostgresVectors


class PostgresDialect:
    """Fragments of `adapters.sql.engine.Dialect`."""

    name = "postgres"
    vectors = PostgresVectors()
    for_update = " FOR UPDATE"

    def upsert(self, table: str, key: Sequence[str], values: Sequence[str]) -> str:
        columns = ", ".join([*key, *values])
        marks = ", ".join("?" * (len(key) + len(values)))
        updates = ", ".join(f"{column} = excluded.{column}" for column in values)
        return (
            f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT ({', '.join(key)}) DO UPDATE SET {updates}"
        )


@lru_cache(maxsize=1024)
def numbered(sql: str) -> str:
    """`sql` with `$1`, `$2`, … for each `?`. No statement has a `?` in a literal: texts are always bound."""
    first, *others = sql.split("?")
    return first + "".join(f"${number}{part}" for number, part in enumerate(others, start=1))
