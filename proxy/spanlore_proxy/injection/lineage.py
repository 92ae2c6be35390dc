"""What a conversation goes on from that the ledger does not know: what was placed there is placed here, too.

The ledger knows a conversation by the client's session, else by its run and opening. They change when the client
resumes or forks it under another name or in another process; without a session also when the agent replaces its history
by a summary of its own. Two things can be proven:

- **Resume, fork.** A history with answers has the opening and the first answer of a conversation of the same program in
  the same directory. Its beginning is that conversation's, so is its prefix in the provider's cache, and what stands
  there is replayed with the same bytes: the block, and the hints whose messages are as they were. Where two began with
  the very same words and answer, it is the one seen last.
- **Compaction** without a session. A run (one process, `spanlore run`) asked for a summary last, and its next history
  begins with a summary that was not in what it had summarised. Nobody has cached that prefix, so the block may be
  decided anew; what draws the lots for withholding stays that of the conversation before. pi asks for it when a run is
  over: then it is the next run of the same program in the same directory that begins so.

Everything else stays as it is: without a run nobody knows which of a directory's processes had its history summarised,
and a history that was not seen from its opening on has a prefix that a late block would change.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore.spans.ids import conversation_id_of
from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.meeting import begins_with_summary
from spanlore_proxy.conversation.view import View
from spanlore_proxy.injection.facts import RequestFacts, first_answer, opening_of
from spanlore_proxy.injection.ledger import Entry, LedgerStore
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.request import WireRequest

MAX_KNOWN: Final = 1_024
"""Runs of which it is known what they did last, and conversations that are known to be signed."""
MAX_SUMMARISED: Final = 64
"""Messages of a history at whose beginning a summary may stand already."""

_TRACED: Final = frozenset({CallClass.MAIN, CallClass.COMPACTION})

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ancestry:
    """What the ledger does not know of a conversation by its key."""

    entry: Entry | None = None
    """Of the conversation that it goes on from, under its own key."""
    origin: str = ""
    """That conversation, when it was resumed or forked."""
    epoch: str = ""
    """Names the summary that it begins with, when its block is to be decided anew."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run did last."""

    conversation: str = ""
    """Its main agent's; '' while none is known."""
    summarised: frozenset[bytes] | None = None
    """Digests of the first messages of what it asked a summary of; None when it has gone on since."""
    cwd: str = ""


