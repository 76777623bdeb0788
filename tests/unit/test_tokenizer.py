"""Rules of the tokenizer: one form for what reads alike, characters and pairs, stop words, term ids."""

import time
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.text import index_terms, query_terms
from adapters.text.english import COMMON_WORDS
from adapters.text.ngrams import FUNCTION_CHARACTERS


def found(text: str, query: str) -> bool:
    """Whether a query meets a text at all."""
    asked = query_terms(query)
    return not index_terms(text).frequencies.keys().isdisjoint(asked.terms + asked.covered)


@pytest.mark.parametrize("query", ["雨", "机房", "空调检修", "明天有雨"])
def test_chinese_is_found_by_one_character_by_words_and_by_words_apart(query: str) -> None:
    assert found("北京机房明天有雨，空调要检修", query)


@pytest.mark.parametrize("query", ["deploy-check", "check", "rb-tool3", "切流量"])
def test_latin_words_inside_chinese_are_found(query: str) -> None:
    assert found("上线前先跑deploy-check再切流量，回滚用rb-tool3执行", query)


@pytest.mark.parametrize("query", ["caf\u00e9", "cafe\u0301", "re\u0301sume\u0301", "cafe", "RESUME"])
def test_accents_on_latin_letters_make_no_difference(query: str) -> None:
    assert found("Caf\u0065\u0301 r\u00e9sum\u00e9 parser is in tools/", query)


@pytest.mark.parametrize(("written", "plain"), [("Łódź", "lodz"), ("straße", "STRASSE"), ("Smørrebrød", "smorrebrod")])
def test_letters_without_decomposition_are_plain_too(written: str, plain: str) -> None:
    assert index_terms(written) == index_terms(plain)


def test_accents_of_other_scripts_stay() -> None:
    """й is a letter of its own, not an и with an accent; ば is not は."""
    assert not found("мой", "мои")
    assert not found("ば", "は")


@pytest.mark.parametrize("query", ["C:\\work\\ci\\out", "nas01", "构建目录", "ci\\"])
def test_windows_paths_are_found(query: str) -> None:
    assert found("构建目录是 C:\\work\\ci\\out，日志在 \\\\nas01\\logs", query)


def test_invisible_characters_make_no_difference() -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "run rm")
    assert index_terms(f"格式化 JSON{hidden}完成") == index_terms("格式化 JSON完成")
    assert index_terms("a\u202eb\u2066c\u2069\u200b\u200d\u2060\ufeff\u00add\u061c") == index_terms("abcd")


@pytest.mark.parametrize("query", ["𠮷野家", "部署", "📅", "🧑\u200d💻", "💻", "𠮷"])
def test_supplementary_han_and_emoji_are_found(query: str) -> None:
    assert found("→ 部署 📅 𠮷野家 \U0001f9d1\u200d\U0001f4bb", query)


def test_emoji_variants_are_one_term_and_flags_are_not_letters() -> None:
    assert index_terms("👍🏽") == index_terms("👍")
    assert index_terms("❤️") == index_terms("❤")
    assert not found("🇨🇳", "🇨🇦")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("資料庫連線逾時，請檢查組態檔", "资料库连线"),
        ("数据库连接超时", "數據庫連接"),
        ("カタカナのテスト環境", "テスト"),
        ("すしの店を予約", "すし"),
        ("데이터베이스에서 읽는다", "데이터베이스"),
        ("ฐานข้อมูลล่ม", "ข้อมูล"),
        ("Сервер недоступен", "сервер"),
        ("हिन्दी भाषा", "भाषा"),
    ],
)
def test_other_scripts_and_traditional_chinese_are_found(text: str, query: str) -> None:
    assert set(query_terms(query).terms) <= index_terms(text).frequencies.keys()


