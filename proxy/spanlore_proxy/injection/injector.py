"""The façade: a client's body in, the body to forward out.

Whatever goes wrong, the client's own bytes are forwarded, and the reason is in `Injected.skipped`. Nothing here waits:
memories come from a snapshot in memory, the ledger is one local row. The order of work keeps the promise that what the
ledger says was sent: facts, decision, bytes, deadline, ledger row, and only then the request leaves.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePath
from typing import Any, Final

import orjson

from spanlore.genai.inference import CallClass
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings, Settings
from spanlore.spans.place import Injected, Workplace
from spanlore_proxy.conversation.agent import Identity, at_workplace
from spanlore_proxy.injection import wording
from spanlore_proxy.injection.facts import RequestFacts, conversation_key, is_bypassed, read_facts
from spanlore_proxy.injection.invariant import PrefixWatch, answered, noted_alarm
from spanlore_proxy.injection.layouts.table import LAYOUTS
from spanlore_proxy.injection.ledger import Entry, LedgerStore, Settled
from spanlore_proxy.injection.lineage import Ancestry, Lineage
from spanlore_proxy.injection.offsets import OffsetError
from spanlore_proxy.injection.policy import Placed, Plan, decide, replay
from spanlore_proxy.injection.rewrite import Addition, Insertion, Rewritten, insert
from spanlore_proxy.injection.selection import Note, select
from spanlore_proxy.injection.upstream import Watched
from spanlore_proxy.wire.dialect import Endpoint, Kind
from spanlore_proxy.wire.request import WireRequest

_WORKED_ON: Final = frozenset({CallClass.MAIN, CallClass.SUBAGENT, CallClass.COMPACTION})
_ANSWERED: Final = frozenset({CallClass.MAIN, CallClass.SUBAGENT})
_NONE: Final[frozenset[str]] = frozenset()
_SIGNED_BY: Final = frozenset({"x-amz-date", "x-amz-content-sha256"})
"""Headers of a request whose body is part of its signature (AWS SigV4)."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is to be forwarded."""

    body: bytes
    """The client's own object when nothing was inserted."""
    injected: Injected
    insertions: tuple[Insertion, ...] = ()
    alarm: str = ""
    """What of the prefix would have changed by our doing (`invariant`); nothing was inserted then."""
    watched: Watched | None = None
    """Set where the forwarded body is to be compared with the one before (`upstream`)."""


class _DeadlineError(Exception):
    """Too late: the untouched body goes out."""


