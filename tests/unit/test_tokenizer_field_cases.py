"""Tokenizer and ranking together: what a question is about comes first among texts that share its small words."""

from collections.abc import Sequence

import pytest

from adapters.postings import encode_block, posting_code
from adapters.ranking import Term, choose_terms, inverse_document_frequency, rank
from adapters.text import index_terms, query_terms

CANARY = "灰度发布用 canary.yaml 控制比例"
KEYCTL = "Rotate the signing key with keyctl"
LUNCH = [
    f"我们中午怎么吃饭是大家最常问的问题，{dish}是我们的第{number}个选择，饭后我们一起散步，怎么走都是可以的，这是我们的习惯"
    for number, dish in enumerate(
        ["面条", "米饭", "饺子", "包子", "火锅", "烤鸭", "寿司", "沙拉", "汉堡", "米粉", "馄饨", "咖喱"]
    )
]
TRAVEL = [
    f"How do we get to {city} in the morning is what we ask when we plan the trip, and how do we get the tickets for"
    f" the train number {number} is the next thing we do"
    for number, city in enumerate(
        ["Lyon", "Oslo", "Porto", "Quito", "Riga", "Seoul", "Turin", "Ulm", "Varna", "Wuhan", "Xian", "York"]
    )
]


def search(texts: Sequence[str], query: str, limit: int) -> list[str]:
    """The best texts; a text's slot is its position."""
    tokens = [index_terms(text) for text in texts]
    asked = query_terms(query)
    holders = {
        term: [slot for slot, each in enumerate(tokens) if term in each.frequencies]
        for term in asked.terms + asked.covered
    }
    chosen = choose_terms({term: len(slots) for term, slots in holders.items()}, len(texts), asked.covered)
    terms = []
    for term in chosen:
        postings = [(slot, posting_code(tokens[slot].frequencies[term], tokens[slot].length)) for slot in holders[term]]
        terms.append(Term(inverse_document_frequency(len(texts), len(postings)), [encode_block(postings)]))
    average_length = sum(each.length for each in tokens) / len(tokens)
    return [texts[slot] for slot, _ in rank(terms, average_length, limit)]


@pytest.mark.parametrize(
    ("query", "answer"), [("我们的灰度发布是怎么做的", CANARY), ("how do we rotate the signing key", KEYCTL)]
)
def test_the_answer_comes_before_texts_that_share_only_small_words(query: str, answer: str) -> None:
    assert search([*LUNCH, CANARY, KEYCTL, *TRAVEL], query, 3)[0] == answer


def test_a_text_of_stop_words_is_found_by_them() -> None:
    assert search([*TRAVEL, "to be or not to be"], "to be or not to be", 1) == ["to be or not to be"]


def test_an_identifier_given_whole_beats_texts_that_hold_its_parts() -> None:
    texts = [
        "check that the deploy is done",
        "deploy, then check again",
        "run deploy-check first",
        "the check of deploy",
    ]
    assert search(texts, "deploy-check", 1) == ["run deploy-check first"]


def test_the_end_of_a_long_query_counts_as_much_as_its_beginning() -> None:
    assert search([*LUNCH, CANARY], "我们怎么吃饭" * 600 + "灰度发布", 1) == [CANARY]
