"""Settings of the providers: complete or not at all, secrets never shown."""

from pathlib import Path

import pytest

from service.settings import PREFIX, Settings, SettingsError, load_settings

EMBEDDING = {"BASE_URL": "http://127.0.0.1:1/v1", "MODEL": "m", "DIMENSION": "384"}
RERANK = {"KIND": "chat", "BASE_URL": "https://example.org/v1", "MODEL": "m"}


def load(group: str, variables: dict[str, str]) -> Settings:
    return load_settings({f"{PREFIX}INFERENCE_{group}_{name}": value for name, value in variables.items()})


@pytest.mark.parametrize(("group", "complete"), [("EMBEDDING", EMBEDDING), ("RERANK", RERANK)])
def test_each_of_the_group_needs_the_others_and_the_start_says_which(group: str, complete: dict[str, str]) -> None:
    load(group, complete)
    for left_out in complete:
        with pytest.raises(SettingsError) as refused:
            load(group, {name: value for name, value in complete.items() if name != left_out})
        (problem,) = refused.value.problems
        assert problem.startswith(f"{PREFIX}INFERENCE_{group}_{left_out}: must be set too")
    for alone in ({"API_KEY": "k3y"}, {"TIMEOUT_SECONDS": "9"}):
        with pytest.raises(SettingsError) as refused:
            load(group, alone)
        assert "k3y" not in str(refused.value)


def test_an_endpoint_that_serves_one_model_needs_no_name_of_it() -> None:
    settings = load("RERANK", {"KIND": "endpoint", "BASE_URL": "http://tei:8080"})
    assert settings.inference_rerank_model is None


@pytest.mark.parametrize(
    "url", ["127.0.0.1:80", "ftp://host/v1", "http://", "http://u:p@host", "http://host/v1?key=x", "http://host:99999"]
)
def test_a_base_url_is_an_address_and_no_more(url: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load("EMBEDDING", {**EMBEDDING, "BASE_URL": url})
    (problem,) = refused.value.problems
    assert problem.startswith(f"{PREFIX}INFERENCE_EMBEDDING_BASE_URL: must be http")
    assert url not in problem.replace("http://127.0.0.1:8080/v1", "") or url == "http://"


@pytest.mark.parametrize(
    ("name", "value"),
    [("DIMENSION", "0"), ("DIMENSION", "16001"), ("TIMEOUT_SECONDS", "0"), ("BATCH_SIZE", "0"), ("API_KEY", "a b")],
)
def test_values_are_bounded(name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refused:
        load("EMBEDDING", {**EMBEDDING, name: value})
    assert f"INFERENCE_EMBEDDING_{name}" in str(refused.value)


@pytest.mark.parametrize(("group", "complete"), [("EMBEDDING", EMBEDDING), ("RERANK", RERANK)])
def test_a_key_may_stand_in_a_file_and_is_never_shown(group: str, complete: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "key").write_text("k3y\n")
    settings = load(group, {**complete, "API_KEY_FILE": str(tmp_path / "key")})
    assert getattr(settings, f"inference_{group.lower()}_api_key") == "k3y"
    assert "k3y" not in repr(settings)