class Injector:
    """One for the proxy's life. Not for several threads at once: the ledger's row is read, then written."""

    def __init__(
        self,
        settings: Settings,
        ledger: LedgerStore,
        snapshot: Callable[[], Snapshot],
        *,
        clock_ns: Callable[[], int],
        now_ns: Callable[[], int],
        is_killed: Callable[[], bool],
        words: wording.Wording = wording.STANDARD,
    ) -> None:
        """`clock_ns` is monotonic, `now_ns` since the epoch; `is_killed` tells whether the kill file exists."""
        self._settings = settings
        self._ledger = ledger
        self._snapshot = snapshot
        self._clock_ns = clock_ns
        self._now_ns = now_ns
        self._is_killed = is_killed
        self._words = words
        self._watch = PrefixWatch()
        self._lineage = Lineage(ledger, now_ns)
        self._off: set[str] = set()
        """Conversations that raised the prefix alarm."""
        self._watched: Watched | None = None
        """Of the request at hand, as soon as it is known."""
        self._deadline_ns = round(settings.injection.deadline_ms * 1_000_000)

    def prepare(
        self,
        body: bytes,
        endpoint: Endpoint,
        request: WireRequest | None,
        identity: Identity,
        workplace: Workplace,
        headers: Iterable[tuple[str, str]],
    ) -> Prepared:
        """The body to forward and what was done. `body` is content-decoded, `request` the same body parsed, None when
        it could not be. Never raises."""
        started_ns = self._clock_ns()
        self._watched = None
        try:
            prepared = self._prepare(body, endpoint, request, identity, workplace, headers, started_ns)
        except _DeadlineError:
            prepared = _untouched(body, "deadline")
        except OffsetError as error:
            _log.warning("nothing injected: %s", error)
            prepared = _untouched(body, "offset")
        except OSError as error:
            _log.warning("nothing injected, the ledger can't be read: %s", error)
            prepared = _untouched(body, "ledger")
        except Exception as error:
            # The border to the agent's traffic: no fault of ours may cost it a request. Told by the reason and the log.
            _log.exception("nothing injected")
            prepared = _untouched(body, f"error:{type(error).__name__}")
        injected = replace(prepared.injected, overhead_ns=self._clock_ns() - started_ns)
        return replace(prepared, injected=injected, watched=self._watched)

    def switch_off(self, conversation: str, why: str) -> None:
        """Nothing is inserted into the conversation from here on, also by a restarted proxy."""
        _log.error("the prefix of %s changed by our doing (%s): injection is off for it", conversation, why)
        self._off.add(conversation)
        try:
            self._ledger.save(Entry(conversation, is_decided=True, is_off=True, updated_at_ns=self._now_ns()))
        except OSError as error:
            _log.warning("that it is off can't be written, a restarted proxy will not know it: %s", error)

    def _prepare(
        self,
        body: bytes,
        endpoint: Endpoint,
        request: WireRequest | None,
        identity: Identity,
        workplace: Workplace,
        headers: Iterable[tuple[str, str]],
        started_ns: int,
    ) -> Prepared:
        identity = at_workplace(identity, workplace.harness)
        refused = self._refuse(endpoint, request, identity, workplace, headers)
        self._heard(request, identity, workplace)
        if refused or request is None:
            return _untouched(body, refused)
        snapshot = self._snapshot()
        conversation = conversation_key(request, identity, workplace)
        if conversation in self._off:
            return _untouched(body, "alarm")
        is_continued = LAYOUTS[request.dialect].is_continued(request)
        watched = Watched(conversation, not identity.session_id, None, is_continued)
        has_own_prefix = identity.call_class is CallClass.COMPACTION and not request.raw_tools
        self._watched = None if has_own_prefix else watched
        ancestry = self._known(request, identity, workplace, conversation)
        entry = ancestry.entry
        if entry is not None and entry.is_off:
            self._watched = None
            return _untouched(body, "alarm")
        holds_any = snapshot.holds_any(workplace.repository)
        if not holds_any and (entry is None or not entry.placements):
            self._watched = None  # nothing is inserted, and nothing was
        facts = read_facts(
            request,
            identity,
            workplace,
            conversation=conversation,
            entry=entry,
            programs=snapshot.failing_programs(workplace.repository) if identity.call_class in _ANSWERED else _NONE,
            wants_prompt=identity.call_class is CallClass.MAIN and holds_any,
            epoch=ancestry.epoch,
        )
        facts = replace(facts, settled=self._settled(request, facts, ancestry))
        if facts.is_attested and self._settings.injection.attested != "rewrite":
            self._watched = None  # left alone, whatever stood there while another setting held
        elif self._watched is not None:
            self._watched = replace(watched, epoch=facts.epoch)
        plan, rewritten = self._decided(body, request, facts, snapshot, entry, started_ns)
        if plan.entry is not None and not self._is_saved(plan.entry):
            plan = plan.replayed
            rewritten = _rewrite(body, request, plan)
        if alarm := self._watch.check(request, facts, plan.placed):
            return self._switched_off(body, facts, alarm)
        self._settle(request, facts)
        if plan.placed and facts.has_answer and not self._is_late(started_ns):
            self._lineage.sign(request, identity, workplace, facts)
        return Prepared(rewritten.body, _injected(plan, facts.client_memory_ids, rewritten), rewritten.insertions)

    def _is_saved(self, entry: Entry) -> bool:
        """What is not in the ledger can't be replayed, and would change the prefix with the next request."""
        try:
            self._ledger.save(entry)
        except OSError as error:
            _log.warning("nothing new injected, the ledger can't be written: %s", error)
            return False
        return True

    def _known(self, request: WireRequest, identity: Identity, workplace: Workplace, conversation: str) -> Ancestry:
        """What the ledger knows of the conversation, or of the one that it goes on from.

        Raises:
            OSError: the ledger can't be read, or does not keep what was inherited.
        """
        known = Ancestry(self._ledger.load(conversation))
        if known.entry is None:
            known = self._lineage.trace(request, identity, workplace, conversation)
        self._lineage.note(request, identity, workplace, conversation, is_known=known.entry is not None)
        return known

    def _heard(self, request: WireRequest | None, identity: Identity, workplace: Workplace) -> None:
        """A request comes, whatever will be done with it: what is answered in it may be, one day, its end again.

        Raises:
            OSError: the ledger can't be read.
        """
        is_followed = self._settings.injection.enabled and identity.call_class in _ANSWERED
        if request is None or not identity.session_id or not is_followed:
            return
        conversation = conversation_key(request, identity, workplace)
        known = self._ledger.settled(conversation)
        if known is not None and known.messages < (messages := answered(request)):
            self._ledger.settle(conversation, replace(known, messages=messages))

    def _settled(self, request: WireRequest, facts: RequestFacts, ancestry: Ancestry) -> int:
        """How many messages the model may have answered before: all, where the ledger knows the conversation and not
        how far it had come. 0 under a derived key, where the last request may have been another conversation's, and
        where the provider holds the history.

        Raises:
            OSError: the ledger can't be read.
        """
        if facts.is_derived or facts.is_continued:
            return 0
        for name in filter(None, (facts.conversation, ancestry.origin)):
            if (known := self._ledger.settled(name)) is not None:
                return min(known.messages, len(request.raw_messages)) if known.epoch == facts.epoch else 0
        return len(request.raw_messages) if ancestry.entry is not None else 0

    def _settle(self, request: WireRequest, facts: RequestFacts) -> None:
        """Tells how far the model has come, also the next proxy."""
        has_own_prefix = facts.call_class is CallClass.COMPACTION and not facts.has_tools
        if not (facts.is_derived or facts.is_continued or has_own_prefix):
            messages = max(answered(request), facts.settled)
            self._ledger.settle(facts.conversation, Settled(messages, facts.epoch))

    def _decided(
        self,
        body: bytes,
        request: WireRequest,
        facts: RequestFacts,
        snapshot: Snapshot,
        entry: Entry | None,
        started_ns: int,
    ) -> tuple[Plan, Rewritten]:
        """The plan and its body. Past the deadline nothing new is placed; what stands there already is, since leaving
        it out would cost the whole cached prefix.

        Raises:
            _DeadlineError: it is late, and nothing stands there.
        """
        if not self._is_late(started_ns):
            plan = decide(facts, snapshot, entry, self._settings.injection, self._now_ns(), self._words)
            rewritten = _rewrite(body, request, plan)
            if not self._is_late(started_ns):
                return plan, rewritten
        plan = replay(facts, entry, self._settings.injection)
        if not plan.placed:
            raise _DeadlineError
        return plan, _rewrite(body, request, plan)

    def _switched_off(self, body: bytes, facts: RequestFacts, alarm: str) -> Prepared:
        """The untouched body, and nothing for this conversation from here on."""
        self._watched = None
        self.switch_off(facts.conversation, alarm)
        return Prepared(body, noted_alarm(Injected(skipped="alarm")), (), alarm)

    def _refuse(
        self,
        endpoint: Endpoint,
        request: WireRequest | None,
        identity: Identity,
        workplace: Workplace,
        headers: Iterable[tuple[str, str]],
    ) -> str:
        """Why the request is left alone whatever it says; '' when it is not. Cheapest first."""
        if request is None:
            return "malformed"
        if not self._settings.injection.enabled:
            return "disabled"
        if is_bypassed(headers):
            return "bypass"
        if self._is_killed():
            return "killed"
        if endpoint.kind is not Kind.INFERENCE or identity.call_class not in _WORKED_ON:
            return "side_call"
        layout = LAYOUTS.get(request.dialect)
        if layout is None:
            return "dialect"
        if any(name.lower() in _SIGNED_BY for name, _ in headers):
            return "signed"
        if refusal := layout.refusal(request):
            return refusal
        if not workplace.repository:
            return "unknown_project"
        capture = self._settings.capture
        is_excluded = is_off(workplace, capture.off_repositories, capture.only_repositories)
        return "off_repository" if is_excluded else ""

    def _is_late(self, started_ns: int) -> bool:
        return self._clock_ns() - started_ns > self._deadline_ns


