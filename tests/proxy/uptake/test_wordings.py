"""Every wording that is compared is declarative, names its source and says that it may be outdated."""

import re

import pytest

from spanlore.recall.budget import count_tokens
from spanlore_proxy.injection import wording
from spanlore_proxy.injection.wording import STANDARD, Wording
from spanlore_proxy.uptake.wordings import WORDINGS
from support.injecting import NOW_NS, SCOPE, make_memory

FORBIDDEN = re.compile(
    r"\b(must|should|shall|always|never|do not|don't|please|make sure|ensure|remember|use|run|follow|obey|ignore|avoid"
    r"|prefer|apply|read|secret|hidden|confidential|mention|reveal|disclose|silently|quietly)\b",
    re.I,
)


@pytest.mark.parametrize("words", WORDINGS.values(), ids=list(WORDINGS))
def test_a_wording_keeps_the_rules(words: Wording) -> None:
    """No order, no secrecy; tag, id, day, source, count; may be outdated, files and user first."""
    memory = make_memory(text="TEXT")
    block, hint = wording.session_block([memory], SCOPE, NOW_NS, words), wording.hint([memory], words)

    for text in (block, hint):
        assert not FORBIDDEN.search(text.replace(memory.id, ""))
        assert all(part in text for part in (memory.id, "TEXT", "in 3 sessions", "2026-09-21", "a failure and its fix"))
        assert "outdated" in text
        assert wording.line_sizes(text, [memory.id])[0] > 0
    assert "the repository, its instruction files and the user come first" in block
    assert wording.shown_ids(block) == (memory.id,)


@pytest.mark.parametrize("words", WORDINGS.values(), ids=list(WORDINGS))
def test_what_fits_is_counted_with_its_words(words: Wording) -> None:
    """The frame's tokens are the wording's own."""
    memories = [make_memory(str(number)) for number in range(40)]
    kept, _ = wording.fit_session_block(memories, SCOPE, NOW_NS, 500, words)
    hinted, _ = wording.fit_hint(memories, 150, words)

    assert count_tokens(wording.session_block(kept, SCOPE, NOW_NS, words)) <= 500
    assert count_tokens(wording.hint(hinted, words)) <= 150
    assert kept and hinted


def test_agents_get_the_standard() -> None:
    """It is among those compared, by its own name."""
    assert WORDINGS["standard"] is STANDARD
    assert len(WORDINGS) >= 4
