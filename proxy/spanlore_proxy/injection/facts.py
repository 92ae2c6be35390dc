"""What the policy has to know about one request, read from its raw form.

Only the messages that nothing has answered yet are looked into for failures, and only those before the first answer
for what the client itself says, so the cost does not grow with the history. What a message holds, its dialect's layout
says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.harness.human import human_messages, scan
from spanlore.harness.outcome import judge
from spanlore.harness.preamble import opening_text, preamble
from spanlore.harness.printed import read_printed
from spanlore.signature.command import parse_command, shell_text, tool_program
from spanlore.signature.failure import Signature, signature_of
from spanlore.spans.ids import conversation_id_of
from spanlore.spans.place import Channel, Outcome, Workplace
from spanlore_proxy.conversation.agent import Identity, system_texts, texts_of
from spanlore_proxy.conversation.late import command_behind
from spanlore_proxy.conversation.view import View
from spanlore_proxy.injection.layouts.layout import Layout
from spanlore_proxy.injection.layouts.table import LAYOUTS
from spanlore_proxy.injection.ledger import PROMPT_KINDS, Entry, Placement
from spanlore_proxy.injection.wording import shown_ids
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
    """A failing tool result that nothing has answered yet."""

    tool_use_id: str
    """The call's id, in whatever dialect."""
    anchor: Anchor
    signature: str
    program: str
    error_class: str
    command: str = ""
    """Of a shell; of another tool its path."""
    error_line: str = ""
    """Normalised."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a person typed and nothing has answered yet."""

    text: str
    anchor: Anchor


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
    """`Placement.anchor` → where it stands, of the ledger's hints."""
    prompt: Prompt | None = None
    """The newest, of the main agent, where a hint has room behind it."""
    sub_path: str = ""
    """Working directory below the repository's root."""
    is_continued: bool = False
    """The provider holds the history: only what is new is on the wire, and what was placed before stands there."""
    system_texts: tuple[str, ...] = ()
    opening_texts: tuple[str, ...] = ()
    """Texts of the messages before the first answer."""
    settled: int = 0
    """Messages up to which the model has answered before; a rewind makes them the last ones again."""
    client_memory_ids: tuple[str, ...] = ()
    """Memories in a block of ours that the client itself sends (`--append-system-prompt`)."""


def conversation_key(request: WireRequest, identity: Identity, workplace: Workplace) -> str:
    """16 hex digits: the client's session and agent; where it names no session, the run (or directory) and opening.

    The opening is what a person said in it: reminders around it come and go (OpenClaw, Qwen Code). With the run in it,
    the same first prompt in two runs is two conversations; within one run it may be one, and then both get the same
    block.
    """
    if identity.session_id:
        return conversation_id_of(identity.session_id, identity.agent_key, "")
    return conversation_id_of(workplace.run_id or workplace.cwd, identity.agent_key, opening_of(request, identity))


def opening_of(request: WireRequest, identity: Identity) -> str:
    """What a person said before the first answer, else the summary there; without either, what stands there."""
    opening = opening_text(request.raw_messages, identity.harness)
    if opening is None:
        view = View(request, chain=b"")
        first = range(first_answer(request.raw_messages, identity.harness))
        found = [scan(view.message(index)) for index in first]
        said = [text for one in found for text in one.texts] or [one.summary for one in found if one.summary]
        digest = CODECS[request.dialect].message_digest
        opening = "\n".join(said) if said else "".join(digest(request.raw_messages[index]).hex() for index in first)
    return opening


def read_facts(
    request: WireRequest,
    identity: Identity,
    workplace: Workplace,
    *,
    conversation: str,
    entry: Entry | None,
    programs: frozenset[str],
    wants_prompt: bool = False,
    epoch: str = "",
) -> RequestFacts:
    """The facts of a request.

    `conversation` is its `conversation_key`, `entry` what the ledger knows of it. Only failures of the `programs`
    are looked for ('' stands for any): finding a signature in a long output costs the most of all this, and nothing
    could answer the others anyway. The prompt is looked for where it is wanted. `epoch` is what `lineage` found out.
    """
    messages = request.raw_messages
    layout = LAYOUTS[request.dialect]
    opening = first_answer(messages, identity.harness)
    system = system_texts(request)
    return RequestFacts(
        conversation=conversation,
        is_derived=not identity.session_id,
        session_seed=(entry.seed if entry else "") or identity.session_id or conversation,
        call_class=identity.call_class,
        harness=identity.harness or workplace.harness,
        repository=workplace.repository,
        run_id=workplace.run_id,
        is_attested=identity.is_attested,
        has_answer=opening < len(messages),
        has_tools=bool(request.raw_tools),
        epoch=_epoch(request, layout, identity) or epoch or (entry.epoch if entry and not identity.session_id else ""),
        failures=tuple(_failures(request, layout, identity.harness, programs)) if programs else (),
        anchors=_anchors(request, layout, entry.hints) if entry else {},
        prompt=_prompt(request, layout, identity) if wants_prompt else None,
        sub_path=workplace.sub_path,
        is_continued=layout.is_continued(request),
        system_texts=system,
        opening_texts=tuple(text for message in messages[:opening] for text in texts_of(message.get("content"))),
        client_memory_ids=tuple(dict.fromkeys(id_ for text in system for id_ in shown_ids(text))),
    )


