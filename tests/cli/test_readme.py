import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import httpx
import msgspec
import pytest

from contracts.errors import ContextError
from service.cli import main
from service.settings import FILE_SUFFIX, SECRETS, Settings, variable_of

Start = Callable[..., tuple["subprocess.Popen[str]", httpx.Client]]

ROOT = Path(__file__).parents[2]
READMES = ("README.md", "README.zh-CN.md")


@pytest.fixture(params=READMES)
def readme(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return (ROOT / name).read_text(encoding="utf-8")


def errors(kind: type[ContextError] = ContextError) -> Iterator[type[ContextError]]:
    """The whole tree, as the contract has it."""
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == kind.__module__:
            yield from errors(below)


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```bash\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def rows(text: str) -> dict[str, tuple[str, str]]:
    """The table of settings: name to default and meaning."""
    found = re.findall(r"^\| `(POWERCONTEXT_SERVER_\w+)` \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    return {name: (default, meaning) for name, default, meaning in found}


def test_every_setting_stands_in_the_table_with_its_default(readme: str) -> None:
    table = rows(readme)
    fields = msgspec.structs.fields(Settings)
    assert set(table) == {variable_of(field.name) for field in fields}
    for field in fields:
        if field.default is not None:
            shown = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            assert table[variable_of(field.name)][0] == f"`{shown}`"
    for secret in SECRETS:
        assert variable_of(secret) + FILE_SUFFIX in readme


def test_every_error_code_stands_beside_its_status(readme: str) -> None:
    table = [line for line in readme.splitlines() if re.match(r"\| [45]\d\d \|", line)]
    shown = {(int(line[2:5]), code) for line in table for code in re.findall(r"`(\w+)`", line.split("|")[2])}
    leaves = {(error.status, error.code) for error in errors() if not error.__subclasses__()}
    parents = {(404, "not_found"), (409, "revision_conflict")}
    assert shown == leaves | parents


def test_every_command_that_is_shown_exists(readme: str) -> None:
    shown = re.findall(r"powercontext-sidecar ([a-z]+)(?: ([a-z]+))?", readme)
    assert len(shown) > 8
    for name, second in shown:
        command = main.get_command(click.Context(main), name)
        assert command is not None, name
        if isinstance(command, click.Group):
            assert command.get_command(click.Context(command), second) is not None, (name, second)


def test_every_make_target_and_link_exists(readme: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"(?:^    |`)make ([a-z-]+)", readme, re.MULTILINE):
        assert f"\n{target}:" in makefile
    for link in re.findall(r"\]\(([\w.-]+)\)", readme):
        assert (ROOT / link).is_file()


def test_both_languages_show_the_same_commands_and_have_the_same_sections() -> None:
    english, chinese = ((ROOT / name).read_text(encoding="utf-8") for name in READMES)
    assert code_blocks(english) == code_blocks(chinese)
    headings = [len(re.findall(r"^## ", text, re.MULTILINE)) for text in (english, chinese)]
    assert headings[0] == headings[1]


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="pastes into bash and curl")
def test_the_walk_through_works_when_it_is_pasted_more_than_once(start: Start, database: Path) -> None:
    _, client = start("serve", "--migrate", database_url=f"sqlite:///{database}")
    walk = code_blocks((ROOT / "README.md").read_text(encoding="utf-8"))[0]
    script = walk.replace("http://127.0.0.1:8000", str(client.base_url).rstrip("/")).replace(
        "curl -s", "curl -sw '\\n'"
    )
    for _ in range(2):
        done = subprocess.run(["bash", "-euc", script], capture_output=True, text=True, check=True, timeout=20)
        scope, written, prepared, entry = [json.loads(line) for line in done.stdout.splitlines()]
        assert scope["scope_id"] == "project:walk"
        assert written["memory"]["revision"] == 1
        assert prepared["status"] == "ready"
        assert "先灰度再全量" in prepared["content"]
        assert entry["text"] == "Staging deploys need the flag --canary, 先灰度再全量."
