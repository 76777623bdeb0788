"""English words: which of them say nothing, and one form for all inflections of the rest."""

from typing import Final, Protocol, cast

import Stemmer

_COMMON: Final = """
a an and are as at be been but by can't for from had has have he her his i if in into is it its me my of on or our she
so that the their them they this to was we were will with won't you your
"""
_ASKING: Final = """
about again against all am any because being both can cannot could did do does doing down further having here hers
herself him himself how itself just let long many more most much myself no nor not now once only ours ourselves out
same shall should some such than theirs themselves then there these those through too until up very what when where
which while who whom whose why would yours yourself yourselves
"""

# Left out of the index: they stand in nearly every text and would make the index of prose half as large again.
COMMON_WORDS: Final = frozenset(_COMMON.split())

# Left out of a query as well: what a question is made of, rather than what it is about. Words that tell two answers
# apart stay: before, after, over, under, other, off.
STOP_WORDS: Final = COMMON_WORDS | frozenset(_ASKING.split())

# Inflections that no suffix rule reaches. Forms that are words of their own in this trade are left out: bit, bound,
# ground, rose, shot, lives, leaves.
_IRREGULAR: Final = """
arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; become became; begin began begun; bend bent;
bite bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy
bought; catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; do done; draw
drew drawn; dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive
forgave forgiven; freeze froze frozen; get got gotten; give gave given; go goes went gone; grow grew grown; hang hung;
hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; learn learnt; leave left;
lend lent; light lit; lose lost; make made; mean meant; meet met; override overrode overridden; overwrite overwrote
overwritten; pay paid; prove proven; ride rode ridden; ring rang rung; rise risen; run ran; say said; see saw seen;
seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; show shown; shrink shrank shrunk; sing
sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun; stand stood;
steal stole stolen; stick stuck; sting stung; strike struck stricken; swear swore sworn; sweep swept; swim swam swum;
swing swung; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw thrown; understand
understood; undo undid undone; wake woke woken; wear wore worn; weave wove woven; weep wept; win won; withdraw
withdrew withdrawn; write wrote written; rewrite rewrote rewritten; rebuild rebuilt; child children; person people;
man men; woman women; foot feet; tooth teeth; mouse mice; goose geese; wife wives; knife knives; half halves; shelf
shelves; wolf wolves; index indices; vertex vertices; matrix matrices; criterion criteria
"""
_BASE_FORM: Final = {form: base for base, *forms in (line.split() for line in _IRREGULAR.split(";")) for form in forms}

# No English word is longer; what is longer is an identifier that a suffix rule would only damage.
_STEM_MAX_CHARS: Final = 40


class _WordStemmer(Protocol):
    def stemWord(self, word: str, /) -> str: ...  # noqa: N802 - the library's name


# PyStemmer has no type stubs. Its own cache is off (size 0): `identifiers` caches whole words with their ids. A call
# keeps the GIL throughout, so one instance serves all threads.
_SNOWBALL: Final = cast(_WordStemmer, Stemmer.Stemmer("english", 0))


def stem(word: str) -> str:
    """Return the form shared by the inflections of a lower-case ASCII `word`; anything else comes back as it is."""
    if len(word) > _STEM_MAX_CHARS or not (word.isascii() and word.isalpha()):
        return word
    return _SNOWBALL.stemWord(_BASE_FORM.get(word, word))