class Lineage:
    """The conversations of one proxy. Not for several threads at once."""

    def __init__(self, ledger: LedgerStore, now_ns: Callable[[], int], at_most: int = MAX_KNOWN) -> None:
        self._ledger = ledger
        self._now_ns = now_ns
        self._max = at_most
        self._runs: OrderedDict[tuple[str, str], _Run] = OrderedDict()
        self._signed: OrderedDict[str, None] = OrderedDict()

    def trace(self, request: WireRequest, identity: Identity, workplace: Workplace, conversation: str) -> Ancestry:
        """What a conversation goes on from that the ledger does not know.

        Raises:
            OSError: the ledger can't be read, or does not keep what was inherited.
        """
        if identity.call_class not in _TRACED:
            return Ancestry()
        is_main = identity.call_class is CallClass.MAIN and not identity.session_id
        if is_main and (run := self._own(identity, workplace)) and _is_new_summary(request, identity, run):
            return self._after_summary(run, conversation)
        if (resumed := self._resumed(request, identity, workplace, conversation)) is not None:
            return resumed
        if is_main and (run := self._ended(identity, workplace)) and _is_new_summary(request, identity, run):
            return self._after_summary(run, conversation)
        return Ancestry()

    def note(
        self, request: WireRequest, identity: Identity, workplace: Workplace, conversation: str, *, is_known: bool
    ) -> None:
        """What the run does now. `is_known`: the ledger has an entry of the conversation."""
        if identity.session_id or not workplace.run_id or identity.call_class not in _TRACED:
            return
        key = (workplace.run_id, identity.harness)
        if identity.call_class is CallClass.MAIN:
            run = _Run(conversation, cwd=workplace.cwd)
        else:
            digest = CODECS[request.dialect].message_digest
            summarised = frozenset(digest(raw) for raw in request.raw_messages[:MAX_SUMMARISED])
            run = _Run(
                conversation if is_known else self._runs.get(key, _Run()).conversation, summarised, workplace.cwd
            )
        _put(self._runs, key, run, self._max)

    def sign(self, request: WireRequest, identity: Identity, workplace: Workplace, facts: RequestFacts) -> None:
        """A request with an answer leaves in which something of ours stands: what resumes or forks the conversation
        will be known by its first answer."""
        if identity.call_class is not CallClass.MAIN or facts.conversation in self._signed:
            return
        mark = _mark(request, identity, workplace)
        if not mark:
            return
        sign = Entry(mark, origin=facts.conversation, seed=facts.session_seed, updated_at_ns=self._now_ns())
        try:
            self._ledger.save(sign)
        except OSError as error:
            _log.warning("a resumed session will not be known, the ledger can't be written: %s", error)
            return
        _put(self._signed, facts.conversation, None, self._max)

    def _after_summary(self, run: _Run, conversation: str) -> Ancestry:
        """What to decide anew: under the new key, with the lots of the conversation before."""
        before = self._ledger.load(run.conversation) if run.conversation else None
        entry = replace(before or Entry(conversation), conversation=conversation, is_decided=True, has_answer=False)
        return Ancestry(replace(entry, epoch="", seed=entry.seed or run.conversation), epoch=conversation)

    def _resumed(
        self, request: WireRequest, identity: Identity, workplace: Workplace, conversation: str
    ) -> Ancestry | None:
        mark = _mark(request, identity, workplace)
        sign = self._ledger.load(mark) if mark else None
        known = self._ledger.load(sign.origin) if sign is not None else None
        if sign is None or known is None:
            return None
        entry = replace(known, conversation=conversation, seed=sign.seed, updated_at_ns=self._now_ns())
        self._ledger.save(entry)  # now: what comes later in the other conversation is none of this one's
        return Ancestry(entry, sign.origin)

    def _own(self, identity: Identity, workplace: Workplace) -> _Run | None:
        """This run, if a summary is what it asked for last."""
        run = self._runs.get((workplace.run_id, identity.harness)) if workplace.run_id else None
        return run if run is not None and run.summarised is not None else None

    def _ended(self, identity: Identity, workplace: Workplace) -> _Run | None:
        """The newest run of the same program in the same directory that asked for a summary last, as it ended."""
        return next(
            (
                run
                for (_, harness), run in reversed(self._runs.items())
                if run.summarised is not None and (harness, run.cwd) == (identity.harness, workplace.cwd)
            ),
            None,
        )


def _put[Key, Value](known: OrderedDict[Key, Value], key: Key, value: Value, at_most: int) -> None:
    known[key] = value
    known.move_to_end(key)
    while len(known) > at_most:
        known.popitem(last=False)


def _is_new_summary(request: WireRequest, identity: Identity, run: _Run) -> bool:
    """The history begins with a summary that does not stand in what the run had summarised."""
    view = View(request, chain=b"", harness=identity.harness)
    if not begins_with_summary(view, identity.harness):
        return False
    digest = CODECS[request.dialect].message_digest
    return digest(request.raw_messages[view.opening]) not in (run.summarised or ())


def _mark(request: WireRequest, identity: Identity, workplace: Workplace) -> str:
    """The key of the sign by which a resumed conversation is known; '' where there is none."""
    at = first_answer(request.raw_messages, identity.harness)
    if at >= len(request.raw_messages) or not workplace.cwd:
        return ""
    answer = CODECS[request.dialect].message_digest(request.raw_messages[at]).hex()
    return conversation_id_of(f"resume\x1f{identity.harness}\x1f{workplace.cwd}", answer, opening_of(request, identity))
