"""What the two pure packages may import. import-linter forbids by name; these lists refuse all that is not named."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Standard library modules that read no clock, environment, file, network or source of randomness.
PURE_STANDARD_LIBRARY = {
    "__future__", "bisect", "collections", "contextlib", "dataclasses", "enum", "functools", "hashlib", "heapq",
    "itertools", "json", "math", "operator", "re", "string", "types", "typing", "unicodedata",
}  # fmt: skip


def imports(folder: Path) -> Iterator[tuple[str, str]]:
    """Every (place, dotted module) imported below `folder`, wherever in a file it stands."""
    for path in sorted(folder.rglob("*.py")):
        place = path.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Import):
                yield from ((f"{place}:{node.lineno}", alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module is not None:
                # `from service import runtime` imports service.runtime, so the name counts where the module is ours.
                for alias in node.names:
                    ours = node.module == "service"
                    yield f"{place}:{node.lineno}", f"{node.module}.{alias.name}" if ours else node.module


def test_contracts_import_only_the_standard_library_and_msgspec() -> None:
    allowed = sys.stdlib_module_names | {"contracts", "msgspec"}
    found = list(imports(ROOT / "contracts"))
    assert found
    assert [(place, module) for place, module in found if module.split(".")[0] not in allowed] == []


def test_assembly_imports_only_contracts_and_what_is_pure() -> None:
    found = list(imports(ROOT / "service" / "assembly"))
    refused = [
        (place, module)
        for place, module in found
        if module.split(".")[0] not in PURE_STANDARD_LIBRARY | {"contracts", "msgspec"}
        and not module.startswith("service.assembly")
    ]
    assert refused == []


@pytest.mark.parametrize("package", ["contracts", "service/assembly"])
def test_pure_packages_define_no_coroutine(package: str) -> None:
    coroutines = [
        f"{path.name}:{node.lineno}"
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.name != "ports.py"  # the ports describe what adapters await
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.AsyncFunctionDef)
    ]
    assert coroutines == []
