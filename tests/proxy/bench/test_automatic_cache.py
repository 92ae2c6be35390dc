"""A cache without breakpoints: the longest known prefix, in steps."""

from typing import Any

from spanlore_proxy.bench.automatic_cache import MIN_TOKENS, STEP_TOKENS, AutomaticCache


def document(*texts: str) -> dict[str, Any]:
    """A request with these messages."""
    return {"messages": [{"role": "user", "content": text} for text in texts]}


def test_a_session_that_grows_is_read_up_to_its_last_step() -> None:
    """The second request reads what the first sent, less what does not fill a step."""
    cache = AutomaticCache()
    first = cache.account(document("a" * 9_000))
    second = cache.account(document("a" * 9_000, "b" * 400))

    assert first.cache_read_tokens == 0
    assert 0 <= first.total_tokens - second.cache_read_tokens <= STEP_TOKENS
    assert second.cache_read_tokens % STEP_TOKENS == 0


def test_a_changed_beginning_reads_nothing_and_a_short_prefix_neither() -> None:
    """A different first word, or fewer tokens than are cached at all."""
    cache = AutomaticCache()
    cache.account(document("a" * 9_000))

    assert cache.account(document("b" + "a" * 9_000)).cache_read_tokens == 0
    assert cache.account(document("a" * (MIN_TOKENS * 3), "c" * 9_000)).cache_read_tokens == 0
