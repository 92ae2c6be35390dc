from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from spanlore_proxy.demo.prompt_cache import PromptCache, count_tokens

MARK = {"cache_control": {"type": "ephemeral"}}


def request(*texts: str, system: str = "system " * 50, billing: str = "1") -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": text} for text in texts[:-1]]
    messages.append({"role": "user", "content": [{"type": "text", "text": texts[-1], **MARK}]})
    first = {"type": "text", "text": f"x-anthropic-billing-header: cch={billing};"}
    return {"system": [first, {"type": "text", "text": system, **MARK}], "messages": messages}


@given(st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=12))
def test_counts_are_disjoint_and_whole(texts: list[str]) -> None:
    """Input, cache reads and cache writes add up to the request, whatever was cached before."""
    cache = PromptCache()
    for end in range(1, len(texts) + 1):
        document = request(*texts[:end])
        assert cache.account(document).total_tokens == count_tokens(document)


def test_growing_history_is_read_up_to_the_last_breakpoint() -> None:
    """A message that is first a block with a breakpoint and then a string is the same prefix."""
    cache = PromptCache()
    cache.account(request("one " * 100))
    usage = cache.account(request("one " * 100, "two " * 100, billing="2"))

    assert usage.cache_read_tokens > 100
    assert usage.input_tokens == 0
    assert 90 < usage.cache_write_tokens < 120


def test_changed_system_text_loses_the_cache() -> None:
    """Text that changes in front of the history makes all of it a write again."""
    cache = PromptCache()
    cache.account(request("one " * 100))

    assert cache.account(request("one " * 100, system="other " * 50)).cache_read_tokens == 0


def test_text_behind_the_breakpoint_costs_nothing_later() -> None:
    """A block after the last breakpoint, sent again at the same place, does not spoil what was cached before it."""
    cache = PromptCache()
    first = request("one " * 100)
    first["messages"][-1]["content"].append({"type": "text", "text": "hint"})
    before = cache.account(first)
    second = request("placeholder", "two")
    second["messages"][0] = {
        "role": "user",
        "content": [{"type": "text", "text": "one " * 100}, {"type": "text", "text": "hint"}],
    }
    after = cache.account(second)

    assert before.input_tokens > 0
    assert after.cache_read_tokens == before.cache_write_tokens
