"""What the policy has to know about one request, read from its raw form.

Only the newest user message is looked into for failures, and only messages before the first answer for what the client
itself says, so the cost does not grow with the history.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.signature.command import parse_command, shell_text
from spanlore.signature.failure import signature_of
from spanlore.spans.ids import conversation_id_of
from spanlore.spans.place import Outcome, Workplace
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.outcome import judge
from spanlore_proxy.injection.ledger import Entry
from spanlore_proxy.injection.wording import shown_ids
from spanlore_proxy.wire.anthropic.blocks import decode_block
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.request import WireRequest

BYPASS_HEADER: Final = "x-spanlore-bypass"
"""`1` on a request: it goes out untouched. Ours, so it is not forwarded."""

_SUMMARY_START: Final = re.compile(r"\s*(?:<[a-z-]+>\s*)?This session is being continued from a previous conversation")
"""How Claude Code's own summary begins after a compaction (research: wire §6)."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """Where a tool result stands now."""

    message_index: int
    message_digest: str
    """32 hex digits."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A failing tool result in the newest user message."""

    tool_use_id: str
    anchor: Anchor
    signature: str
    program: str
    error_class: str


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """One request, as far as injection cares."""

    conversation: str
    """16 hex digits, see `conversation_key`."""
    is_derived: bool
    """The client named no session; the key was made of its opening."""
    session_seed: str
    """What decides, with a memory's id, whether the memory is withheld: the session, else the conversation."""
    call_class: CallClass
    harness: str
    repository: str
    run_id: str
    is_attested: bool
    has_answer: bool
    """There is an assistant's message: the conversation is past its opening."""
    has_tools: bool
    epoch: str = ""
    """Names the summary that the agent's newest compaction left; '' when there was none, or nothing tells."""
    failures: tuple[Failure, ...] = ()
    anchors: Mapping[str, Anchor] = field(default_factory=dict)
    """tool_use id → where it stands, of the ids the ledger has hints for."""
    system_texts: tuple[str, ...] = ()
    opening_texts: tuple[str, ...] = ()
    """Texts of the messages before the first answer."""
    client_memory_ids: tuple[str, ...] = ()
    """Memories in a block of ours that the client itself sends (`--append-system-prompt`)."""


def conversation_key(request: WireRequest, identity: Identity, workplace: Workplace) -> str:
    """16 hex digits: the client's session and agent; where it names no session, the run (or directory) and opening.

    With the run in it, the same first prompt in two runs is two conversations; within one run it may be one, and then
    both get the same block.
    """
    if identity.session_id:
        return conversation_id_of(identity.session_id, identity.agent_key, "")
    digest = CODECS[request.dialect].message_digest
    opening = "".join(digest(message).hex() for message in request.raw_messages[: _first_answer(request.raw_messages)])
    return conversation_id_of(workplace.run_id or workplace.cwd, identity.agent_key, opening)


def read_facts(
    request: WireRequest,
    identity: Identity,
    workplace: Workplace,
    *,
    conversation: str,
    entry: Entry | None,
    programs: frozenset[str],
) -> RequestFacts:
    """The facts of a request.

    `conversation` is its `conversation_key`, `entry` what the ledger knows of it. Only failures of the `programs`
    are looked for ('' stands for any): finding a signature in a long output costs the most of all this, and nothing
    could answer the others anyway.
    """
    messages = request.raw_messages
    first_answer = _first_answer(messages)
    system = tuple(_texts(request.raw_system))
    return RequestFacts(
        conversation=conversation,
        is_derived=not identity.session_id,
        session_seed=identity.session_id or conversation,
        call_class=identity.call_class,
        harness=identity.harness or workplace.harness,
        repository=workplace.repository,
        run_id=workplace.run_id,
        is_attested=identity.is_attested,
        has_answer=first_answer < len(messages),
        has_tools=bool(request.raw_tools),
        epoch=_epoch(request, identity),
        failures=tuple(_failures(request, identity.harness, programs)) if programs else (),
        anchors=_anchors(request, {hint.anchor for hint in entry.hints}) if entry and entry.hints else {},
        system_texts=system,
        opening_texts=tuple(text for message in messages[:first_answer] for text in _texts(message.get("content"))),
        client_memory_ids=tuple(dict.fromkeys(id_ for text in system for id_ in shown_ids(text))),
    )


