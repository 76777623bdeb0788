"""Who asks a server to prepare: the Python client as hosts use it, and every plugin as a process."""

import json
from typing import Protocol

from msgspec import UNSET
from powercontext_client import ContextClient, Recall, Selection

from tests.hosts.plugin_programs import PLUGIN_PROGRAMS, PluginProgram


class Caller(Protocol):
    """Something that a host asks once per turn."""

    @property
    def name(self) -> str: ...

    def content(self, base_url: str, scope_id: str, question: str, assembly: str | None) -> str | None:
        """What it hands over for one turn, None when nothing. assembly: as configured, None is none."""


class ClientCaller:
    """powercontext_client, fail-open as its framework integrations use it."""

    name = "client"

    def content(self, base_url: str, scope_id: str, question: str, assembly: str | None) -> str | None:
        selection = Selection(scope_id, assembly=UNSET if assembly is None else json.loads(assembly))
        with ContextClient(base_url) as client:
            return Recall(client, selection).content(question, "turn")


class PluginCaller:
    """A plugin of deploy/hosts."""

    def __init__(self, program: PluginProgram) -> None:
        self.program = program
        self.name = program.name

    def content(self, base_url: str, scope_id: str, question: str, assembly: str | None) -> str | None:
        settings = {"SCOPE_ID": scope_id, "BASE_URL": base_url, **self.program.assembly(assembly)}
        return self.program.ask(question, settings).content


CALLERS: tuple[Caller, ...] = (ClientCaller(), *(PluginCaller(program) for program in PLUGIN_PROGRAMS))
