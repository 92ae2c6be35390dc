"""What the tools do, without the protocol: each call opens the daemon's doors anew, so a restart of it is not noticed.

Results are plain JSON-able dictionaries.

What an agent says never becomes a memory by itself: a tool's output, a file or a web page may have put it into its
mouth. It waits as a candidate for the user's yes. Only where the user asked for it in this session's newest prompts
("remember that …") something is kept at once: the user's own words, as the proxy saw them typed, not the agent's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from spanlore.embedding.static import EmbeddingsMissingError, load_embed
from spanlore.memory import stated
from spanlore.memory.changes import shape_of
from spanlore.memory.memory import USER_SCOPE, Evidence, EvidenceRole, Memory, Status
from spanlore.memory.operations import Operation
from spanlore.memory.sharing import Sharing
from spanlore.recall.answer import Question, answer
from spanlore.recall.snapshot import Snapshot
from spanlore.recall.terms import terms
from spanlore.redaction.redact import Redactor
from spanlore.settings import Paths, Settings
from spanlore_collector.store.api_client import MemoryClient, connect
from spanlore_collector.store.reader import Reader
from spanlore_extractor.mcp_server.context import Contexts, key_of
from spanlore_extractor.mcp_server.workplace import Workplace
from spanlore_extractor.mining.explicit import STATED_IN, asked_for, is_for_everywhere
from spanlore_extractor.mining.lessons import QUOTE_CHARS
from spanlore_extractor.run import Rules, mine
from spanlore_extractor.summaries.keeping import digest_of

ACTOR: Final = "agent"
MAX_LIMIT: Final = 50
REFLECT_TOKENS: Final = 2_000
INFO_TOKENS: Final = 800
"""Of what earlier sessions were about."""
WAIT_S: Final = 1.0

_SESSION: Final = """
SELECT session_id, harness, repository, branch, title, turns, inferences, tool_calls, failures, input_tokens,
       output_tokens, cache_read_tokens, toFloat64(cost_usd) AS cost_usd, toString(start_time) AS started_at,
       toString(end_time) AS last_seen_at
FROM sessions WHERE session_id = {session:String}
"""
_CURRENT: Final = """
SELECT session_id FROM inferences
WHERE ({run:String} != '' AND run_id = {run:String})
   OR ({run:String} = '' AND repository = {scope:String} AND start_time > now() - INTERVAL 1 DAY)