def is_bypassed(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the request asks to be left alone."""
    return any(
        name.lower() == BYPASS_HEADER and value.strip().lower() not in ("", "0", "false") for name, value in headers
    )


def _first_answer(messages: Sequence[Mapping[str, Any]]) -> int:
    """Index of the first assistant's message; the number of messages when there is none."""
    return next((i for i, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))


def _epoch(request: WireRequest, identity: Identity) -> str:
    """Names the summary by its text, which stays in every later request; else, where only the header tells, by the
    first message, which the header accompanies once."""
    for message in request.raw_messages[:1]:
        for text in _texts(message.get("content")):
            if _SUMMARY_START.match(text):
                return conversation_id_of("epoch", "", text)
        if identity.is_compacted:
            return CODECS[request.dialect].message_digest(message).hex()
    return ""


def _failures(request: WireRequest, harness: str, programs: frozenset[str]) -> Iterator[Failure]:
    """Failing results of the newest user message; none when something was already answered after it."""
    index = _newest_user_message(request.raw_messages)
    results = list(_results(request.raw_messages[index])) if index is not None else []
    if index is None or not results:
        return
    calls = _calls_before(request.raw_messages, index)
    anchor: Anchor | None = None
    for result in results:
        call = calls.get(result.id)
        if call is None or programs.isdisjoint(("", _program(call))):
            continue
        verdict = judge(call, result, harness)
        if verdict.outcome is not Outcome.FAILURE:
            continue
        signature = signature_of(call, result.response, verdict.exit_code)
        if anchor is None:
            anchor = Anchor(index, CODECS[request.dialect].message_digest(request.raw_messages[index]).hex())
        yield Failure(result.id, anchor, signature.hash, signature.program, signature.error_class)


def _newest_user_message(messages: Sequence[Mapping[str, Any]]) -> int | None:
    # Claude Code puts a message of role system behind the user's (research: wire §4).
    for index in range(len(messages) - 1, -1, -1):
        role = messages[index].get("role")
        if role == "user":
            return index if isinstance(messages[index].get("content"), list) else None
        if role != "system":
            return None
    return None


def _results(message: Mapping[str, Any]) -> Iterator[ToolResult]:
    for block in _blocks(message, "tool_result"):
        part = decode_block(block)
        if isinstance(part, ToolResult) and part.id:
            yield part


def _calls_before(messages: Sequence[Mapping[str, Any]], index: int) -> dict[str, ToolCall]:
    """Tool calls that the results at `index` may answer: those since the user message before."""
    calls: dict[str, ToolCall] = {}
    for message in reversed(messages[:index]):
        if message.get("role") == "user":
            break
        for block in _blocks(message, "tool_use"):
            part = decode_block(block)
            if isinstance(part, ToolCall):
                calls[part.id] = part
    return calls


def _program(call: ToolCall) -> str:
    """As the signature names it."""
    command = shell_text(call)
    return (parse_command(command).program if command else "") or call.name


def _anchors(request: WireRequest, wanted: set[str]) -> dict[str, Anchor]:
    digest = CODECS[request.dialect].message_digest
    found: dict[str, Anchor] = {}
    for index, message in enumerate(request.raw_messages):
        ids = [block.get("tool_use_id") for block in _blocks(message, "tool_result")] if wanted else []
        here = wanted.intersection(ids)
        if here:
            anchor = Anchor(index, digest(message).hex())
            found.update(dict.fromkeys(here, anchor))
            wanted = wanted - here
    return found


def _blocks(message: Mapping[str, Any], type_: str) -> Iterator[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and block.get("type") == type_:
                yield block


def _texts(content: Any) -> Iterator[str]:
    """Texts of a system prompt or of a message's content, a string or a list of blocks."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None
            if isinstance(text, str):
                yield text
