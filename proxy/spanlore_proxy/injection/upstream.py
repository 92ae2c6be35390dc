"""What really goes upstream: consecutive whole bodies of a conversation, compared in the order that caches read them.

`invariant` checks a plan before it is carried out. This reads what was forwarded, after the request has left, and knows
nothing of plans, layouts or the ledger: both the client's body and the forwarded one are taken apart into canonical
parts (each tool, each block of the system prompt, each message; no `cache_control`, a text and its list of one block
are the same), each with a digest. As far as the client's own parts are those of the request before, the forwarded ones
must be, too; where they are not, the change is the proxy's. Where the client's differ first, it is the client's, and
whatever follows costs no cached prefix any more.

- The tail may change: a request that is sent again may get beside its newest, unanswered messages what the first
  attempt did not get.
- After the agent's own compaction (another `epoch`) a new prefix begins.
- A conversation whose key is derived may be two that take turns: only tools and system prompt are compared.
- Where the provider holds the history, what the request brings is appended to what was forwarded before; compared is
  the next request that brings its history along.

- A body that was kept over a restart (`load`) may not be the last that was forwarded: a retry right before a kill may
  have brought more. It binds up to the model's newest answer, and wherever something of ours stood.

Bounded: digests only, of so many parts in all. Values only; `capture.upstream_db` keeps them in SQLite.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from operator import eq
from typing import Any, Final, NamedTuple

import orjson

from spanlore.genai.inference import Dialect
from spanlore_proxy.conversation.chain import DIGEST_BYTES, common_prefix
from spanlore_proxy.conversation.digests import Digests

MAX_CONVERSATIONS: Final = 512
MAX_PARTS: Final = 40_000
"""Of all conversations together, 6 MB or so; those not used for longest are forgotten, and compared from their next
request on."""
MAX_SENT_BYTES: Final = 4 * 1024**2
"""Of forwarded bodies whose messages are remembered with their digests: as many as the recorder remembers parsed."""
_SYSTEM_ROLES: Final = frozenset({"system", "developer"})
_ANSWER_ROLES: Final = frozenset({"assistant", "model"})
_ANSWER_ITEMS: Final = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})


@dataclass(frozen=True, slots=True)
class Watched:
    """What the injector knows of a request whose upstream body is to be compared."""

    conversation: str
    """`facts.conversation_key`."""
    is_derived: bool
    epoch: str | None = None
    """Of `RequestFacts`; None when it was not read: then it is taken for the one before."""
    is_continued: bool = False
    """The provider holds the history."""


class Part(NamedTuple):
    """One piece of a prefix."""

    section: str
    """tools, system or messages."""
    digest: bytes
    is_answer: bool = False
    """The model said it."""


type Pair = tuple[Part | None, Part]
"""The client's part, None where the proxy added one of its own; and what was forwarded."""


@dataclass(frozen=True, slots=True)
class Body:
    """What is remembered of a conversation's last request."""

    pairs: tuple[Pair, ...]
    epoch: str
    is_restored: bool = False
    """It comes from the disk: a later one may have been forwarded and not kept."""

    @property
    def client(self) -> list[Part]:
        return [part for part, _ in self.pairs if part is not None]


@dataclass(frozen=True, slots=True)
class Changed:
    """A body that is to be kept in place of the conversation's last one."""

    body: Body
    same: int
    """So many of its pairs are those that are kept already."""