ORDER BY start_time DESC LIMIT 1
"""
_TYPED: Final = """
SELECT text, trace_id, span_id, toUnixTimestamp64Nano(time) AS time_ns
FROM human_messages
WHERE session_id = {session:String} AND call_class = 'main' AND channel IN {channels:Array(String)}
ORDER BY time DESC, ordinal DESC LIMIT 1 BY span_id, ordinal LIMIT 3
"""
_GIVEN: Final = """
SELECT arraySort(groupUniqArrayArray(injected_memory_ids)) AS ids FROM inferences WHERE session_id = {session:String}
"""
_LAST_ON_BRANCH: Final = """
SELECT session_id, argMax(substring(prompt, 1, 300), start_time) AS last_prompt, toString(max(end_time)) AS last_seen_at
FROM turns
WHERE repository = {scope:String} AND branch = {branch:String} AND call_class = 'main'
GROUP BY session_id ORDER BY max(end_time) DESC LIMIT 1
"""


class DeskError(ValueError):
    """It can't be done. The message says why, for the model to read."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the user asked for in a prompt."""

    words: str
    is_for_everywhere: bool
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Desk:
    """The operations for one workplace."""

    settings: Settings
    paths: Paths
    workplace: Workplace
    now_ns: Callable[[], int]
    wait_s: float = WAIT_S
    """For the newest prompt to be in the store."""

    def remember(self, text: str, scope: str = "repository", until_ns: int = 0) -> dict[str, Any]:
        """Keeps a fact: {remembered, waits, memory, note, superseded, secrets_replaced}. `remembered`: it is shown from
        now on; `waits`: it is not, until the user says yes. With `until_ns` it is never shown after that."""
        where = self._scope(scope)
        redacted = Redactor(self.settings.capture.redact).redact(text)
        with self._daemon() as (reader, client):
            asked = self._asked_for(reader, redacted.text)
            try:
                made = self._made(redacted.text, where, client.memories(), asked, until_ns)
            except ValueError as error:
                raise DeskError(str(error)) from None
            if made:
                client.apply(made)
        memory = made[0].memory if made else None
        is_shown = memory is not None and memory.is_shown
        return {
            "remembered": is_shown,
            "waits": memory is not None and not is_shown,
            "memory": shown(memory) if memory else None,
            "note": told_of(memory),
            "superseded": [shown(operation.memory) for operation in made[1:]],
            "secrets_replaced": redacted.count,
        }

    def _made(
        self, text: str, where: str, known: Sequence[Memory], asked: _Asked | None, until_ns: int
    ) -> list[Operation]:
        """Raises ValueError: it can't be kept."""
        if asked is None:
            return stated.remember(text, where, known, self.now_ns(), by=ACTOR, until_ns=until_ns)
        if where == USER_SCOPE and not asked.is_for_everywhere and self.workplace.scope:
            where = self.workplace.scope
        operations = stated.remember(asked.words, where, known, self.now_ns(), until_ns=until_ns)
        cited = [replace(operation.memory, evidence=(asked.evidence,), session_count=1) for operation in operations[:1]]
        return [*(replace(operations[0], memory=memory) for memory in cited), *operations[1:]]

    def _asked_for(self, reader: Reader, text: str) -> _Asked | None:
        """What the user asked to have remembered in the newest prompts, if the text is about that. The request that
        brought the newest one may still be on its way to the store, so it is waited for, a moment."""
        until = time.monotonic() + self.wait_s
        while True:
            session = self._session(reader)
            rows = reader.rows(_TYPED, {"session": session, "channels": sorted(STATED_IN)}) if session else []
            for row in rows:
                words = asked_for(row["text"])
                if words and is_about(text, words):
                    where = (row["trace_id"], row["span_id"], session, EvidenceRole.STATEMENT, int(row["time_ns"]))
                    quote = " ".join(words.split())[:QUOTE_CHARS]
                    return _Asked(words, is_for_everywhere(row["text"]), Evidence(*where, quote))
            if time.monotonic() >= until:
                return None
            time.sleep(0.1)

    def _session(self, reader: Reader) -> str:
        """The session that asks, as far as that is known; '' before its first request was recorded."""
        found = reader.rows(_CURRENT, {"run": self.workplace.run_id, "scope": self.workplace.scope})
        return str(found[0]["session_id"]) if found else ""

    def recall(self, query: str = "", limit: int = 8, kind: str = "", branch: str = "") -> dict[str, Any]:
        """Memories that answer a question, best first, by day: {repository, memories, by_date}."""
        with self._daemon() as (_, client):
            known = self._snapshot(client)

        def admits(memory: Memory) -> bool:
            return (not kind or memory.kind.value == kind) and (not branch or memory.branch in ("", branch))

        told = [shown(memory) for memory in self._ranked(known, query, max(1, min(limit, MAX_LIMIT)), admits)]
        by_date: dict[str, list[str]] = {}
        for memory in told:
            by_date.setdefault(memory["date"], []).append(memory["id"])
        return {"repository": self.workplace.scope, "memories": told, "by_date": dict(sorted(by_date.items())[::-1])}

    def reflect(self, dry_run: bool = False) -> dict[str, Any]:
        """Learns from the sessions recorded until now: {sessions, added, reinforced, superseded, not_taken,
        history}."""
        rules = Rules(0, int(self.settings.mining.pair_window_s * 1e9), Redactor(self.settings.capture.redact))
        with self._daemon() as (reader, client):
            report = mine(reader, client, rules, self.now_ns(), active_too=True, dry_run=dry_run)
            history = self._history(reader, client, REFLECT_TOKENS)
        by_verb: dict[str, list[dict[str, Any]]] = {}
        for operation in report.operations:
            if operation.memory.scope in (self.workplace.scope, USER_SCOPE):
                by_verb.setdefault(operation.verb.value, []).append(shown(operation.memory))
        return {
            "dry_run": dry_run,
            "sessions": report.sessions,
            "spans": report.spans,
            **{verb: by_verb.get(verb, []) for verb in ("added", "reinforced", "superseded")},
            "elsewhere": len(report.operations) - sum(map(len, by_verb.values())),
            "not_taken": len(report.dropped) + len(report.refused),
            "history": history,
        }

    def session_info(self) -> dict[str, Any]:
        """{repository, branch, task, session, memories_given, memories, history}; `session` is None before its first
        request."""
        workplace = self.workplace
        with self._daemon() as (reader, client):
            contexts = self._contexts(client)
            session: dict[str, Any] | None = None
            given: list[str] = []
            if current := self._session(reader):
                named = {"session": current}
                session = reader.rows(_SESSION, named)[0]
                given = list(reader.rows(_GIVEN, named)[0]["ids"])
            known = sum(1 for _ in self._snapshot(client).in_scope(workplace.scope, "", workplace.sub_path))
            history = self._history(reader, client, INFO_TOKENS)
        return {
            "repository": workplace.scope,
            "branch": workplace.branch,
            "task": contexts.task(workplace.branch),
            "session": session,
            "memories_given": given,
            "memories": known,
            "history": history,
        }

    def switch_context(self, branch: str = "", task: str = "", carry_task: bool = True) -> dict[str, Any]:
        """Takes up the work on a branch: {repository, branch, task, carried_over, last_session, history, memories}."""
        workplace = self.workplace
        if not workplace.scope:
            raise DeskError("this is not inside a git repository, so there is no context to switch")
        to = branch.strip() or workplace.branch
        if shape := shape_of(task):
            raise DeskError(f"a task is told to later sessions; this one is not kept: {shape}")
        with self._daemon() as (reader, client):
            before = self._contexts(client)
            here = before.branch or workplace.branch
            after, carried = before.switched(to, self.now_ns(), task=task, here=here, carry=carry_task)
            client.set_mining_state(key_of(workplace.scope), after.to_json())
            last = reader.rows(_LAST_ON_BRANCH, {"scope": workplace.scope, "branch": to})
            history = self._history(reader, client, INFO_TOKENS, to)
            known = self._snapshot(client)
        doing = after.task(to)
        return {
            "repository": workplace.scope,
            "branch": to,
            "was_on": here,
            "task": doing,
            "carried_over": carried,
            "last_session": last[0] if last else None,
            "history": history,
            "memories": [
                shown(memory) for memory in self._ranked(known, doing, 5, lambda memory: memory.branch in ("", to))
            ],
        }

    def forget(self, memory_id: str) -> dict[str, Any]:
        """Has a memory forgotten for good: {forgotten, memory}. Not one that is the user's own word."""
        with self._daemon() as (_, client):
            memory = client.memory(memory_id)
            if memory is None:
                raise DeskError(f"there is no memory {memory_id!r}; `recall` gives the ids")
            if memory.pinned:
                raise DeskError(f"{memory.id} is pinned by the user, who alone may have it forgotten")
            if memory.is_shown and (memory.is_edited or memory.kind.is_stated):
                raise DeskError(
                    f"{memory.id} is the user's own word; the user may have it forgotten: `spanlore forget {memory.id}`"
                )
            if memory.status is not Status.FORGOTTEN:
                operation = stated.forget(memory, by=ACTOR)
                client.apply([operation])
                memory = operation.memory
        return {"forgotten": True, "memory": shown(memory)}

    def _scope(self, scope: str) -> str:
        if scope not in ("repository", "user"):
            raise DeskError("scope is `repository` (this one) or `user` (all of them)")
        if scope == "user":
            return USER_SCOPE
        if not self.workplace.scope:
            raise DeskError("this is not inside a git repository; say scope `user` to remember it everywhere")
        return self.workplace.scope

    def _snapshot(self, client: MemoryClient) -> Snapshot:
        """What may be shown, with how repositories belong together."""
        memory = self.settings.memory
        return Snapshot.of(client.snapshot(), sharing=Sharing(memory.forks, memory.public_repositories))

    def _ranked(self, known: Snapshot, query: str, limit: int, admits: Callable[[Memory], bool]) -> list[Memory]:
        """Best first; by standing alone without a query. What is bound to one harness is left out: who asks is not
        known for sure."""
        place = self.workplace
        if query.strip():
            found = [memory for memory in self._found(known, query) if admits(memory)]
        else:
            found = list(islice(filter(admits, known.in_scope(place.scope, "", place.sub_path)), limit))
        return found[:limit]

    def _found(self, known: Snapshot, query: str) -> list[Memory]:
        """By words, or by words and meaning, as `recall.backend` says."""
        place, backend = self.workplace, self.settings.recall.backend
        if backend == "none":
            return []
        meaning = None
        if backend == "hybrid":
            from spanlore.recall.meaning import Meanings

            try:
                meaning = Meanings.of(known.in_scope(place.scope, "", place.sub_path), load_embed())
            except EmbeddingsMissingError as error:
                raise DeskError(str(error)) from None
        question = Question(query, place.scope, "", place.sub_path, MAX_LIMIT)
        return [candidate.memory for candidate in answer(known, question, meaning)]

    def _history(self, reader: Reader, client: MemoryClient, tokens: int, branch: str = "") -> str:
        """What the sessions of the repository were about, in so many tokens; '' when nothing was kept."""
        if not self.workplace.scope:
            return ""
        found = digest_of(reader, self.workplace.scope, client.snapshot(), self.now_ns(), tokens, branch)
        return found.text() if found.sessions else ""

    def _contexts(self, client: MemoryClient) -> Contexts:
        return Contexts.from_json(client.mining_state(key_of(self.workplace.scope)))

    @contextmanager
    def _daemon(self) -> Iterator[tuple[Reader, MemoryClient]]:
        """Raises: StoreUnavailableError: no daemon, or it does not answer."""
        reader, client = connect(self.settings, self.paths)
        with reader:
            try:
                yield reader, client
            finally:
                client.close()


