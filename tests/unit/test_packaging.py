"""What is shipped and what is installed: wheel contents, lock files, and the sample project memory."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from contracts import limits
from contracts.bulk import ImportLine, MemoryEntryLine, TopicMemoryLine
from contracts.prepare import ContextPrepareRequest
from contracts.scopes import CreateScopeRequest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("service", "contracts", "adapters")
REQUIREMENTS = ROOT / "requirements"
LOCK_FILES = ("build.txt", "dev.txt", "runtime.txt")
SAMPLE = ROOT / "service" / "sample"
LINE = msgspec.json.Decoder(ImportLine)


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins(lock_file: str) -> dict[str, str]:
    """Version by canonical name, of every requirement in one lock file."""
    text = (REQUIREMENTS / lock_file).read_text(encoding="utf-8")
    return {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE)}


def test_the_wheel_holds_every_file_of_the_packages(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    shipped = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert shipped == expected


@pytest.mark.parametrize("lock_file", LOCK_FILES)
def test_every_locked_requirement_has_a_hash(lock_file: str) -> None:
    text = (REQUIREMENTS / lock_file).read_text(encoding="utf-8")
    entries = [entry for entry in re.split(r"\n(?=[^\s#])", text.replace("\\\n", "")) if "==" in entry]
    assert len(entries) == len(pins(lock_file)) > 0
    assert [entry for entry in entries if not re.search(r"--hash=sha256:[0-9a-f]{64}", entry)] == []


@pytest.mark.parametrize("lock_file", LOCK_FILES)
def test_lock_files_name_no_address(lock_file: str) -> None:
    text = (REQUIREMENTS / lock_file).read_text(encoding="utf-8")
    assert re.findall(r"\S*://\S*|--(?:index|extra-index|find-links)\S*", text) == []


@pytest.mark.parametrize("lock_file", ["build.txt", "runtime.txt"])
def test_the_development_lock_agrees_with_the_smaller_ones(lock_file: str) -> None:
    assert pins(lock_file).items() <= pins("dev.txt").items()


def test_the_runtime_lock_satisfies_every_declared_dependency(project: dict[str, Any]) -> None:
    declared = [*project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        declared += extra
    locked = pins("runtime.txt")
    requirements = [Requirement(line) for line in declared]
    assert [str(r) for r in requirements if locked.get(canonicalize_name(r.name), "") not in r.specifier] == []


def test_every_sample_scope_has_its_file_and_every_file_its_scope() -> None:
    scopes = msgspec.json.decode((SAMPLE / "scopes.json").read_bytes(), type=list[CreateScopeRequest])
    files = {f"{str(scope.scope_id).replace(':', '-')}.ndjson" for scope in scopes}
    assert files == {path.name for path in SAMPLE.glob("*.ndjson")}


def test_sample_scopes_reference_only_scopes_created_before_them() -> None:
    known: set[str] = set()
    for scope in msgspec.json.decode((SAMPLE / "scopes.json").read_bytes(), type=list[CreateScopeRequest]):
        assert set(scope.context_references) <= known
        known.add(str(scope.scope_id))


@pytest.mark.parametrize("path", sorted(SAMPLE.glob("*.ndjson")), ids=lambda path: str(path.name))
def test_every_sample_line_is_an_import_line_within_the_limits(path: Path) -> None:
    data = path.read_bytes()
    assert data.endswith(b"\n")
    for line in data.splitlines():
        match LINE.decode(line):
            case MemoryEntryLine(text=text):
                assert 0 < len(text.encode()) <= limits.ENTRY_TEXT_MAX_BYTES
                assert text == text.strip()
            case TopicMemoryLine(content=content):
                assert content.detail.count("\n\n") >= 2
            case _:
                pass


def test_sample_queries_are_prepare_requests_for_a_sample_scope() -> None:
    scopes = msgspec.json.decode((SAMPLE / "scopes.json").read_bytes(), type=list[CreateScopeRequest])
    queries = msgspec.json.decode((SAMPLE / "queries.json").read_bytes(), type=list[ContextPrepareRequest])
    assert len(queries) == 3
    assert {query.scope_id for query in queries} <= {scope.scope_id for scope in scopes}
