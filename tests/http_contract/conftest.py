"""One server for most tests, each in a Scope of its own, and one with access enforced."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.http_contract.api import Api
from tests.http_contract.sidecar import ADMIN_TOKEN, Sidecar


@pytest.fixture(scope="session")
def open_sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """Access is disabled."""
    folder = tmp_path_factory.mktemp("open")
    sidecar = Sidecar(folder, folder / "context.db").start()
    yield sidecar
    sidecar.close()


@pytest.fixture(scope="session")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sidecar]:
    """Access is enforced; ADMIN_TOKEN may do everything."""
    folder = tmp_path_factory.mktemp("guarded")
    sidecar = Sidecar(folder, folder / "context.db", AUTH_TOKEN=ADMIN_TOKEN).start()
    yield sidecar
    sidecar.close()


@pytest.fixture(scope="session")
def api(open_sidecar: Sidecar) -> Api:
    return open_sidecar.api()


@pytest.fixture(scope="session")
def admin(guarded: Sidecar) -> Api:
    return guarded.api(ADMIN_TOKEN)


@pytest.fixture
def scope(api: Api) -> str:
    """A Scope that nothing else uses."""
    return api.new_scope()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a test's own servers keep their files."""
    return tmp_path


@pytest.fixture(scope="session")
def guarded_nobody(guarded: Sidecar) -> Api:
    """Without any credential."""
    return guarded.api()
