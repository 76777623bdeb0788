"""The commands beside a provider: `doctor` says what is wrong, `reindex` puts it right, `serve` refuses half of it."""

import asyncio
import os
import sys
from pathlib import Path

from service.settings import PREFIX
from tests.inference.calls import found, remember
from tests.inference.conftest import Serve, embedding_settings
from tests.inference.provider import Provider, resets


async def run(command: str, database_url: str, running: Provider, **others: str) -> tuple[int, str]:
    """The exit code and everything said, with the stub provider in the settings."""
    settings = {name: str(value) for name, value in embedding_settings(running, **others).items()}
    environment = {f"{PREFIX}{name.upper()}": value for name, value in settings.items() if value}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from service.cli import main; main()", command),
        env={**os.environ, f"{PREFIX}DATABASE_URL": database_url, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=Path(__file__).parents[2],
    )
    said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode()


async def test_what_doctor_finds_missing_reindex_makes(serve: Serve, embedder: Provider, database_url: str) -> None:
    patient = {"inference_embedding_timeout_seconds": "20"}
    async with serve() as client:
        await remember(client, "An automobile needs oil")
        await remember(client, "A boat needs wind")
    code, said = await run("doctor", database_url, embedder, **patient)
    assert code == 1
    assert "2 texts have none; run: powercontext-sidecar reindex" in said

    embedder.fault = resets
    code, said = await run("reindex", database_url, embedder, **patient)
    assert code != 0
    assert "inference provider" in said
    assert "k3y" not in said
    code, said = await run("doctor", database_url, embedder, **patient)
    assert (code, "inference provider" in said) == (1, True)

    embedder.fault = None
    code, said = await run("reindex", database_url, embedder, **patient)
    assert (code, said.splitlines()[-1]) == (0, "2 vectors made")
    code, said = await run("doctor", database_url, embedder, **patient)
    assert (code, "every text has one" in said) == (0, True)
    async with serve(**embedding_settings(embedder)) as client:
        assert await found(client, "vehicle", "vector") == ["An automobile needs oil", "A boat needs wind"]


async def test_half_a_configuration_stops_the_start_and_is_named(embedder: Provider, database_url: str) -> None:
    code, said = await run("serve", database_url, embedder, inference_embedding_dimension="")
    assert code != 0
    assert f"{PREFIX}INFERENCE_EMBEDDING_DIMENSION" in said
    assert "k3y" not in said
