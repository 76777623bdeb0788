"""Strict decoding: from bytes, or from objects of this process, to contract Structs, with one error form for both.

The order is that of the contract: first whether it is JSON at all (400), wherever in the text it fails, then whether it
fits the contract (422). msgspec says what is wrong in a sentence; `_RULES` turns that sentence into a stable type, a
place and a message of our own, because msgspec's quotes what the caller sent.
"""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

import msgspec

from contracts.errors import FieldError, InvalidRequest, MalformedRequest
from contracts.identity import PRINTABLE_ID_PATTERN, SCOPE_ID_PATTERN
from contracts.text import NO_NUL_PATTERN, NOT_BLANK_PATTERN

T = TypeVar("T")

NAME_MAX_CHARS = 64
"""Of an unknown field's name, this much is told back as the end of its `loc`."""

NESTING_MAX = 64
"""Nothing in the contract nests deeper than eight levels; what does is refused before anything recurses into it."""

_NOT_JSON = "The body is not valid JSON in UTF-8."
_syntax = msgspec.json.Decoder()
_PLACE = re.compile(r"\.(\w+)|\[(\d+)\]")


def decode_json(data: bytes, kind: Any, *root: str) -> Any:
    """A value of type `kind`. `root` is the place of the document, by default ("body",).

    Raises MalformedRequest for what is not JSON (invalid UTF-8, lone surrogates, NaN, a repeated key, deep nesting) and
    InvalidRequest for JSON that breaks the contract.
    """
    _check_syntax(data)
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        raise InvalidRequest([field_error(str(error), root or ("body",))]) from None


def checked(value: object, kind: type[T], *root: str) -> T:
    """`value` as `kind`, by the same rules as if it had come as JSON. Raises InvalidRequest."""
    place = root or ("body",)
    try:
        data = msgspec.json.encode(value)
        decoded: T = decode_json(data, kind, *place)
    except (TypeError, ValueError, RecursionError, MalformedRequest):
        raise InvalidRequest.at(*place, msg="must be something that JSON can say") from None
    return decoded


def field_error(message: str, root: Sequence[str | int]) -> FieldError:
    """The error behind one of msgspec's sentences."""
    rule, _, path = message.rpartition(" - at `")
    if not path.endswith("`") or not path.startswith("$"):
        rule, path = message, ""
    place = [name or int(index) for name, index in _PLACE.findall(path)]
    for pattern, type_, say in _RULES:
        found = pattern.fullmatch(rule)
        if found is not None:
            if type_ in ("missing", "extra_forbidden"):
                place.append(found[1][:NAME_MAX_CHARS])
            return FieldError(type_.format(*found.groups()), (*root, *place), say(found))
    return FieldError("value_error", (*root, *place), "breaks the contract")


def _check_syntax(data: bytes) -> None:
    if _nesting(data) > NESTING_MAX:
        raise MalformedRequest(f"The JSON nests deeper than {NESTING_MAX} levels.")
    try:
        _syntax.decode(data)
        _keys.decode(data.decode())
    except msgspec.ValidationError:
        _check_by_stdlib(data)
    except (msgspec.DecodeError, RecursionError):
        raise MalformedRequest(_NOT_JSON) from None


def _check_by_stdlib(data: bytes) -> None:
    """The same checks for JSON with a number out of range, at which the first decoder stopped.

    Such a number is JSON all the same; the typed decoder says where it stands, if nothing behind it is malformed.
    """
    try:
        json.dumps(_all.decode(data.decode()), ensure_ascii=False).encode()  # refuses lone surrogates
    except ValueError:
        raise MalformedRequest(_NOT_JSON) from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _refuse_repeated(pairs)
    return dict(pairs)


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) > 1 and len({key for key, _ in pairs}) != len(pairs):
        raise MalformedRequest("A JSON object repeats a key.")


# Made once, which costs as much as a small body does. Numbers stay text: only keys are looked at, and Python refuses to
# read very long integers.
_keys = json.JSONDecoder(object_pairs_hook=_refuse_repeated, parse_int=str, parse_float=str)
_all = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_int=str, parse_float=str, parse_constant=_refuse_constant)


def _nesting(data: bytes) -> int:
    """How deep brackets nest, at most; those inside strings count too, so this is never too small.

    Counting first keeps the common case free: fewer opening brackets than levels cannot nest too deep.
    """
    if data.count(b"[") + data.count(b"{") <= NESTING_MAX:
        return 0
    brackets = _STRINGS.sub(b"", data).translate(None, _NO_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


# Strings whole, so that brackets inside them do not count; an unclosed one ends the text. Possessive, because a body
# full of backslashes would otherwise be tried in quadratically many ways.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(set(range(256)) - _STEPS.keys())


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


_BLANK_OR_NUL = "must not be blank and must not contain NUL (U+0000)"
_PATTERNS = {
    NO_NUL_PATTERN: "must not contain NUL (U+0000)",
    NOT_BLANK_PATTERN: _BLANK_OR_NUL,
    SCOPE_ID_PATTERN: f"{_BLANK_OR_NUL} or be . or ..",
    PRINTABLE_ID_PATTERN: "must be printable ASCII without blanks, and neither . nor ..",
}

_Say = Callable[[re.Match[str]], str]


def _rule(pattern: str, type_: str, say: str | _Say) -> tuple[re.Pattern[str], str, _Say]:
    return re.compile(pattern, re.DOTALL), type_, say if callable(say) else lambda found: found.expand(say)


_RULES: tuple[tuple[re.Pattern[str], str, _Say], ...] = (
    _rule(r"Object missing required field `(.*)`", "missing", "is required"),
    _rule(r"Object contains unknown field `(.*)`", "extra_forbidden", "is not a field of this object"),
    _rule(r"Expected `(int|float)` <= (\S+)", "less_than_equal", r"must be at most \2"),
    _rule(r"Expected `(int|float)` >= (\S+)", "greater_than_equal", r"must be at least \2"),
    _rule(r"Expected `str` of length <= (\d+)", "string_too_long", r"must have at most \1 characters"),
    _rule(r"Expected `str` of length >= (\d+)", "string_too_short", r"must have at least \1 character(s)"),
    _rule(r"Expected `array` of length <= (\d+)", "too_long", r"must have at most \1 items"),
    _rule(
        r"Expected `str` matching regex (.*)",
        "string_pattern_mismatch",
        lambda found: next(
            (say for pattern, say in _PATTERNS.items() if repr(pattern) == found[1]), "has a wrong form"
        ),
    ),
    _rule(r"Expected `([\w| ]+)`, got `(\w+)`", "type_error", r"must be of type \1, not \2"),
    _rule(r"Invalid (?:enum )?value .*", "literal_error", "is none of the allowed values"),
    _rule(r"(?:Number|Integer value) out of range", "out_of_range", "is a number out of range"),
)