class UpstreamWatch:
    """The last body of each conversation. For one thread."""

    def __init__(
        self,
        max_conversations: int = MAX_CONVERSATIONS,
        max_parts: int = MAX_PARTS,
        load: Callable[[str], Body | None] = lambda conversation: None,
    ) -> None:
        """`load(conversation)` gives a body that was kept before this process, or before it was forgotten here."""
        self._last: OrderedDict[str, Body] = OrderedDict()
        self._load = load
        self._changed: dict[str, Changed] = {}
        self._digests = Digests()
        self._sent_digests = Digests(MAX_SENT_BYTES)
        self._max_conversations = max_conversations
        self._max_parts = max_parts
        self._parts = 0

    def check(
        self,
        watched: Watched,
        dialect: Dialect,
        client: Mapping[str, Any],
        forwarded: Mapping[str, Any],
        size_bytes: int = 0,
    ) -> str:
        """Which section of the prefix changed by the proxy's doing since the conversation's last body: tools, system or
        messages; '' when none did. `forwarded` is the very object `client` where nothing was inserted; `size_bytes` is
        the client's body's."""
        before = self._forget(watched.conversation) or self._load(watched.conversation)
        epoch = watched.epoch if watched.epoch is not None or before is None else before.epoch
        known = before.client if before is not None else []
        now = Body(tuple(self._pairs(dialect, client, forwarded, known, size_bytes)), epoch or "")
        if before is None or before.epoch != now.epoch:
            self._keep(watched.conversation, now, before)
            return ""
        if watched.is_continued:
            self._keep(watched.conversation, _appended(before, now), before)
            return ""
        self._keep(watched.conversation, now, before)
        return _change(before, now, only_system=watched.is_derived)

    def forget(self, conversation: str) -> None:
        """What came before is not remembered here any more."""
        self._forget(conversation)

    def take_changed(self) -> dict[str, Changed]:
        """By conversation, what is to be kept since this was asked last."""
        changed, self._changed = self._changed, {}
        return changed

    def not_kept(self, changed: Mapping[str, Changed]) -> None:
        """They could not be kept, whole or in part; they are given once more, from the first pair on."""
        for conversation, one in changed.items():
            self._changed[conversation] = Changed(self._changed.get(conversation, one).body, 0)

    def _pairs(
        self,
        dialect: Dialect,
        client: Mapping[str, Any],
        forwarded: Mapping[str, Any],
        known: Sequence[Part],
        size_bytes: int,
    ) -> Iterable[Pair]:
        pieces = pieces_of(dialect, client)
        chain = self._digests.chain(pieces.messages, _message_digest, size_bytes)
        parts = _parts(pieces, chain, known)
        if forwarded is client:
            return zip(parts, parts, strict=True)
        sent = pieces_of(dialect, forwarded)
        sent_chain = self._sent_digests.chain(sent.messages, _message_digest, size_bytes)
        return _aligned(pieces, parts, chain, sent, sent_chain)

    def _forget(self, conversation: str) -> Body | None:
        body = self._last.pop(conversation, None)
        self._parts -= len(body.pairs) if body is not None else 0
        return body

    def _keep(self, conversation: str, body: Body, before: Body | None) -> None:
        same = _shared(before.pairs, body.pairs) if before is not None else 0
        waiting = self._changed.get(conversation)
        self._changed[conversation] = Changed(body, same if waiting is None else min(same, waiting.same))
        self._last[conversation] = body
        self._parts += len(body.pairs)
        while len(self._last) > self._max_conversations or self._parts > self._max_parts:
            self._forget(next(iter(self._last)))


@dataclass(frozen=True, slots=True)
class Pieces:
    """A body taken apart, in prefix order."""

    head: list[tuple[str, Any]]
    """Tools and system prompt: (section, piece)."""
    messages: list[Any]
    leading: int
    """Messages at the beginning that are system messages."""


def pieces_of(dialect: Dialect, document: Mapping[str, Any]) -> Pieces:
    """A body's pieces, as they stand in it."""
    body: Mapping[str, Any] = document
    if dialect is Dialect.GEMINI and isinstance(document.get("request"), dict):
        body = document["request"]
    head = [("tools", tool) for key in ("tools", "functions") for tool in _items(body.get(key))]
    for key in ("system", "instructions", "systemInstruction", "system_instruction"):
        given = body.get(key)
        head += (
            ("system", block) for block in _blocks(given.get("parts", given) if isinstance(given, dict) else given)
        )
    messages: list[Any] = []
    for key in ("messages", "input", "contents"):
        given = body.get(key)
        messages += [{"role": "user", "content": given}] if isinstance(given, str) else _items(given)
    leading = takewhile(lambda one: isinstance(one, dict) and one.get("role") in _SYSTEM_ROLES, messages)
    return Pieces(head, messages, sum(1 for _ in leading))


def _parts(pieces: Pieces, chain: bytes, known: Sequence[Part]) -> list[Part]:
    """The client's parts. `chain`: its messages' digests. `known`: its last parts, of which those are taken that are
    the same still."""
    digests = [chain[at : at + DIGEST_BYTES] for at in range(0, len(chain), DIGEST_BYTES)]
    parts = [Part(section, digest_of(piece)) for section, piece in pieces.head]
    sections = ["system"] * pieces.leading + ["messages"] * (len(digests) - pieces.leading)
    old = known[len(parts) :]
    # Equal digests have equal roles: what was an answer is one.
    same = _shared([(part.section, part.digest) for part in old], list(zip(sections, digests, strict=True)))
    rest = zip(sections[same:], digests[same:], pieces.messages[same:], strict=True)
    return [*parts, *old[:same], *(Part(section, digest, _is_answer(message)) for section, digest, message in rest)]


def _aligned(given: Pieces, parts: Sequence[Part], chain: bytes, sent: Pieces, sent_chain: bytes) -> list[Pair]:
    """Insertions only add: what was forwarded is the client's, the client's with more in it, or ours alone. Messages
    are told by their digests (`chain`, `sent_chain`), most of which are known; of tools and system prompt equal objects
    need none."""
    pieces = [piece for _, piece in given.head]
    size = len(sent.head) + len(sent.messages)
    pairs: list[Pair] = []
    at = place = 0
    while place < size:
        own = parts[at] if at < len(parts) else None
        if place < len(sent.head):
            name, piece = sent.head[place]
            is_equal = own is not None and at < len(pieces) and piece == pieces[at]
            digest = own.digest if own is not None and is_equal else digest_of(piece)
        else:
            number = place - len(sent.head)
            if at >= len(pieces):  # mostly all the rest is the client's
                same = common_prefix(chain[(at - len(pieces)) * DIGEST_BYTES :], sent_chain[number * DIGEST_BYTES :])
                pairs += zip(parts[at : at + same], parts[at : at + same], strict=True)
                at, place = at + same, place + same
                if same:
                    continue
            name = "system" if number < sent.leading else "messages"
            digest = sent_chain[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]
        if own is not None and own.digest == digest:
            pairs.append((own, own))
        else:
            is_ours = own is None or size - place > len(parts) - at
            pairs.append((None if is_ours else own, Part(name, digest)))
            at -= is_ours
        at, place = at + 1, place + 1
    return pairs


