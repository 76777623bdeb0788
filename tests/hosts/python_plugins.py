"""The plugins that are written in Python, loaded into this process as a host loads them: a folder as a package."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from tests.hosts.programs import PLUGINS

HERMES_HOOK = PLUGINS / "hermes" / "powercontext_pre_llm_call"


def plugin_package(folder: Path = HERMES_HOOK) -> ModuleType:
    """The package in a folder, loaded once more with each call. The default needs nothing of its host."""
    name = f"_powercontext_plugin_{folder.name}"
    for loaded in [module for module in sys.modules if module.partition(".")[0] == name]:
        del sys.modules[loaded]
    spec = importlib.util.spec_from_file_location(
        name, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def prepare_module() -> ModuleType:
    """The module `powercontext_prepare`, of which every plugin has an equal copy."""
    return importlib.import_module(".powercontext_prepare", plugin_package().__name__)