def test_a_query_leaves_out_what_only_holds_the_sentence_together() -> None:
    assert query_terms("how do we rotate the signing key") == query_terms("rotate signing key")
    assert query_terms("这是什么").terms  # nothing else was asked
    asked = query_terms("我们的灰度发布")
    assert query_terms("我").terms[0] not in asked.terms + asked.covered


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("to be or not to be", "To be, or not to be"),
        ("it is", "it is"),
        ("那是我们的", "我们的"),
        ("他和她都有", "和"),
        ("Why not now", "why"),
        ("明天有雨", "有"),
    ],
)
def test_a_query_of_stop_words_alone_keeps_them(text: str, query: str) -> None:
    assert found(text, query)


@pytest.mark.parametrize("text", ["", " ", "…", "？！", "-- / \\ ''", "()[]{}", "\u200b", "→", "_", "#", "++"])
def test_punctuation_alone_has_no_terms(text: str) -> None:
    assert index_terms(text).frequencies == {}
    assert query_terms(text) == query_terms("")
    assert query_terms("").terms == ()


def test_frequencies_count_every_occurrence_and_length_is_their_sum() -> None:
    tokens = index_terms("key key lock")
    assert sorted(tokens.frequencies.values()) == [1, 2]
    assert tokens.length == 3


def test_single_characters_of_a_pair_are_covered_and_lone_ones_are_not() -> None:
    """空调: one pair and its two characters; 雨 stands alone."""
    asked = query_terms("空调 雨")
    assert asked.covered == (ord("空"), ord("调"))
    assert ord("雨") in asked.terms
    assert len(asked.terms) == 2


def test_the_id_of_a_word_is_its_signed_blake2b() -> None:
    digest = blake2b(b"gateway", digest_size=8).digest()
    assert query_terms("Gateway").terms == (int.from_bytes(digest, "little", signed=True),)


COMMON_TERMS = {term for word in COMMON_WORDS for term in query_terms(word).terms}
WORDS = st.one_of(
    st.sampled_from(["OpenAPI", "rb-tool3", "src/api/client.py", "v1.2.3", "the", "of", "的", "我们", "修改OpenAPI后"]),
    st.text(min_size=1, max_size=12),
    st.text("aé\u0301\u0327中国的がﾃ한😀🇨_-./\\:#+'&0x9Fß\u200b\ud800", min_size=1, max_size=12),
)


@given(st.lists(WORDS, max_size=12))
def test_a_text_is_found_by_each_of_its_words(words: list[str]) -> None:
    text = " ".join(words)
    indexed = index_terms(text).frequencies.keys()
    for word in text.split():
        asked = query_terms(word).terms
        assert COMMON_TERMS.issuperset(asked) or not indexed.isdisjoint(asked)


@given(st.text(alphabet=st.characters(), max_size=300))
def test_ids_are_signed_64_bit_and_a_query_has_none_twice(text: str) -> None:
    tokens, asked = index_terms(text), query_terms(text)
    ids = asked.terms + asked.covered
    assert len(set(ids)) == len(ids)
    assert all(-(2**63) <= term < 2**63 for term in [*ids, *tokens.frequencies])
    assert sum(tokens.frequencies.values()) == tokens.length
    assert bool(asked.terms) == bool(tokens.frequencies)


@pytest.mark.parametrize(
    "unit",
    [
        "\u0301\u0327",
        "a.",
        "aA",
        "a1",
        "a-",
        "a/",
        "a",
        "\\",
        "#",
        "'",
        "+",
        "😀",
        "é\u0301x",
        "\u0f73",
        "的",
        "中国",
        "🇨",
        "C++",
        "::",
    ],
)
def test_long_hostile_texts_take_linear_time(unit: str) -> None:
    """The quadratic sort of 100,000 combining marks alone would take several seconds."""
    text = "a" + unit * (100_000 // len(unit))
    begin = time.process_time()
    index_terms(text)
    assert time.process_time() - begin < 2


def test_function_characters_are_single_characters_of_an_unspaced_script() -> None:
    assert all(query_terms(chr(char)).terms == (char,) for char in FUNCTION_CHARACTERS)
