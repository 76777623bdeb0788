"""The client's README: its programs run as they stand on the server of `make run`, its list of methods is theirs."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from powercontext_client import ContextClient, check_prepared, prepare_cache_key

from tests.client.sidecar_process import ROOT, running_sidecar

README = (ROOT / "client" / "README.md").read_text(encoding="utf-8")
URL = "http://127.0.0.1:8000"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def arguments(function: Callable[..., Any]) -> str:
    """The arguments in the README's short form, without `self` and the `timeout_s` of every method."""
    shown: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name not in {"self", "timeout_s"}:
            if parameter.kind is parameter.KEYWORD_ONLY and "*" not in shown:
                shown.append("*")
            shown.append(name if parameter.default is parameter.empty else f"{name}=…")
    return f"({', '.join(shown)})"


def test_every_program_prints_a_text_from_the_sample(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    programs = blocks("python")
    assert len(programs) == 3
    with running_sidecar(tmp_path, command=["demo"]) as url:
        for program in programs:
            assert URL in program
            exec(program.replace(URL, url), {})
            printed = capsys.readouterr().out
            assert "project:orders-api" in printed
            assert "Recall rank: 1" in printed


def test_every_method_is_listed_with_its_arguments_and_its_answer() -> None:
    (listing,) = blocks("text")
    listed = [line for line in listing.splitlines() if line and not line.startswith("#")]
    methods = {name: vars(ContextClient)[name] for name in vars(ContextClient) if not name.startswith("_")}
    for other in ("send", "close"):
        del methods[other]
    assert sorted(listed) == sorted(
        f"{name}{arguments(method)} -> {inspect.signature(method).return_annotation.__name__}"
        for name, method in methods.items()
    )


@pytest.mark.parametrize("function", [check_prepared, prepare_cache_key])
def test_the_functions_for_hosts_are_shown_with_their_arguments(function: Callable[..., Any]) -> None:
    assert f"`{function.__name__}{arguments(function)}`" in README
