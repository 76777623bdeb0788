"""Settings from POWERCONTEXT_SERVER_* variables: typed, bounded, and refused by name when misspelt or out of range."""

import difflib
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from contracts import limits
from contracts.access import AccessMode

PREFIX = "POWERCONTEXT_SERVER_"
FILE_SUFFIX = "_FILE"
SECRETS = ("auth_token", "database_url", "inference_embedding_api_key", "inference_rerank_api_key")
"""Settings that may also be given as the name of a file, so that they stand in no process list."""


class SettingsError(Exception):
    """A setting that is wrong; each problem names its variable and what is allowed, never the value."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything that can be set. A field `http_port` is the variable POWERCONTEXT_SERVER_HTTP_PORT."""

    database_url: str = "sqlite:///./data/powercontext.db"
    http_host: str = "127.0.0.1"
    http_port: Annotated[int, Meta(ge=1, le=65535)] = 8000
    http_uds: str | None = None
    http_max_body_bytes: Annotated[int, Meta(ge=1024, le=2**30)] = 2**20
    http_max_import_bytes: Annotated[int, Meta(ge=1024, le=2**40)] = 64 * 2**20
    http_max_concurrent_requests: Annotated[int, Meta(ge=1, le=65536)] = 64
    http_queue_timeout_seconds: Annotated[float, Meta(ge=0, le=60)] = 1.0
    http_body_timeout_seconds: Annotated[float, Meta(gt=0, le=3600)] = 30.0
    http_header_timeout_seconds: Annotated[float, Meta(gt=0, le=3600)] = 10.0
    http_shutdown_timeout_seconds: Annotated[int, Meta(ge=0, le=3600)] = 10
    runtime_context_assembly_max_entries: Annotated[int, Meta(ge=1)] = limits.ASSEMBLY_MAX_ENTRIES_DEFAULT
    runtime_recall_timeout_seconds: Annotated[float, Meta(gt=0, le=3600)] = 5.0
    access_mode: AccessMode | None = None
    auth_token: str | None = None
    allow_remote_without_access_control: bool = False
    inference_embedding_base_url: str | None = None
    inference_embedding_model: str | None = None
    inference_embedding_dimension: Annotated[int, Meta(ge=1, le=16000)] | None = None
    inference_embedding_api_key: str | None = None
    inference_embedding_timeout_seconds: Annotated[float, Meta(gt=0, le=600)] = 2.0
    inference_embedding_batch_size: Annotated[int, Meta(ge=1, le=2048)] = 32
    inference_rerank_kind: Literal["endpoint", "chat"] | None = None
    inference_rerank_base_url: str | None = None
    inference_rerank_model: str | None = None
    inference_rerank_api_key: str | None = None
    inference_rerank_timeout_seconds: Annotated[float, Meta(gt=0, le=600)] = 2.0
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def effective_access_mode(self) -> AccessMode:
        """`enforced` when set, or when a static token is."""
        return self.access_mode or ("disabled" if self.auth_token is None else "enforced")

    def __repr__(self) -> str:
        """Without secrets: a database URL may hold a password."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__ if name not in SECRETS}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


def variable_of(field: str) -> str:
    """The environment variable of a field."""
    return PREFIX + field.upper()


def load_settings(environment: Mapping[str, str]) -> Settings:
    """The settings in `environment`; variables without the prefix are not looked at.

    Raises SettingsError with one problem for each variable that is unknown, out of range, unreadable or contradictory.
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    for variable in sorted(name for name in environment if name.startswith(PREFIX)):
        field = variable.removeprefix(PREFIX).lower()
        from_file = field.removesuffix(FILE_SUFFIX.lower())
        if from_file != field and from_file in SECRETS:
            if variable_of(from_file) in environment:
                problems.append(f"{variable}: {variable_of(from_file)} is set too; set one of them")
            else:
                _read_secret(variable, environment[variable], from_file, values, problems)
        elif field not in Settings.__struct_fields__:
            problems.append(f"{variable}: is not a setting{_meant(field)}")
        else:
            values[field] = environment[variable]
    checked = {field: _check(field, text, problems) for field, text in values.items()}
    if problems:
        raise SettingsError(problems)
    settings = Settings(**checked)
    problems = [*_contradictions(settings)]
    if problems:
        raise SettingsError(problems)
    return settings