def client_block(
    snapshot: Snapshot, repository: str, harness: str, settings: InjectionSettings, session_seed: str, as_of_ns: int
) -> str:
    """The session block for `--append-system-prompt`, '' when there is nothing to say or the settings are against it.

    For sessions whose client signs its requests: what it was handed, it signs itself. `session_seed` is the run id;
    the proxy then finds the same memories withheld.
    """
    if not settings.enabled or settings.attested != "client" or not repository:
        return ""
    chosen = select(snapshot, repository, harness, settings, session_seed, as_of_ns, None)
    return wording.session_block(chosen.shown, repository, as_of_ns)


def is_off(workplace: Workplace, off: Iterable[str], only: Sequence[str] = ()) -> bool:
    """Whether the user excluded the repository (scope key), or a directory the agent works in; or, where `only` names
    some, did not name it. What is not known is then excluded, too."""
    return _is_named(workplace, off) or (bool(only) and not _is_named(workplace, only))


def _is_named(workplace: Workplace, names: Iterable[str]) -> bool:
    cwd = PurePath(workplace.cwd) if workplace.cwd else None
    return any(
        workplace.repository in (name, f"path:{name}")
        or fnmatchcase(workplace.repository, name)
        or (cwd is not None and cwd.is_relative_to(name))
        for name in names
    )


