"""Conformance cases: one JSON file of recalled groups and options in, the builder's result out.

The format is described in tests/conformance/README.md.
"""

import json
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from contracts.prepare import Assembly
from contracts.recalled import Recalled
from service.assembly import UnencodableText, assemble


class CaseError(ValueError):
    """The file is no conformance case, or its result cannot be written. The message quotes no stored text."""


class _CaseRequest(Struct, frozen=True):
    max_bytes: int
    assembly: Assembly | UnsetType = UNSET


class _CaseInput(Recalled, frozen=True, kw_only=True):
    request: _CaseRequest


class _Case(Struct, frozen=True):
    input: _CaseInput


def case_result(raw: bytes) -> dict[str, Any]:
    """Return `{"status", "content", "content_bytes", "origins"}` for the `input` of one case file.

    Raises CaseError for anything but a case, and for a lone surrogate in a text to be written.
    """
    try:
        # json, because msgspec's own decoder refuses the lone surrogates that a case may hold.
        case = msgspec.convert(json.loads(raw), _Case)
    except msgspec.ValidationError as error:
        raise CaseError(f"not a conformance case: {error}") from error
    except (ValueError, RecursionError):
        raise CaseError("not a conformance case: the file is not JSON") from None
    try:
        assembled = assemble(case.input, case.input.request.assembly, case.input.request.max_bytes)
    except UnencodableText as error:
        raise CaseError(str(error)) from error
    except ValueError as error:
        raise CaseError(f"not a conformance case: {error}") from error
    return {
        "status": "empty" if assembled.content is None else "ready",
        "content": assembled.content,
        "content_bytes": assembled.content_bytes,
        "origins": msgspec.to_builtins(assembled.origins),
    }


def run_case(raw: bytes) -> bytes:
    """Return the result of one case file as ASCII JSON on one line. Raises CaseError as `case_result` does."""
    return json.dumps(case_result(raw)).encode("ascii")
