"""deploy/hosts/install.py and the folders that it finds: it empties none but its own."""

import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.hosts.programs import installer

HOST = "pi"


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The installer for an empty directory, with an npm that fails after it has left a file behind."""
    module = installer()

    def npm(command: list[str], **kwargs: Any) -> None:
        (tmp_path / HOST / "half").touch()
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setenv("POWERCONTEXT_HOSTS_DIR", str(tmp_path))
    monkeypatch.setattr(module.subprocess, "run", npm)
    return module


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*")}


def test_a_folder_with_files_of_others_is_left_as_it_is(
    install: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / HOST
    (own / "notes").mkdir(parents=True)
    (own / "notes" / "mine.txt").write_text("mine")
    assert install.main([HOST]) == 1
    assert files(own) == {"notes", "notes/mine.txt"}
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{own} was not made by this program" in said


@pytest.mark.parametrize("kind", ["file", "link to a folder", "link to nowhere"])
def test_what_is_no_folder_is_left_as_it_is(install: ModuleType, tmp_path: Path, kind: str) -> None:
    own, target = tmp_path / HOST, tmp_path / "target"
    if kind == "file":
        own.write_text("mine")
    else:
        own.symlink_to(target)
    if kind == "link to a folder":
        target.mkdir()
        (target / install.OURS).touch()
        (target / "mine.txt").touch()
    before = files(tmp_path)
    assert install.main([HOST]) == 1
    assert files(tmp_path) == before
    assert own.is_symlink() == (kind != "file")


def test_an_installation_that_failed_starts_afresh(install: ModuleType, tmp_path: Path) -> None:
    own = tmp_path / HOST
    assert install.main([HOST]) == 1
    assert files(own) == {install.OURS, "half"}
    (own / "older" / "more").mkdir(parents=True)
    (own / "link").symlink_to(tmp_path)
    (own / "half").unlink()
    assert install.main([HOST]) == 1
    assert files(own) == {install.OURS, "half"}
    assert tmp_path.is_dir()


def test_an_empty_folder_is_taken(install: ModuleType, tmp_path: Path) -> None:
    (tmp_path / HOST).mkdir()
    assert install.main([HOST]) == 1
    assert files(tmp_path / HOST) == {install.OURS, "half"}


def test_an_older_installation_from_before_the_mark_is_replaced(install: ModuleType, tmp_path: Path) -> None:
    own = tmp_path / HOST
    (own / "node_modules").mkdir(parents=True)
    (own / ".installed-0.1.0").touch()
    assert install.main([HOST]) == 1
    assert files(own) == {install.OURS, "half"}