def is_bypassed(headers: Iterable[tuple[str, str]]) -> bool:
    """Whether the request asks to be left alone."""
    return any(
        name.lower() == BYPASS_HEADER and value.strip().lower() not in ("", "0", "false") for name, value in headers
    )


def first_answer(messages: Sequence[Mapping[str, Any]], harness: str) -> int:
    """Index of the first assistant's message that the client did not make up; the number of messages when there is
    none."""
    start = preamble(messages, harness)
    found = (i for i in range(start, len(messages)) if messages[i].get("role") == "assistant")
    return next(found, len(messages))


def _epoch(request: WireRequest, layout: Layout, identity: Identity) -> str:
    """Names the summary by its text, which stays in every later request; else, where only the header tells, by the
    first message, which the header accompanies once."""
    for message in request.raw_messages[:1]:
        for text in texts_of(message.get("content")):
            if _SUMMARY_START.match(text):
                return conversation_id_of("epoch", "", text)
    named = layout.epoch(request)
    if named or not identity.is_compacted:
        return named
    return next((CODECS[request.dialect].message_digest(message).hex() for message in request.raw_messages[:1]), "")


def _failures(request: WireRequest, layout: Layout, harness: str, programs: frozenset[str]) -> Iterator[Failure]:
    """Failing results behind the model's newest message; none when the model's words are the last."""
    view = View(request, chain=b"")
    start = view.after_last_answer()
    for index in range(start, len(view)):
        # Decoding is for what may be answered only: what a person pastes can be large.
        with_room = set(layout.result_ids(request.raw_messages[index]))
        anchor: Anchor | None = None
        for result in view.message(index).parts if with_room else ():
            if not isinstance(result, ToolResult) or result.id not in with_room:
                continue
            failed = _failed(view, index, result, harness, programs)
            if failed is None:
                continue
            if anchor is None:
                anchor = Anchor(index, CODECS[request.dialect].message_digest(request.raw_messages[index]).hex())
            signature, command = failed
            yield Failure(
                result.id,
                anchor,
                signature.hash,
                signature.program,
                signature.error_class,
                command,
                signature.error_line,
            )


def _prompt(request: WireRequest, layout: Layout, identity: Identity) -> Prompt | None:
    """The newest words of a person behind the model's newest message."""
    view = View(request, chain=b"")
    for index in range(len(view) - 1, view.after_last_answer() - 1, -1):
        if not layout.takes_prompt_hint(request, index):
            continue
        said = human_messages([view.message(index)], identity.call_class, harness=identity.harness)
        text = "\n".join(one.text for one in said if one.channel is not Channel.REJECTION_REASON)
        if text.strip():
            digest = CODECS[request.dialect].message_digest(request.raw_messages[index]).hex()
            return Prompt(text, Anchor(index, digest))
    return None


def _failed(
    view: View, index: int, result: ToolResult, harness: str, programs: frozenset[str]
) -> tuple[Signature, str] | None:
    """(signature, as the tracker makes it; command) of a failure of one of the programs; None for everything else."""
    _, calls = view.tool_calls_before(view.after_last_answer())
    call = calls.get(result.id)
    if call is not None:
        call = command_behind(view, index, call, harness) or call
    if call is None or programs.isdisjoint(("", _program(call))):
        return None
    verdict = judge(call, result, harness)
    if verdict.outcome is not Outcome.FAILURE:
        return None
    signature = signature_of(call, read_printed(result.response, harness).output, verdict.exit_code)
    return signature, tool_program(call)[1]


def _program(call: ToolCall) -> str:
    """As the signature names it."""
    command = shell_text(call)
    return (parse_command(command).program if command else "") or call.name


def _anchors(request: WireRequest, layout: Layout, hints: Iterable[Placement]) -> dict[str, Anchor]:
    """Where the messages that have a hint stand now: mostly where they stood, else all messages are looked through.

    Some servers give the calls of every answer the same ids; of several results the one that is as it was counts.
    """
    messages = request.raw_messages
    digest = CODECS[request.dialect].message_digest
    found: dict[str, Anchor] = {}
    moved: dict[str, str] = {}
    for hint in hints:
        raw = messages[hint.message_index] if 0 <= hint.message_index < len(messages) else {}
        is_there = hint.kind in PROMPT_KINDS or hint.anchor in layout.result_ids(raw)
        if raw and is_there and digest(raw).hex() == hint.message_digest:
            found[hint.anchor] = Anchor(hint.message_index, hint.message_digest)
        else:
            moved[hint.anchor] = hint.message_digest
    prompts = {hint.anchor for hint in hints if hint.kind in PROMPT_KINDS} & moved.keys()
    for index, message in enumerate(messages if moved else ()):
        for id_ in moved.keys() & layout.result_ids(message):
            anchor = Anchor(index, digest(message).hex())
            if anchor.message_digest == moved[id_]:
                found[id_] = anchor
                del moved[id_]
            else:
                found.setdefault(id_, anchor)
        if prompts and message.get("role") == "user" and layout.takes_prompt_hint(request, index):
            stands = digest(message).hex()
            for hint_anchor in [anchor for anchor in prompts if moved[anchor] == stands]:
                found[hint_anchor] = Anchor(index, stands)
                prompts.discard(hint_anchor)
    return found
