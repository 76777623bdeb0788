"""Paths: split at `/` first, then each part decoded once, so that an id may hold any character. Pure."""

import re
from typing import Any
from urllib.parse import quote_from_bytes, unquote_to_bytes

import msgspec

from contracts.errors import InvalidRequest, NotFound
from service.validation import field_error

# Most paths: no escapes, no empty parts, nothing that would be written in another way.
_CANONICAL = re.compile(rb"(?:/[A-Za-z0-9_.~:@!$&'()*+,;=-]+)+")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")


def canonical_path(raw: bytes) -> str:
    """The path for the router: each part percent-encoded in one canonical way, so that equal paths route alike.

    Raises NotFound for empty parts (`//`, a trailing `/`): no operation has one.
    """
    if _CANONICAL.fullmatch(raw):
        return raw.decode()
    parts = raw.partition(b"?")[0].split(b"/")[1:]
    if parts == [b""]:
        return "/"
    if b"" in parts:
        raise NotFound
    return "/" + "/".join(_canonical(part) for part in parts)


def path_value(name: str, part: str, kind: Any) -> Any:
    """The id in a part of a canonical path, checked as in a body. Raises InvalidRequest at ("path", name)."""
    raw = part.encode()
    if _BAD_ESCAPE.search(raw):
        raise InvalidRequest.at("path", name, msg="holds a percent sign that begins no escape; write it as %25")
    try:
        text = unquote_to_bytes(raw).decode()
    except UnicodeDecodeError:
        raise InvalidRequest.at("path", name, msg="must be percent-encoded UTF-8") from None
    return convert_text(text, kind, "path", name)


def convert_text(text: str, kind: Any, *loc: str) -> Any:
    """A text from a path or a query as `kind`, an integer only where one is wanted. Raises InvalidRequest."""
    value: str | int = text
    if kind_is_integer(kind):
        # Longer than any integer of the contract: out of range, without making Python read it.
        value = int(text) if re.fullmatch(r"-?[0-9]{1,30}", text, re.ASCII) else text
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise InvalidRequest([field_error(str(error), loc)]) from None


def kind_is_integer(kind: Any) -> bool:
    """Whether values of `kind` are integers."""
    return isinstance(msgspec.inspect.type_info(kind), msgspec.inspect.IntType)


def _canonical(part: bytes) -> str:
    if _BAD_ESCAPE.search(part):
        return quote_from_bytes(part, safe="%")  # left as it came; the operation refuses it by name
    return quote_from_bytes(unquote_to_bytes(part), safe=":@!$&'()*+,;=")
