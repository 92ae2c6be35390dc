"""What a conversation goes on from, of clients that name no session: what was placed there is placed here, too.

The ledger knows such a conversation by its run and opening. Both change when the agent replaces its history by a summary
of its own, or when another process resumes it, and the ledger does not know what comes then. Two things can be proven:

- **Compaction.** A run (one process, `spanlore run`) asked for a summary, and its next history that the ledger does not
  know begins with a summary that was not in what it had summarised. Nobody has cached that prefix, so the block may be
  decided anew; what draws the lots for withholding stays that of the conversation before.
- **Resume.** A history with answers, unknown by its run, has the opening and the first answer of a conversation of the
  same program in the same directory. Its beginning is that conversation's, so is its prefix in the provider's cache, and
  what stands there is replayed with the same bytes: the block, and the hints whose messages are as they were. Where
  two conversations began with the very same words and answer, it is the one seen last.

Everything else stays as it is: without a run nobody knows which of a directory's processes had its history summarised,
and a history that was not seen from its opening on has a prefix that a late block would change.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore.spans.ids import conversation_id_of
from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.dialects import READERS
from spanlore_proxy.conversation.meeting import begins_with_summary
from spanlore_proxy.conversation.view import View
from spanlore_proxy.injection.facts import first_answer, opening_of
from spanlore_proxy.injection.ledger import Entry, LedgerStore
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.request import WireRequest

MAX_RUNS: Final = 1_024
"""Of which it is known what they did last."""
MAX_SUMMARISED: Final = 64
"""Messages of a history at whose beginning a summary may stand already."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ancestry:
    """What the ledger does not know of a conversation by its key."""

    entry: Entry | None = None
    """Of the conversation that it goes on from, under its own key."""
    epoch: str = ""
    """Names the summary that it begins with, when its block is to be decided anew."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What a run did last."""

    conversation: str = ""
    """Its main agent's."""
    summarised: frozenset[bytes] | None = None
    """Digests of the first messages of what it asked a summary of; None when it did not since its last request."""


class Lineage:
    """The conversations without a session, of one proxy. Not for several threads at once."""

    def __init__(self, ledger: LedgerStore, max_runs: int = MAX_RUNS) -> None:
        self._ledger = ledger
        self._max_runs = max_runs
        self._runs: OrderedDict[tuple[str, str], _Run] = OrderedDict()

    def asks_for_summary(self, request: WireRequest, identity: Identity, workplace: Workplace) -> None:
        """A summariser's request was seen."""
        if identity.session_id or not workplace.run_id:
            return
        digest = CODECS[request.dialect].message_digest
        summarised = frozenset(digest(raw) for raw in request.raw_messages[:MAX_SUMMARISED])
        self._note(identity, workplace, replace(self._run(identity, workplace), summarised=summarised))

    def trace(self, request: WireRequest, identity: Identity, workplace: Workplace, conversation: str) -> Ancestry:
        """What a conversation of the main agent goes on from that the ledger does not know.

        Raises:
            OSError: the ledger can't be read, or does not keep what was inherited.
        """
        if identity.session_id or identity.call_class is not CallClass.MAIN:
            return Ancestry()
        run = self._run(identity, workplace)
        if run.summarised is not None and _is_new_summary(request, identity, run.summarised):
            before = self._ledger.load(run.conversation) if run.conversation else None
            entry = replace(before or Entry(conversation), conversation=conversation, is_decided=True, epoch="")
            seed = entry.seed or run.conversation
            return Ancestry(replace(entry, seed=seed), conversation)
        mark = _mark(request, identity, workplace)
        sign = self._ledger.load(mark) if mark else None
        known = self._ledger.load(sign.origin) if sign is not None else None
        if known is None:
            return Ancestry()
        entry = replace(known, conversation=conversation, seed=known.seed or known.conversation)
        self._ledger.save(entry)  # now: what comes later in the other conversation is none of this one's
        return Ancestry(entry)

    def goes_on(
        self,
        request: WireRequest,
        identity: Identity,
        workplace: Workplace,
        conversation: str,
        *,
        is_first_answer: bool,
        now_ns: int,
    ) -> None:
        """A main request leaves. With the first answer in it, another process may know the conversation by it."""
        if identity.session_id or identity.call_class is not CallClass.MAIN:
            return
        if workplace.run_id:
            self._note(identity, workplace, _Run(conversation))
        mark = _mark(request, identity, workplace) if is_first_answer else ""
        if not mark:
            return
        try:
            self._ledger.save(Entry(mark, origin=conversation, updated_at_ns=now_ns))
        except OSError as error:
            _log.warning("a resumed session will not be known, the ledger can't be written: %s", error)

    def _run(self, identity: Identity, workplace: Workplace) -> _Run:
        return self._runs.get((workplace.run_id, identity.harness), _Run()) if workplace.run_id else _Run()

    def _note(self, identity: Identity, workplace: Workplace, run: _Run) -> None:
        key = (workplace.run_id, identity.harness)
        self._runs[key] = run
        self._runs.move_to_end(key)
        while len(self._runs) > self._max_runs:
            self._runs.popitem(last=False)


def _is_new_summary(request: WireRequest, identity: Identity, summarised: frozenset[bytes]) -> bool:
    view = View(request, READERS[request.dialect], chain=b"", harness=identity.harness)
    if not begins_with_summary(view, identity.harness):
        return False
    digest = CODECS[request.dialect].message_digest
    return digest(request.raw_messages[view.opening]) not in summarised


def _mark(request: WireRequest, identity: Identity, workplace: Workplace) -> str:
    """The key of the sign by which a resumed conversation is known; '' where there is none."""
    at = first_answer(request.raw_messages, identity.harness)
    if at >= len(request.raw_messages) or not workplace.cwd:
        return ""
    answer = CODECS[request.dialect].message_digest(request.raw_messages[at]).hex()
    return conversation_id_of(f"resume\x1f{identity.harness}\x1f{workplace.cwd}", answer, opening_of(request, identity))
