"""A small session in a running collector's store."""

from __future__ import annotations

from dataclasses import replace

from spanlore_proxy.conversation.tracker import Tracker
from support.collector_process import CollectorProcess
from support.conversing import WORKPLACE, Play, call, result, spans, user


def store_session(collector: CollectorProcess, session: str) -> str:
    """Stores, under an id: two tools at once, one of which fails, then the end of the turn."""
    play = Play(tracker=Tracker(), session=session, workplace=replace(WORKPLACE, repository=f"github.com/x/{session}"))
    told = spans(play.say(user("run the tests")).ask(call("t2", "pytest -q"), call("t1", "echo hi")))
    play.say(user(result("t2", "Exit code 1\nE  boom: no such table", is_error=True), result("t1", "hi")))
    told += spans(play.ask("It fails."))
    assert collector.post_spans(told).status == 200
    return session
