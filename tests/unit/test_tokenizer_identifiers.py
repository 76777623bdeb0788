"""Identifiers are found whole and by their parts, in any spelling, inside Chinese sentences too."""

from hashlib import blake2b

import pytest

from adapters.text import index_terms, query_terms

# An identifier as it is stored, and what people type to find it: itself, and each of its parts.
IDENTIFIERS = [
    ("OpenAPI", ["OpenAPI", "openapi", "open", "API", "api"]),
    ("api-generate", ["api-generate", "api", "generate", "generates", "api_generate"]),
    ("C++", ["C++", "c++"]),
    ("C#", ["C#", "c#"]),
    ("snake_case", ["snake_case", "snake", "case", "snakeCase", "snake-case"]),
    ("camelCase", ["camelCase", "camel", "case", "camelcase", "camel_case"]),
    ("HTTPServerError", ["HTTPServerError", "http", "server", "error", "errors", "httpservererror"]),
    ("parseURLs", ["parseURLs", "URL", "urls", "parse"]),
    ("a.b.c", ["a.b.c"]),
    ("service.http.app", ["service.http.app", "service", "http", "app"]),
    ("src/api/client.py", ["src/api/client.py", "src", "api", "client.py", "client", "py"]),
    ("v1.2.3", ["v1.2.3", "1.2.3", "v1"]),
    ("#1489", ["#1489", "1489"]),
    ("PR#1489", ["#1489", "1489", "PR"]),
    ("deploy-check", ["deploy-check", "deploy", "check", "deployCheck", "deploy_check"]),
    ("rb-tool3", ["rb-tool3", "rb", "tool3", "tool"]),
    ("C:\\work\\ci\\out", ["C:\\work\\ci\\out", "ci\\", "work", "out", "C:/work/ci/out"]),
    ("\\\\nas01\\logs", ["\\\\nas01\\logs", "nas01", "logs", "log"]),
    ("E0308", ["E0308", "e0308"]),
    ("ORA-00942", ["ORA-00942", "ora", "00942", "ORA00942"]),
    ("ERR_CONNECTION_REFUSED", ["ERR_CONNECTION_REFUSED", "connection", "refused"]),
    ("0x80070005", ["0x80070005", "0X80070005", "80070005"]),
    ("550e8400-e29b-41d4-a716-446655440000", ["550e8400-e29b-41d4-a716-446655440000", "550e8400", "446655440000"]),
    ("a1b2c3d4e5f60718293a4b5c6d7e8f9012345678", ["a1b2c3d", "a1b2c3d4e5f60718293a4b5c6d7e8f9012345678"]),
    ("std::vector", ["std::vector", "std", "vector"]),
    ("__init__.py", ["__init__.py", "init", "py"]),
    ("user@example.com", ["user@example.com", "user", "example.com", "example"]),
    ("500ms", ["500ms", "500 ms"]),
    ("canary.yaml", ["canary.yaml", "canary", "yaml"]),
]
CASES = [(stored, typed) for stored, queries in IDENTIFIERS for typed in queries]
PLACES = {
    "alone": "{}",
    "in English": "Before the release run {} twice, then wait.",
    "in Chinese without spaces": "修改{}后重新生成",
    "in brackets": "配置（{}）说明",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("stored", "typed"), CASES)
def test_an_identifier_is_found_whole_and_by_each_part(place: str, stored: str, typed: str) -> None:
    sentence = index_terms(place.format(stored)).frequencies.keys()
    without = index_terms(place.format("")).frequencies.keys()
    assert set(query_terms(typed).terms) & (sentence - without)


@pytest.mark.parametrize("stored", [stored for stored, _ in IDENTIFIERS])
def test_all_terms_of_an_identifier_are_in_a_sentence_that_holds_it(stored: str) -> None:
    assert set(query_terms(stored).terms) <= index_terms(f"上线前先跑{stored}再切流量").frequencies.keys()


@pytest.mark.parametrize(
    ("whole", "scattered"),
    [
        ("OpenAPI", "open API"),
        ("deploy-check", "check, then deploy"),
        ("snake_case", "the case of the snake"),
        ("HTTPServerError", "error of an HTTP server"),
        ("src/api/client.py", "client.py in src and api"),
        ("client.py", "py client"),
        ("C:\\work\\ci\\out", "C work ci out"),
        ("std::vector", "vector std"),
        ("C++", "C"),
        ("#1489", "1489"),
        ("rb-tool3", "rb tool3"),
        ("user@example.com", "example.com user"),
    ],
)
def test_a_whole_identifier_has_a_term_that_its_scattered_parts_have_not(whole: str, scattered: str) -> None:
    assert set(query_terms(whole).terms) - index_terms(scattered).frequencies.keys()


def test_a_version_is_found_whole_without_its_v() -> None:
    digest = blake2b(b"1.2.3", digest_size=8).digest()
    assert int.from_bytes(digest, "little", signed=True) in index_terms("released v1.2.3").frequencies


@pytest.mark.parametrize(
    ("stored", "typed"),
    [
        ("C++", "C#"),
        ("#1489", "#1490"),
        ("v1.2.3", "v2.4.5"),
        ("pages 1-12", "112"),
        ("scat", "cat"),
        ("C++ guide", "C# manual"),
    ],
)
def test_different_identifiers_share_no_whole(stored: str, typed: str) -> None:
    """A shared letter such as the C of C++ may match; what makes the identifier itself may not."""
    letter = set(query_terms("c").terms)
    assert not (set(query_terms(typed).terms) - letter) & (index_terms(stored).frequencies.keys() - letter)


@pytest.mark.parametrize(
    ("full_width", "half_width"), [("ＯｐｅｎＡＰＩ", "OpenAPI"), ("ｖ１．２．３", "v1.2.3"), ("ﾃｽﾄ", "テスト")]
)
def test_full_width_and_half_width_are_the_same(full_width: str, half_width: str) -> None:
    assert index_terms(full_width) == index_terms(half_width)


def test_an_acronym_in_capitals_is_not_a_stop_word() -> None:
    assert set(query_terms("ask the IT team").terms) > set(query_terms("ask the team").terms)
    assert index_terms("call IT for help").length == index_terms("call for help").length + 1


def test_capitals_mark_no_acronym_where_everything_is_in_capitals() -> None:
    assert query_terms("WHAT IS THE PORT OF THE GATEWAY") == query_terms("what is the port of the gateway")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("she went home", "she goes home"),
        ("the children ran", "the child runs"),
        ("it was rebuilt", "rebuilds"),
        ("deploying", "deployed"),
        ("Caroline's idea", "Caroline ideas"),
        ("Caroline’s idea", "Caroline ideas"),
        ("they don't restart", "they do restarts"),
        ("all indices", "all index"),
    ],
)
def test_inflections_of_an_english_word_are_one_term(one: str, other: str) -> None:
    assert index_terms(one).frequencies == index_terms(other).frequencies
