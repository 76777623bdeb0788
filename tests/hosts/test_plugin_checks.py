"""The plugins' own check and cache key, in Python and JavaScript, against one table; no host is needed."""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from powercontext_client import prepare_cache_key

from tests.hosts.prepared_answers import ANSWERS, BUDGET, CONTENT, CONTENT_BYTES, SAME_ASSEMBLY, Answer
from tests.hosts.programs import PLUGINS
from tests.hosts.python_plugins import prepare_module

PYTHON_COPIES = (
    "codex-claude-code/powercontext_prepare.py",
    "hermes/powercontext/powercontext_prepare.py",
    "hermes/powercontext_pre_llm_call/powercontext_prepare.py",
    "bub/powercontext_bub/powercontext_prepare.py",
    "workbuddy/powercontext_prepare.py",
)
JAVASCRIPT_COPIES = ("pi/prepare.mjs", "opencode/powercontext/prepare.mjs", "dsh/prepare.mjs", "openclaw/prepare.mjs")
PYTHON_EXCHANGE_COPIES = tuple(copy.replace("prepare", "exchange") for copy in PYTHON_COPIES)
EXCHANGE_COPIES = tuple(copy.replace("prepare", "exchange") for copy in JAVASCRIPT_COPIES)
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="needs Node")
HOOK_COPIES = ("codex-claude-code/powercontext_hook.py", "workbuddy/powercontext_hook.py")
REFUSED = "refused"

Request = tuple[str | None, str, str, str, int]
BASE: Request = (None, "s", "t", "q", 8000)


def javascript(script: str, data: Any) -> Any:
    """What a script makes of `data`; it may use everything that the plugins' module exports."""
    module = (PLUGINS / JAVASCRIPT_COPIES[0]).as_uri()
    source = (
        f"import * as plugin from {json.dumps(module)};"
        'let text = ""; for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;'
        f"const data = JSON.parse(text); const result = ({script})(data);"
        "process.stdout.write(JSON.stringify(result));"
    )
    assert NODE is not None
    run = subprocess.run(
        [NODE, "--input-type=module", "-e", source], input=json.dumps(data).encode(), capture_output=True, check=False
    )
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout)


def python_verdicts() -> list[Any]:
    plugin = prepare_module()

    def verdict(answer: Answer) -> Any:
        try:
            return plugin.check_prepared(answer.body, BUDGET)
        except plugin.NothingToInject:
            return REFUSED

    return [verdict(answer) for answer in ANSWERS]


def javascript_verdicts() -> list[Any]:
    script = """({bodies, budget}) => bodies.map((body) => {
        try { return plugin.checkPrepared(Buffer.from(body, "base64"), budget); }
        catch (failure) { if (failure instanceof plugin.NothingToInject) return "refused"; throw failure; }
    })"""
    bodies = [base64.b64encode(answer.body).decode() for answer in ANSWERS]
    verdicts: list[Any] = javascript(script, {"bodies": bodies, "budget": BUDGET})
    return verdicts


def python_keys(requests: list[Request]) -> list[str]:
    plugin = prepare_module()

    def key(assembly: str | None, scope: str, turn: str, query: str, max_bytes: int) -> str:
        settings = plugin.Settings(scope_id=scope, max_bytes=max_bytes, assembly=assembly)
        made: str = plugin.cache_key(settings, turn, query)
        return made

    return [key(*request) for request in requests]


def javascript_keys(requests: list[Request]) -> list[str]:
    script = """(requests) => requests.map(([assembly, scopeId, turn, query, maxBytes]) =>
        plugin.cacheKey({assembly, scopeId, maxBytes}, turn, query))"""
    keys: list[str] = javascript(script, requests)
    return keys


def client_keys(requests: list[Request]) -> list[str]:
    return [
        prepare_cache_key(
            scope_id=scope,
            session_or_turn=turn,
            query=query,
            max_bytes=max_bytes,
            **({} if assembly is None else {"assembly": json.loads(assembly)}),
        )
        for assembly, scope, turn, query, max_bytes in requests
    ]


def test_the_table_counts_the_bytes_of_its_content() -> None:
    assert len(CONTENT.encode()) == CONTENT_BYTES


@pytest.mark.parametrize(
    "copies",
    [PYTHON_COPIES, PYTHON_EXCHANGE_COPIES, JAVASCRIPT_COPIES, EXCHANGE_COPIES, HOOK_COPIES],
    ids=["Python", "Python exchange", "JavaScript", "JavaScript exchange", "hook program"],
)
def test_every_plugin_carries_the_same_module(copies: tuple[str, ...]) -> None:
    assert len({(PLUGINS / copy).read_bytes() for copy in copies}) == 1


@pytest.mark.parametrize(
    "verdicts",
    [pytest.param(python_verdicts, id="Python"), pytest.param(javascript_verdicts, id="JavaScript", marks=needs_node)],
)
def test_only_an_answer_that_keeps_every_rule_is_injected(verdicts: Callable[[], list[Any]]) -> None:
    expected = {answer.name: REFUSED if answer.refused else answer.content for answer in ANSWERS}
    assert dict(zip(expected, verdicts(), strict=True)) == expected


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(client_keys, id="client"),
        pytest.param(python_keys, id="Python"),
        pytest.param(javascript_keys, id="JavaScript", marks=needs_node),
    ],
)
def test_requests_that_mean_the_same_share_a_key_and_others_do_not(keys: Callable[[list[Request]], list[str]]) -> None:
    groups: list[list[Request]] = [[(assembly, *BASE[1:]) for assembly in same] for same in SAME_ASSEMBLY]
    groups += [[(None, "S", "t", "q", 8000)], [(None, "s", "T", "q", 8000)], [(None, "s", "t", "q ", 8000)]]
    groups += [[(None, "s", "t", "q", 8001)], [("{}", "s", "t", "q", 8001)], [(None, "st", "", "q", 8000)]]
    made = iter(keys([request for group in groups for request in group]))
    keys_of_groups = [{next(made) for _ in group} for group in groups]
    assert [len(same) for same in keys_of_groups] == [1] * len(groups)
    assert len(set.union(*keys_of_groups)) == len(groups)
