"""Every plugin's asking as parameters of a test, each left out where its interpreter is missing."""

import pytest

from tests.hosts.plugin_programs import NODE, PLUGIN_PROGRAMS, opencode_in_bun, runs_node

_needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")
_bun = opencode_in_bun()
_IN_BUN = pytest.param(
    _bun,
    id="opencode in Bun",
    marks=pytest.mark.skipif(_bun is None, reason="needs opencode: python3 deploy/hosts/install.py opencode"),
)

PROGRAMS = [
    *(
        pytest.param(program, id=program.name, marks=[_needs_node] if runs_node(program) else [])
        for program in PLUGIN_PROGRAMS
    ),
    _IN_BUN,
]
# The copies of the JavaScript modules are equal: one in each interpreter shows what they do.
JAVASCRIPT_PROGRAMS = [
    pytest.param(next(filter(runs_node, PLUGIN_PROGRAMS)), id="in Node", marks=_needs_node),
    _IN_BUN,
]