def is_about(text: str, words: str) -> bool:
    """Whether an agent's text is about what the user's words say: half of the telling words of the shorter one stand in
    both. More is not needed, since the user's words are kept and the agent's are not."""
    one, other = set(terms(text)), set(terms(words))
    return bool(one & other) and 2 * len(one & other) >= min(len(one), len(other))


def told_of(memory: Memory | None) -> str:
    """What became of it, for the model, and through it for the user."""
    if memory is None:
        return "that is remembered already, or waits for the user already"
    if memory.is_shown:
        return "kept in the user's own words, since the user asked for it"
    if memory.status is Status.QUARANTINED:
        return memory.note
    return (
        "not shown to any session yet: words of an agent wait for the user's yes, since they may come from a tool's"
        f" output. Tell the user: `spanlore confirm {memory.id}` or `spanlore review`; or they say in a prompt"
        ' "remember that …", and it is kept in their words.'
    )


def shown(memory: Memory) -> dict[str, Any]:
    """A memory as an agent sees it."""
    from spanlore.memory.stated import day_of

    return {
        "id": memory.id,
        "text": memory.text,
        "kind": memory.kind.value,
        "status": memory.status.value,
        "scope": memory.scope,
        "branch": memory.branch,
        "confidence": round(memory.confidence, 2),
        "sessions": memory.session_count,
        "date": day_of(memory.updated_at_ns),
    }
