"""The data set is the same every time, and of the sizes that it claims."""

import random
from itertools import islice

from bench.assembler import SIZES, TEXTS, candidates
from bench.data import ENTRY_BYTES, KINDS, build_data, chinese_prompt, entries
from bench.modes import MODES, request_bodies
from contracts.prepare import ContextPrepareRequest
from service.validation import decode_json

SIZES_OF_DATA = {"memory": 60, "reference_memory": 5, "experience": 4, "reference_experience": 2, "queries": 8}


def test_one_seed_gives_one_data_set_and_another_gives_another() -> None:
    assert build_data(**SIZES_OF_DATA) == build_data(**SIZES_OF_DATA)
    assert build_data(**SIZES_OF_DATA, seed=1) != build_data(**SIZES_OF_DATA, seed=2)
    assert list(islice(entries(3), 20)) == list(islice(entries(3), 20))


def test_entries_are_all_different_in_both_scripts_and_within_their_sizes() -> None:
    found = list(islice(entries(3), 300))
    low, high = ENTRY_BYTES
    assert len({entry.text for entry in found}) == 300
    assert all(low <= len(entry.text.encode()) <= high for entry in found)
    assert {entry.kind for entry in found} == set(KINDS)
    assert {entry.text.isascii() for entry in found} == {True, False}


def test_a_prompt_has_exactly_the_length_asked_for() -> None:
    assert len(chinese_prompt(random.Random(1), 8192)) == 8192


def test_every_mode_is_a_request_of_the_contract() -> None:
    for mode in MODES:
        (body,) = request_bodies(mode, [("s", "how?")])
        assert decode_json(body, ContextPrepareRequest).scope_id == "s"


def test_candidates_have_the_size_asked_for_and_no_two_are_equal() -> None:
    for text in TEXTS:
        for size in SIZES:
            recalled = candidates(text, size, 0)
            bodies = [hit.text for hit in recalled.memory[0].hits]
            assert len(set(bodies)) == 16
            assert all(size - 3 <= len(body.encode()) <= size for body in bodies)
            assert len({hit.lesson for hit in recalled.experience[0].hits}) == 8
