"""The stored form of texts, and that making it takes no more time than its length is worth."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.errors import InvalidRequest
from service.normalize import composed, entry_text, profile_text

# Marks of several classes, marks that decompose to two, letters with marks, Hangul.
ODD = (
    "aé한ᄀ\u1161\u11a8…\u1fbe\u1fc1\u0f76\u0300\u0301\u0308\u0316\u0327\u0344\u0345\u0338"
    "\u0f71\u0f72\u0f73\u05b0\u3099\U0001d165"
)
LONG_RUNS = [
    "a" + "\u0301\u0316" * 100_000,
    "\u0344" * 100_000,
    "\u0f73" * 100_000,
    "…" + "\u0316\u0301" * 50_000 + "…" + "\u3099\u0301" * 50_000,
]


@given(st.text(alphabet=ODD, max_size=300))
def test_composed_is_nfc(text: str) -> None:
    assert composed(text) == unicodedata.normalize("NFC", text)


@given(st.text(max_size=60), st.integers(min_value=0, max_value=3))
def test_composed_is_nfc_for_any_text(text: str, repeat: int) -> None:
    repeated = text * (1 + 10 * repeat)
    assert composed(repeated) == unicodedata.normalize("NFC", repeated)


@pytest.mark.parametrize("text", LONG_RUNS, ids=range(len(LONG_RUNS)))
def test_a_long_run_of_marks_is_refused_fast(text: str) -> None:
    """The sort inside `unicodedata.normalize` is quadratic: eight seconds and more for each of these."""
    begin = time.perf_counter()
    for refuse in (entry_text, profile_text):
        with pytest.raises(InvalidRequest):
            refuse(text * 2, "body", "text")
    assert time.perf_counter() - begin < 4


def test_an_entry_is_measured_in_bytes_after_nfc_and_strip() -> None:
    decomposed = "e\u0301" * 4096
    assert entry_text(f" {decomposed}\n") == "é" * 4096
    with pytest.raises(InvalidRequest):
        entry_text(decomposed + "x")
