"""The service and the slow definition of the contract agree on everything that is thrown at them."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType, to_builtins

from contracts.prepare import Assembly, ExperienceSection, MemorySection, ProfileSection, TopicMemorySection
from contracts.recalled import Recalled
from service.assembly import assemble
from tests.property.hostile_recall import assemblies, budgets, recalled_contexts, single_candidates
from tests.property.slow_definition import Prepared, prepare_legacy, prepare_text

UNLIMITED = 10**9
EVERY_FAMILY = Assembly(
    sections=(
        MemorySection(limit=1),
        ExperienceSection(limit=1),
        ProfileSection(limit=1),
        TopicMemorySection(limit=1),
    )
)


def assert_agree(recalled: Recalled, assembly: Assembly | UnsetType, max_bytes: int, expected: Prepared) -> None:
    assembled = assemble(recalled, assembly, max_bytes)
    assert assembled.content == expected.content
    assert assembled.content_bytes == expected.content_bytes
    assert [to_builtins(origin) for origin in assembled.origins] == expected.origins
    assert assembled.content_bytes <= max(0, max_bytes)
    included = [line for line in assembled.receipt if line.outcome in ("included", "included_truncated")]
    assert len(included) == len(expected.items)


@given(recalled_contexts, assemblies(), st.data())
def test_standard_text_is_what_trying_every_prefix_gives(
    recalled: Recalled, assembly: Assembly, data: st.DataObject
) -> None:
    max_bytes = data.draw(budgets(assemble(recalled, assembly, UNLIMITED).content_bytes))
    assert_agree(recalled, assembly, max_bytes, prepare_text(recalled, assembly, max_bytes))


@given(recalled_contexts, st.data())
def test_legacy_output_is_what_trying_every_byte_limit_gives(recalled: Recalled, data: st.DataObject) -> None:
    max_bytes = data.draw(budgets(assemble(recalled, UNSET, UNLIMITED).content_bytes))
    assert_agree(recalled, UNSET, max_bytes, prepare_legacy(recalled, max_bytes))


@given(single_candidates())
def test_one_body_is_cut_where_trying_every_prefix_cuts_it(drawn: tuple[Recalled, int]) -> None:
    recalled, max_bytes = drawn
    assert_agree(recalled, EVERY_FAMILY, max_bytes, prepare_text(recalled, EVERY_FAMILY, max_bytes))
    assert_agree(recalled, UNSET, max_bytes, prepare_legacy(recalled, max_bytes))
