"""docs/contract-map.md names tests that exist, and every test of this folder."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
MAP = FOLDER.parents[1] / "docs" / "contract-map.md"
_GROUP = re.compile(r"`(\w+)`: ((?:`\w+`(?:, )?)+)")


def test_the_map_names_every_test_of_this_folder_and_no_other() -> None:
    named = {
        (module, rule)
        for module, rules in _GROUP.findall(MAP.read_text(encoding="utf-8"))
        for rule in re.findall(r"`(\w+)`", rules)
    }
    existing = {
        (file.stem.removeprefix("test_"), rule)
        for file in FOLDER.glob("test_*.py")
        if file != Path(__file__)
        for rule in re.findall(r"^def test_(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == existing