def _rewrite(body: bytes, request: WireRequest, plan: Plan) -> Rewritten:
    return insert(body, request, [Addition(item.index, item.placement.text) for item in plan.placed])


def _untouched(body: bytes, skipped: str) -> Prepared:
    return Prepared(body, Injected(skipped=skipped))


def _injected(plan: Plan, client_ids: tuple[str, ...], rewritten: Rewritten) -> Injected:
    placed_ids = (id_ for item in plan.placed for id_ in item.placement.memory_ids)
    log = [*(_shown(item) for item in plan.placed), *(_noted(note) for note in plan.notes)]
    return Injected(
        memory_ids=tuple(dict.fromkeys((*placed_ids, *client_ids))),
        added_bytes=sum(len(insertion.data) for insertion in rewritten.insertions),
        placements_json=orjson.dumps(log).decode() if log else "",
        skipped=plan.skipped,
    )


def _shown(item: Placed) -> dict[str, Any]:
    placement = item.placement
    return {
        "kind": placement.kind.value,
        "state": "shown",
        "anchor": placement.anchor,
        "memory_ids": placement.memory_ids,
        "bytes": len(placement.text.encode()),
        "first": item.is_new,
        "position": item.index,
        "sizes": wording.line_sizes(placement.text, placement.memory_ids),
    }


def _noted(note: Note) -> dict[str, Any]:
    out: dict[str, Any] = {
        "kind": str(note.kind),
        "state": note.state,
        "anchor": note.anchor,
        "memory_ids": note.memory_ids,
        "bytes": 0,
        "first": note.is_first,
    }
    return {**out, "reason": note.reason} if note.reason else out
