"""Settings: typed and bounded, refused by the name of their variable, secrets never shown."""

from pathlib import Path

import pytest

from service.settings import PREFIX, Settings, SettingsError, check_bind, load_settings

MIB = 1024 * 1024


def load(**variables: str) -> Settings:
    return load_settings({PREFIX + name: value for name, value in variables.items()})


def problems(**variables: str) -> list[str]:
    with pytest.raises(SettingsError) as refused:
        load(**variables)
    return refused.value.problems


def test_defaults_are_those_of_the_contract() -> None:
    settings = load_settings({"PATH": "/bin", "POWERCONTEXT_OTHER": "1"})
    assert settings.database_url == "sqlite:///./data/powercontext.db"
    assert (settings.http_host, settings.http_port, settings.http_uds) == ("127.0.0.1", 8000, None)
    assert (settings.http_max_body_bytes, settings.http_max_import_bytes) == (MIB, 64 * MIB)
    assert settings.runtime_context_assembly_max_entries == 8
    assert settings.runtime_recall_timeout_seconds == 5.0
    assert settings.effective_access_mode == "disabled"


def test_every_variable_is_read_as_its_type() -> None:
    settings = load(
        HTTP_PORT="8080",
        HTTP_BODY_TIMEOUT_SECONDS="2.5",
        ALLOW_REMOTE_WITHOUT_ACCESS_CONTROL="true",
        ACCESS_MODE="enforced",
        LOG_LEVEL="debug",
        RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES="12",
    )
    assert settings.http_port == 8080
    assert settings.http_body_timeout_seconds == 2.5
    assert settings.allow_remote_without_access_control is True
    assert settings.effective_access_mode == "enforced"
    assert settings.runtime_context_assembly_max_entries == 12


def test_a_static_token_enforces_access() -> None:
    assert load(AUTH_TOKEN="s3cret").effective_access_mode == "enforced"


def test_a_static_token_contradicts_disabled_access() -> None:
    (problem,) = problems(AUTH_TOKEN="s3cret", ACCESS_MODE="disabled")
    assert PREFIX + "ACCESS_MODE" in problem
    assert "s3cret" not in problem


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("HTTP_PORT", "80a80", "int"),
        ("HTTP_PORT", "70000", "65535"),
        ("HTTP_PORT", "-1", ">= "),
        ("HTTP_PORT", "", "empty"),
        ("HTTP_MAX_BODY_BYTES", "1.5", "int"),
        ("HTTP_BODY_TIMEOUT_SECONDS", "nan", "> 0"),
        ("HTTP_BODY_TIMEOUT_SECONDS", "0", "> 0"),
        ("RUNTIME_CONTEXT_ASSEMBLY_MAX_ENTRIES", "0", ">= 1"),
        ("ACCESS_MODE", "on", "disabled, enforced"),
        ("ACCESS_MODE", "null", "disabled, enforced"),
        ("LOG_LEVEL", "loud", "debug"),
        ("ALLOW_REMOTE_WITHOUT_ACCESS_CONTROL", "perhaps", "true"),
        ("AUTH_TOKEN", "two words", "ASCII"),
        ("AUTH_TOKEN", "", "empty"),
        ("HTTP_HOST", "", "empty"),
        ("HTTP_UDS", "", "empty"),
        ("DATABASE_URL", "", "empty"),
    ],
)
def test_a_bad_value_names_its_variable_and_what_is_allowed_but_not_the_value(
    name: str, value: str, allowed: str
) -> None:
    (problem,) = problems(**{name: value})
    assert problem.startswith(PREFIX + name + ":")
    assert allowed in problem
    if len(value) > 2:
        assert value not in problem.removeprefix(PREFIX + name)


def test_a_misspelt_variable_is_refused_with_the_one_that_was_meant() -> None:
    (problem,) = problems(HTTP_PROT="8080")
    assert PREFIX + "HTTP_PROT" in problem
    assert f"did you mean {PREFIX}HTTP_PORT?" in problem


def test_all_problems_are_told_at_once() -> None:
    assert len(problems(HTTP_PORT="x", LOG_LEVEL="y", NOTHING_LIKE_IT="z")) == 3


@pytest.mark.parametrize("name", ["AUTH_TOKEN", "DATABASE_URL"])
def test_a_secret_may_stand_in_a_file_instead(name: str, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("sqlite:///from-file.db\n")
    assert getattr(load(**{f"{name}_FILE": str(file)}), name.lower()) == "sqlite:///from-file.db"
    (problem,) = problems(**{f"{name}_FILE": str(file), name: "sqlite:///other.db"})
    assert f"{PREFIX}{name}_FILE" in problem
    assert "other" not in problem


def test_a_secret_file_that_is_not_there_names_its_variable_and_not_the_path(tmp_path: Path) -> None:
    (problem,) = problems(AUTH_TOKEN_FILE=str(tmp_path / "gone"))
    assert problem.startswith(PREFIX + "AUTH_TOKEN_FILE")
    assert "gone" not in problem


def test_only_secrets_may_stand_in_files(tmp_path: Path) -> None:
    (problem,) = problems(HTTP_PORT_FILE=str(tmp_path))
    assert PREFIX + "HTTP_PORT_FILE" in problem


def test_secrets_are_not_in_the_repr() -> None:
    settings = load(AUTH_TOKEN="s3cret", DATABASE_URL="postgresql://user:pa55word@db/x")
    for shown in (repr(settings), str(settings), f"{settings}"):
        assert "s3cret" not in shown
        assert "pa55word" not in shown


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_access_control(host: str) -> None:
    check_bind(load(HTTP_HOST=host))


def test_a_unix_socket_needs_no_access_control(tmp_path: Path) -> None:
    check_bind(load(HTTP_HOST="0.0.0.0", HTTP_UDS=str(tmp_path / "s")))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "example.org", "127.0.0.1.example.org"])
def test_other_addresses_need_access_control_or_the_setting_that_does_without(host: str) -> None:
    with pytest.raises(SettingsError, match="ALLOW_REMOTE_WITHOUT_ACCESS_CONTROL"):
        check_bind(load(HTTP_HOST=host))
    check_bind(load(HTTP_HOST=host, AUTH_TOKEN="s3cret"))
    check_bind(load(HTTP_HOST=host, ACCESS_MODE="enforced"))
    check_bind(load(HTTP_HOST=host, ALLOW_REMOTE_WITHOUT_ACCESS_CONTROL="true"))
