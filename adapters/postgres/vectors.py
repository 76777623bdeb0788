"""Vectors in PostgreSQL: pgvector's type."""

from typing import Final

from adapters.sql.engine import Transaction
from adapters.sql.vectors import NativeVectors
from contracts.errors import RuntimeNotReady

NO_PGVECTOR: Final = (
    "The PostgreSQL server has no pgvector, which stores vectors; install it, or unset the embedding settings."
)
NOT_CREATED: Final = (
    "The database lacks pgvector, and the user of the URL may not add it; as a superuser run: CREATE EXTENSION vector"
)


class PostgresVectors(NativeVectors):
    """`adapters.sql.vectors.Vectors`."""

    def __init__(self) -> None:
        super().__init__(
            create=(
                "CREATE TABLE IF NOT EXISTS embedding (scope BIGINT NOT NULL, corpus BIGINT NOT NULL,"
                " slot BIGINT NOT NULL, data VECTOR(…) NOT NULL, PRIMARY KEY (scope, corpus, slot))"
            ),
            # Through text: the driver has no codec for the type itself.
            mark="?::text::vector",
            similarity="1 - (data <=> ?::text::vector)",
        )

    async def create(self, transaction: Transaction, dimension: int) -> None:
        offered = await transaction.fetch("SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'")
        if not offered:
            raise RuntimeNotReady(NO_PGVECTOR)
        if offered[0][0] is None:
            may = await transaction.fetch(
                "SELECT rolsuper"
                " OR (SELECT bool_or(trusted) FROM pg_available_extension_versions WHERE name = 'vector')"
                " FROM pg_roles WHERE rolname = current_user"
            )
            if not may[0][0]:
                raise RuntimeNotReady(NOT_CREATED)
            await transaction.fetch("CREATE EXTENSION IF NOT EXISTS vector")
        await super().create(transaction, dimension)
