"""The cache-safety invariant: nothing before the tail changes between upstream bodies unless the client did it.

Upstream bodies are compared in the order that providers' caches read them: tools, system prompt, messages. What is
forwarded is the client's body and insertions, nothing else (`rewrite`, whose tests undo every insertion), so two
consecutive upstream bodies differ before the tail for one of two reasons: the client changed its own part, or the
insertions there differ. The second is looked for, at the cost of a digest a placement, on every request:

- the block in the system prompt is another than before, is gone, or is new after the conversation's first request;
- a hint is gone or another, although the client sends its message as it was;
- a new hint stands in a message that the model has answered already.

A client that rewrites its own history (compaction, fewer messages) begins a new prefix; but after a rewind what the
model had answered before stands at the end again, and is cached as it was: nothing new is placed there (`injector`).
Whose key is derived from the opening may be two conversations taking turns: of those only the block is compared. What
was forwarded last is known here by itself, not by the ledger: a ledger that loses or changes a row is one of the faults
this is to find.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import orjson

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Injected
from spanlore_proxy.injection.facts import RequestFacts
from spanlore_proxy.injection.policy import Placed
from spanlore_proxy.injection.rewrite import SYSTEM
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.request import WireRequest

MAX_CONVERSATIONS: Final = 4096
"""The last ones that are compared; an older one that goes on is compared from its next request on."""


@dataclass(frozen=True, slots=True)
class _Stand:
    index: int
    """The message, or `SYSTEM`."""
    anchor: str
    text_digest: bytes
    message_digest: str


@dataclass(frozen=True, slots=True)
class _Forwarded:
    """What is remembered of a conversation's last request."""

    messages: int
    answered: int
    """Messages up to the model's newest, it included."""
    epoch: str
    stands: tuple[_Stand, ...]
    opening: bytes = b""
    """Digest of the first message, where hints stand: of clients without ids for calls it goes into those."""


class PrefixWatch:
    """The last request of each conversation. Not for several threads at once."""

    def __init__(self, max_conversations: int = MAX_CONVERSATIONS) -> None:
        self._last: OrderedDict[str, _Forwarded] = OrderedDict()
        self._max_conversations = max_conversations

    def check(self, request: WireRequest, facts: RequestFacts, placed: Sequence[Placed]) -> str:
        """What in the prefix would change by our doing if the request were forwarded so: system, dropped or late; ''
        when nothing would. To be asked before each request that may carry insertions; it is remembered then."""
        has_own_prefix = facts.call_class is CallClass.COMPACTION and not facts.has_tools
        if facts.is_continued or has_own_prefix:
            return ""
        stands = tuple(_stand(item) for item in placed)
        opening = _opening(request, stands)
        now = _Forwarded(len(request.raw_messages), answered(request), facts.epoch, stands, opening)
        before = self._last.get(facts.conversation)
        self._keep(facts.conversation, now)
        if before is None or before.epoch != now.epoch or now.messages < before.messages:
            return ""
        return _change(request, before, now, placed, only_system=facts.is_derived)

    def _keep(self, conversation: str, forwarded: _Forwarded) -> None:
        self._last[conversation] = forwarded
        self._last.move_to_end(conversation)
        while len(self._last) > self._max_conversations:
            self._last.popitem(last=False)


def noted_alarm(injected: Injected) -> Injected:
    """The same with the alarm among its placements: so the request's lost cache reads are found later."""
    placements = orjson.loads(injected.placements_json) if injected.placements_json else []
    note = {"kind": "alarm", "state": "skipped", "memory_ids": [], "reason": "prefix_changed", "first": False}
    return replace(injected, placements_json=orjson.dumps([*placements, note]).decode())


def answered(request: WireRequest) -> int:
    """Messages up to the model's newest, it included."""
    messages = request.raw_messages
    return next((i + 1 for i in range(len(messages) - 1, -1, -1) if messages[i].get("role") == "assistant"), 0)


def _change(
    request: WireRequest, before: _Forwarded, now: _Forwarded, placed: Sequence[Placed], *, only_system: bool
) -> str:
    if _system(before) != _system(now):
        return "system"
    if only_system:
        return ""
    standing = {(stand.anchor, stand.text_digest) for stand in now.stands}
    digest = CODECS[request.dialect].message_digest
    is_reopened = before.opening != _opening(request, before.stands)
    for stand in before.stands:
        if stand.index == SYSTEM or is_reopened:
            continue
        is_gone = (stand.anchor, stand.text_digest) not in standing
        if is_gone and digest(request.raw_messages[stand.index]).hex() == stand.message_digest:
            return "dropped"
    # A request that is sent again may get at its end what the first attempt did not.
    tail = before.answered if now.messages == before.messages else before.messages
    known = {stand.anchor for stand in before.stands}
    is_late = any(item.is_new and SYSTEM < item.index < tail and item.placement.anchor not in known for item in placed)
    return "late" if is_late else ""


def _opening(request: WireRequest, stands: Sequence[_Stand]) -> bytes:
    has_hints = any(stand.index != SYSTEM for stand in stands)
    return CODECS[request.dialect].message_digest(request.raw_messages[0]) if has_hints else b""


def _stand(item: Placed) -> _Stand:
    placement = item.placement
    text = hashlib.blake2b(placement.text.encode("utf-8", "replace"), digest_size=16).digest()
    return _Stand(item.index, placement.anchor, text, placement.message_digest)


def _system(forwarded: _Forwarded) -> tuple[bytes, ...]:
    return tuple(stand.text_digest for stand in forwarded.stands if stand.index == SYSTEM)
