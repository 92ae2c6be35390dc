"""Findings that several want are looked for once."""

from __future__ import annotations

import pytest

from spanlore_extractor.mining import detected as module
from spanlore_extractor.mining.detected import detect
from spanlore_extractor.mining.failures import Findings, find_deltas
from spanlore_extractor.mining.miner import mine_session
from spanlore_extractor.mining.session import Conversation
from spanlore_extractor.mining.summary import summarise
from support.told import corrected, failing_tests

WINDOW_NS = 600 * 10**9


def test_each_detector_looks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mining and the summary of one session share what was found."""
    looked: list[str] = []

    def counted(conversation: Conversation, window_ns: int) -> Findings:
        looked.append(conversation.key)
        return find_deltas(conversation, window_ns)

    monkeypatch.setattr(module, "find_deltas", counted)
    session = failing_tests("detected-1").session()
    found = detect(session, WINDOW_NS)
    mine_session(session, WINDOW_NS, found)
    summarise(session, WINDOW_NS, found)

    assert looked == [conversation.key for conversation in session.conversations]


def test_who_looks_does_not_matter() -> None:
    """What is given changes nothing but who computes it."""
    session = corrected("detected-2", "No. Always run the tests with tox.").session()
    found = detect(session, WINDOW_NS)

    assert mine_session(session, WINDOW_NS, found) == mine_session(session, WINDOW_NS)
    assert summarise(session, WINDOW_NS, found) == summarise(session, WINDOW_NS)