def check_bind(settings: Settings) -> None:
    """Without access control only this machine may reach the server. Raises SettingsError."""
    exposed = settings.http_uds is None and not _is_loopback(settings.http_host)
    allowed = settings.effective_access_mode == "enforced" or settings.allow_remote_without_access_control
    if exposed and not allowed:
        problem = (
            f"{variable_of('http_host')}: without access control only a loopback address or a Unix socket is allowed;"
            f" set {variable_of('auth_token')} or {variable_of('access_mode')}=enforced, or, where everyone who can"
            " reach this address may read and write everything,"
            f" {variable_of('allow_remote_without_access_control')}=true"
        )
        raise SettingsError([problem])


def _check(field: str, text: str, problems: list[str]) -> Any:
    """The typed value of a field, or a problem."""
    if not text:
        problems.append(f"{variable_of(field)}: must not be empty; unset it for its default")
        return None
    kind = _set_kind(field)
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        problems.append(f"{variable_of(field)}: {_rule(str(error), kind)}")
        return None


def _set_kind(field: str) -> Any:
    """The type of a field that is set; being unset is no value that can be written."""
    kind = msgspec.structs.fields(Settings)[Settings.__struct_fields__.index(field)].type
    given = [part for part in get_args(kind) if part is not NoneType]
    return given[0] if NoneType in get_args(kind) else kind


def _rule(message: str, kind: Any) -> str:
    """What is allowed, from msgspec's sentence and without the value that it quotes."""
    if get_origin(kind) is Literal:
        return f"must be one of: {', '.join(get_args(kind))}"
    if kind is bool:
        return "must be true or false"
    rule = message.partition(" - at ")[0].replace("`", "").split(", got")[0]
    return f"{rule[0].lower()}{rule[1:]}"


def _contradictions(settings: Settings) -> list[str]:
    problems = []
    if settings.access_mode == "disabled" and settings.auth_token is not None:
        problems.append(f"{variable_of('access_mode')}: disabled contradicts {variable_of('auth_token')}")
    for field in ("auth_token", "inference_embedding_api_key", "inference_rerank_api_key"):
        secret = getattr(settings, field)
        if secret is not None and not (secret.isascii() and secret.isprintable() and " " not in secret):
            problems.append(f"{variable_of(field)}: must be printable ASCII without blanks")
    # An endpoint without a model is one that serves a single model, as TEI does.
    chat = ("inference_rerank_model",) if settings.inference_rerank_kind == "chat" else ()
    embedding = ("inference_embedding_base_url", "inference_embedding_model", "inference_embedding_dimension")
    problems += _partial(settings, "inference_embedding_", embedding)
    problems += _partial(settings, "inference_rerank_", ("inference_rerank_kind", "inference_rerank_base_url", *chat))
    return problems


def _partial(settings: Settings, prefix: str, needed: tuple[str, ...]) -> list[str]:
    """A problem for each field that is needed and not set, when any field of the group was set; and for a wrong URL."""
    defaults = Settings()
    fields = [name for name in settings.__struct_fields__ if name.startswith(prefix)]
    changed = [name for name in fields if getattr(settings, name) != getattr(defaults, name)]
    problems = [
        f"{variable_of(name)}: must be set too, since {variable_of(changed[0])} is"
        for name in needed
        if changed and getattr(settings, name) is None
    ]
    url = getattr(settings, prefix + "base_url")
    if url is not None and not _is_base_url(url):
        problems.append(
            f"{variable_of(prefix + 'base_url')}: must be http:// or https:// with a host, without user, query or"
            " fragment, such as http://127.0.0.1:8080/v1"
        )
    return problems


def _is_base_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        plain = not (parts.query or parts.fragment or parts.username or parts.password or set(url) & set("?#@ "))
        return plain and parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _read_secret(variable: str, path: str, field: str, values: dict[str, Any], problems: list[str]) -> None:
    try:
        values[field] = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError, ValueError):
        problems.append(f"{variable}: names a file that cannot be read as text")


def _meant(field: str) -> str:
    known = [*Settings.__struct_fields__, *(secret + FILE_SUFFIX.lower() for secret in SECRETS)]
    close = difflib.get_close_matches(field, known, n=1)
    return f"; did you mean {variable_of(close[0])}?" if close else ""


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
