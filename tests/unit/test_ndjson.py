"""NDJSON lines are cut at LF alone and never held beyond their bound."""

from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from service.ndjson import Line, split_lines


async def lines_of(chunks: list[bytes], max_bytes: int = 100) -> list[Line]:
    async def stream() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    return [line async for line in split_lines(stream(), max_bytes)]


async def test_only_lf_ends_a_line_and_blank_lines_are_counted_but_not_given() -> None:
    text = '\ufeff{"a":"\u2028\u2029\u0085"}\r\n\n  \n{"b":1}'.encode()
    assert await lines_of([text]) == [Line(1, '{"a":"\u2028\u2029\u0085"}'.encode()), Line(4, b'{"b":1}')]


async def test_a_line_over_the_bound_is_named_and_the_next_one_is_whole() -> None:
    assert await lines_of([b"x" * 60, b"x" * 60, b"\nok\n", b"y" * 101], 100) == [
        Line(1, b"", too_long=True),
        Line(2, b"ok"),
        Line(3, b"", too_long=True),
    ]


@given(st.binary(max_size=60).map(lambda data: data.replace(b"\xef", b"e")), st.lists(st.integers(1, 7), max_size=20))
async def test_lines_do_not_depend_on_how_the_stream_is_cut(data: bytes, cuts: list[int]) -> None:
    chunks, rest = [], data
    for cut in cuts:
        chunks.append(rest[:cut])
        rest = rest[cut:]
    expected = [
        Line(number, part.strip(b" \t\r"))
        for number, part in enumerate(data.split(b"\n"), start=1)
        if part.strip(b" \t\r")
    ]
    assert await lines_of([*chunks, rest]) == expected
