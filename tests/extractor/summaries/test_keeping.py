"""Summaries through a real collector: what a run leaves, what was before there were summaries, and the digest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from spanlore.memory.stated import pin, remember
from spanlore.redaction.redact import Redactor
from spanlore_collector.store.summaries import summaries_named
from spanlore_extractor.judge.instructions import packaged
from spanlore_extractor.mining.summary import summarise
from spanlore_extractor.run import Rules, mine
from spanlore_extractor.summaries.keeping import BACKFILL_KEY, back_fill, digest_of, keep, kept_of
from support.collecting import Collecting
from support.judging import CAPS, document, fair, judge_with, model_at
from support.model_server import ModelServer, ReceivedRequest, Reply, UseTool
from support.summaries import NOW_NS, many
from support.told import START_NS, failing_tests

RULES = Rules(idle_ns=600 * 10**9, window_ns=600 * 10**9, redactor=Redactor(()))
LATER_NS = START_NS + 10**15


def test_a_run_leaves_summaries(collector: Collecting) -> None:
    """One a session; a dry run none; mined again from less than there was, the better one stays."""
    scope = "example.org/keeping/run"
    told = failing_tests("keeping-run-1", repository=scope)
    collector.send(told.spans())
    mine(collector.reader, collector.client, RULES, LATER_NS, dry_run=True)
    nothing = kept_of(collector.reader, scope)
    mine(collector.reader, collector.client, RULES, LATER_NS)
    [kept] = kept_of(collector.reader, scope)
    session = told.session()
    [conversation] = session.conversations
    poorer = replace(session, conversations=(replace(conversation, steps=conversation.steps[:1]),))
    keep(collector.client, [summarise(poorer, RULES.window_ns)])
    [after] = kept_of(collector.reader, scope)

    assert nothing == []
    assert kept.resolved and kept.repository == scope and kept.steps > 3
    assert after == kept


def test_sessions_of_before_are_summed_up_bit_by_bit(collector: Collecting) -> None:
    """The newest first; once all are, nothing is read any more."""
    scope = "example.org/keeping/before"
    for number in range(3):
        told = failing_tests(f"keeping-before-{number}", START_NS + number * 10**12, repository=scope)
        collector.send(told.spans())
    collector.client.set_mining_state(BACKFILL_KEY, str(START_NS + 10**13))
    first = back_fill(collector.reader, collector.client, RULES.window_ns, at_once=1)
    halfway = [one.session_id for one in kept_of(collector.reader, scope)]
    while collector.client.mining_state(BACKFILL_KEY) != "done":
        back_fill(collector.reader, collector.client, RULES.window_ns, at_once=1)

    class Unread:
        def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
            raise AssertionError("nothing is to be read")

    assert (first, len(halfway)) == (1, 1)
    assert [one.session_id for one in kept_of(collector.reader, scope)] == [f"keeping-before-{n}" for n in range(3)]
    assert back_fill(Unread(), collector.client, RULES.window_ns) == 0


def test_the_digest_tells_pins_and_branches(collector: Collecting) -> None:
    """What is pinned in this repository, and only the branch that is asked for."""
    scope = "example.org/keeping/digest"
    [made] = remember("deploys of the walrus need the VPN", scope, (), START_NS)
    pinned = pin(made.memory, True)
    assert pinned is not None
    collector.client.apply([made, pinned])
    [one, two] = (replace(item, repository=scope) for item in many(2))
    keep(collector.client, [one, replace(two, branch="topic", session_id="digest-topic")])
    known = collector.client.memories()
    whole = digest_of(collector.reader, scope, known, NOW_NS)
    topic = digest_of(collector.reader, scope, known, NOW_NS, branch="topic")

    assert whole.sessions == 2 and topic.sessions == 1
    assert "deploys of the walrus need the VPN" in whole.pinned[0]
    assert digest_of(collector.reader, "example.org/keeping/none", known, NOW_NS).sessions == 0


def test_a_model_tells_the_months_of_a_large_repository(collector: Collecting) -> None:
    """In the run of the judge, which pays for it; the digest then has its words."""
    scope = "example.org/keeping/large"
    keep(collector.client, [replace(one, repository=scope, session_id=f"large-{one.session_id}") for one in many(400)])
    told = failing_tests("large-session", NOW_NS - 86_400 * 10**9, repository=scope)
    collector.send(told.spans())

    def script(request: ReceivedRequest) -> Reply | Any:
        asked = document(request)
        if "sacred" not in asked:
            return fair(request)
        lines = [f"- {line}" for line in asked["sacred"]]
        return Reply((UseTool("chapter", {"text": "The walrus was fed, as ever.\n" + "\n".join(lines)}),))

    with ModelServer(script) as server, model_at(server) as model:
        judge = replace_prompt(judge_with(model, NOW_NS, replace(CAPS, day_tokens=10**6)))
        mine(collector.reader, collector.client, RULES, NOW_NS, judge=judge)
    found = digest_of(collector.reader, scope, (), NOW_NS, 20_000)
    ledger = collector.reader.rows(
        "SELECT outcome FROM internal_calls WHERE phase = 'summary' AND endsWith(memory_id, {scope:String})",
        {"scope": scope},
    )

    assert "The walrus was fed, as ever." in found.text()
    assert found.levels["told"] > 100 and found.tokens <= 20_000
    assert {row["outcome"] for row in ledger} == {"told"}


def replace_prompt(judge: Any) -> Any:
    judge.chapter_prompt = packaged("chapter")
    return judge


@pytest.mark.parametrize("name", ["keeping-found-1", "keeping-found"])
def test_one_is_found_by_its_id(collector: Collecting, name: str) -> None:
    """Or by how it begins."""
    collector.send(failing_tests("keeping-found-1", repository="example.org/keeping/found").spans())
    keep(collector.client, [summarise(failing_tests("keeping-found-1").session(), RULES.window_ns)])

    assert [row["session_id"] for row in summaries_named(collector.reader, name)] == ["keeping-found-1"]