def _appended(before: Body, now: Body) -> Body:
    """What the provider has after a request that went on from what it holds."""
    shared = _shared(before.client, now.client)
    start = _end_of(now.pairs, shared)
    end = len(before.pairs) if shared == len(before.client) else _end_of(before.pairs, shared)
    return Body((*before.pairs[:end], *now.pairs[start:]), now.epoch)


def _change(before: Body, now: Body, *, only_system: bool) -> str:
    end = _end_of_system(before, now) if only_system else _end_of_prefix(before, now)
    end = min(end, _binding(before)) if before.is_restored else end
    if before.pairs[:end] == now.pairs[:end]:
        return ""
    for place, (_, was) in enumerate(before.pairs[:end]):
        if place >= len(now.pairs) or now.pairs[place][1].digest != was.digest:
            return was.section
    return ""


def _binding(restored: Body) -> int:
    """How many of its pairs a request that was forwarded after it, and not kept, can't have added to."""
    answered = _end_of(restored.pairs, _answered(restored.client))
    ours = [place for place, (own, sent) in enumerate(restored.pairs) if own is None or own.digest != sent.digest]
    return max(answered, ours[-1] + 1 if ours else 0)


def _end_of_prefix(before: Body, now: Body) -> int:
    """How many of the pairs before have to be there again."""
    old, new = before.client, now.client
    shared = _shared(old, new)
    if shared == len(old) < len(new):
        return len(before.pairs)
    return _end_of(before.pairs, min(shared, _answered(old)) if len(new) <= len(old) else shared)


def _end_of_system(before: Body, now: Body) -> int:
    """The same of tools and system prompt alone; none of a shorter conversation, which may have begun anew."""
    old, new = before.client, now.client
    if len(new) < len(old):
        return 0
    held = [part for part in old if part.section != "messages"]
    if held != [part for part in new if part.section != "messages"]:
        return _end_of(before.pairs, _shared(held, new))
    return next((place for place, (_, was) in enumerate(before.pairs) if was.section == "messages"), len(before.pairs))


def _shared[One: (Part, Pair, tuple[str, bytes])](one: Sequence[One], other: Sequence[One]) -> int:
    """How many both begin with."""
    count = min(len(one), len(other))
    if one[:count] == other[:count]:  # nearly always, and of the same objects: told ten times sooner
        return count
    return sum(1 for _ in takewhile(bool, map(eq, one, other)))


def _end_of(pairs: Sequence[Pair], count: int) -> int:
    """Where the pair of the client's part number `count` (from 1) ends."""
    ends = (place + 1 for place, (part, _) in enumerate(pairs) if part is not None)
    return next(islice(ends, count - 1, None), len(pairs)) if count else 0


def _answered(parts: Sequence[Part]) -> int:
    """Parts up to the model's newest, it included."""
    return next((place + 1 for place in range(len(parts) - 1, -1, -1) if parts[place].is_answer), 0)


# --- canonical forms -------------------------------------------------------------------------------------------------


def _message_digest(message: Any) -> bytes:
    if not isinstance(message, dict):
        return digest_of(message)
    plain = _plain(message)
    return digest_of({**plain, "content": list(_blocks(plain["content"]))} if "content" in plain else plain)


def _blocks(content: Any) -> Iterator[Any]:
    """A content's blocks: a text is one, what kind of text it is called does not matter."""
    if isinstance(content, str):
        yield {"text": content}
        return
    for block in _items(content):
        if isinstance(block, dict) and block.get("type") in _TEXTS and "text" in block:
            yield {key: value for key, value in block.items() if key not in ("type", "cache_control")}
        else:
            yield _plain(block)


def _plain(value: Any) -> Any:
    if isinstance(value, dict) and "cache_control" in value:
        return {key: inner for key, inner in value.items() if key != "cache_control"}
    return value


def _is_answer(message: Any) -> bool:
    if not isinstance(message, dict):
        return False
    return message.get("role") in _ANSWER_ROLES or message.get("type") in _ANSWER_ITEMS


def _items(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def digest_of(value: Any) -> bytes:
    """Of a piece in its canonical form."""
    plain = _plain(value)
    try:
        data = orjson.dumps(plain)
    except TypeError:  # what orjson can't write (integers beyond 64 bits, half characters)
        data = repr(plain).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
