"""OceanBase's fragments of SQL, those of MySQL."""

from collections.abc import Sequence
from functools import lru_cache

from adapters.oceanbase.vectors import OceanBaseVectors


class OceanBaseDialect:
    """Fragments of `adapters.sql.engine.Dialect`."""

    name = "oceanbase"
    vectors = OceanBaseVectors()
    for_update = " FOR UPDATE"

    def upsert(self, table: str, key: Sequence[str], values: Sequence[str]) -> str:
        columns = ", ".join([*key, *values])
        marks = ", ".join("?" * (len(key) + len(values)))
        updates = ", ".join(f"{column} = VALUES({column})" for column in values)
        return f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON DUPLICATE KEY UPDATE {updates}"


@lru_cache(maxsize=1024)
def formatted(sql: str) -> str:
    """`sql` with `%s` for each `?` and `%%` for each `%`, as pymysql wants it.

    No statement has a `?` in a literal: texts are always bound.
    """
    return sql.replace("%", "%%").replace("?", "%s")
