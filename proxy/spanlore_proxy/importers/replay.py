"""A transcript → the spans that the wire would have given: its answers are made exchanges again, one after the other,
and go the wire's own way from there (conversation, redaction, encoding). So ids, turns and outcomes are the same, and
what was captured and is imported is one.

What a file does not keep is not invented: system prompts, tool definitions, sizes. Results after the last answer were
part of no request, and give no span, as on the wire.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from spanlore.genai.inference import CallClass, Dialect, InferenceError, Usage
from spanlore.genai.messages import Generic, Message, Part, Reasoning, Role, Text, ToolCall
from spanlore.harness.printed import read_printed
from spanlore.redaction.values import Redact
from spanlore.semconv import gen_ai
from spanlore.signature.failure import signature_of
from spanlore.spans.encode import encode, encode_observation
from spanlore.spans.place import Channel, HumanMessage, Observation, Outcome, ToolExecution, Workplace
from spanlore.spans.price import price_of
from spanlore.spans.record import SpanRecord
from spanlore.transcripts.events import Answered, Compacted, Event, Queued, Result, Said, Stopped, Transcript
from spanlore.transcripts.verdict import verdict
from spanlore_proxy.capture.ignored import IgnoredFiles
from spanlore_proxy.capture.redacting import redact_inference, redact_observation
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.tracker import Observed, Tracker
from spanlore_proxy.wire.exchange import End, Exchange
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import STREAM_CUT, WireResponse

SOURCE: Final = "import"
NO_PERSON: Final = frozenset({"mini-swe-agent", "swe-agent"})
"""Agents whose trajectories begin with a task that a benchmark wrote."""
_NEVER_NS: Final = 2**62
_HOSTS: Final = {
    "anthropic": "api.anthropic.com",
    "openai": "api.openai.com",
    "gcp.gemini": "generativelanguage.googleapis.com",
}
_DIALECTS: Final = {
    "claude-code": (Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat"),
    "codex": (Dialect.OPENAI_RESPONSES, "openai", "chat"),
    "gemini-cli": (Dialect.GEMINI, "gcp.gemini", "generate_content"),
}
_SECOND_NS: Final = 10**9


@dataclass(slots=True)
class _Answer:
    """One answer of the model, and the request it answers."""

    id: str
    is_response_id: bool
    messages: list[dict[str, Any]]
    start_ns: int
    end_ns: int
    is_compacted: bool
    parts: list[Part] = field(default_factory=list)
    model: str = ""
    provider: str = ""
    usage: Usage = field(default_factory=Usage)
    stop_reason: str = ""
    is_cut: bool = False


def spans_of(
    transcript: Transcript,
    workplace: Workplace,
    redact: Redact,
    *,
    session_id: str,
    is_over: bool,
    start_ns: int = 0,
    agents: frozenset[str] | None = None,
    ignored: IgnoredFiles | None = None,
) -> Iterator[list[SpanRecord]]:
    """The spans of a transcript, an exchange at a time.

    Args:
        transcript: what the file tells.
        workplace: whose work it is.
        redact: takes out secrets before anything is encoded.
        session_id: where the file names no session.
        is_over: nothing more will come, so the last answer and the last turn are whole.
        start_ns: when the session began, for files without times.
        agents: whose spans to tell; None for all. The others are only followed.
        ignored: knows the files whose content is not kept, and is in `redact` too.
    """
    tracker = Tracker()
    known = {event.result.id: event for event in transcript.events if isinstance(event, Result)}
    told: set[str] = set()
    for agent in sorted({event.mark.agent for event in transcript.events}):
        identity = _identity(transcript, session_id, agent)
        events = [event for event in transcript.events if event.mark.agent == agent]
        answers = list(_answers(events, start_ns))
        is_told = agents is None or agent in agents
        for answer in answers if is_over or not is_told else answers[:-1]:
            observed = _observe(tracker, answer, identity, workplace)
            if is_told:
                told.add(observed.observation.place.conversation)
                yield _spans(observed, known, redact, ignored)
    if is_over:
        for observation in tracker.close_idle(_NEVER_NS, 0):
            if observation.place.conversation in told:
                yield encode_observation(redact_observation(observation, redact)[0])


def histories(transcript: Transcript) -> Iterator[list[dict[str, Any]]]:
    """The messages of each request of the main agent, in Anthropic's shape."""
    events = [event for event in transcript.events if not event.mark.agent]
    for answer in _answers(events, _SECOND_NS):
        yield answer.messages


def session_id_of(transcript: Transcript, data: bytes) -> str:
    """The session's own id; for trajectories, which have none, one made of what they say."""
    if transcript.session_id and transcript.harness not in NO_PERSON:
        return transcript.session_id
    mark = hashlib.blake2b(data, digest_size=8).hexdigest()
    return f"{transcript.session_id or transcript.harness}-{mark}"


def _identity(transcript: Transcript, session_id: str, agent: str) -> Identity:
    dialect, provider, operation = _DIALECTS.get(transcript.harness, (Dialect.OPENAI_CHAT, "", "chat"))
    return Identity(
        session_id=session_id,
        agent_key=agent,
        harness=transcript.harness,
        harness_version=transcript.version,
        call_class=CallClass.SUBAGENT if agent else CallClass.MAIN,
        dialect=dialect,
        provider=provider,
        operation=operation,
    )


def _answers(events: list[Event], start_ns: int) -> Iterator[_Answer]:
    """The answers of one agent, in order, each with all messages before it."""
    messages: list[dict[str, Any]] = []
    blocks: list[dict[str, Any]] = []
    answer: _Answer | None = None
    # A file with times has its own beginning.
    now_ns = 0 if any(event.mark.time_ns for event in events) else start_ns
    asked_ns, is_compacted = now_ns, False
    for event in events:
        now_ns = max(now_ns, event.mark.time_ns) if event.mark.time_ns else now_ns + _SECOND_NS
        if isinstance(event, Answered):
            if answer is None or answer.id != event.answer:
                if answer is not None:
                    yield answer
                    messages = [*messages, _echo(answer)]
                if blocks:
                    messages, blocks = [*messages, {"role": "user", "content": blocks}], []
                answer = _Answer(
                    event.answer, event.is_response_id, messages, min(asked_ns or now_ns, now_ns), now_ns, is_compacted
                )
                is_compacted = False
            _add(answer, event, now_ns)
            continue
        asked_ns = now_ns
        match event:
            case Compacted():
                if answer is not None:
                    yield answer
                answer, messages, is_compacted = None, [], True
                blocks = [{"type": "text", "text": event.summary}] if event.summary else []
            case Stopped() if answer is not None and not blocks:
                answer.is_cut = not any(isinstance(part, ToolCall) for part in answer.parts)
            case Stopped():
                pass
            case _:
                blocks += _blocks(event)
    if answer is not None:
        yield answer


def _add(answer: _Answer, event: Answered, now_ns: int) -> None:
    answer.parts.append(event.part)
    answer.end_ns = max(answer.end_ns, now_ns)
    answer.model = event.model or answer.model
    answer.provider = event.provider or answer.provider
    answer.stop_reason = event.stop_reason or answer.stop_reason
    if event.usage.input_tokens is not None or event.usage.output_tokens is not None:
        answer.usage = event.usage


def _blocks(event: Said | Queued | Result) -> list[dict[str, Any]]:
    if isinstance(event, Said):
        return [{"type": "text", "text": text} for text in event.blocks if text]
    if isinstance(event, Queued):
        return [{"type": "text", "text": f"The user sent the following message:\n{event.text}"}]
    block: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": event.result.id,
        "content": event.result.response,
    }
    return [block if event.result.is_error is None else block | {"is_error": event.result.is_error}]


def _echo(answer: _Answer) -> dict[str, Any]:
    return {"role": "assistant", "content": [block for part in answer.parts if (block := _block(part)) is not None]}


def _block(part: Part) -> dict[str, Any] | None:
    match part:
        case Text(content):
            return {"type": "text", "text": content}
        case ToolCall(id_, name, arguments):
            return {"type": "tool_use", "id": id_, "name": name, "input": arguments}
        case Reasoning(content, signature):
            return {"type": "thinking", "thinking": content, "signature": signature}
        case Generic(type_, payload):
            return payload if isinstance(payload, dict) else {"type": type_}
        case _:
            return None


def _observe(tracker: Tracker, answer: _Answer, identity: Identity, workplace: Workplace) -> Observed:
    has_calls = any(isinstance(part, ToolCall) for part in answer.parts)
    is_short = answer.stop_reason in ("max_tokens", "length")
    finish = gen_ai.FINISH_TOOL_CALL if has_calls else gen_ai.FINISH_LENGTH if is_short else gen_ai.FINISH_STOP
    response = WireResponse(
        output=(Message(Role.ASSISTANT, tuple(answer.parts), finish),),
        finish_reasons=(finish,),
        usage=answer.usage,
        response_id=answer.id if answer.is_response_id else None,
        response_model=answer.model or None,
        error=InferenceError(STREAM_CUT, "the person stopped it") if answer.is_cut else None,
        is_complete=not answer.is_cut,
        raw_output=_echo(answer),
        stop_reason=answer.stop_reason or None,
    )
    # Whatever the agent speaks, the replayed messages have Anthropic's shape.
    request = WireRequest(
        Dialect.ANTHROPIC_MESSAGES, {}, answer.model or None, is_streaming=False, raw_messages=answer.messages
    )
    identity = replace(identity, is_compacted=answer.is_compacted, provider=answer.provider or identity.provider)
    observed = tracker.observe(_exchange(answer, identity), request, response, identity, workplace)
    seed = observed.request_seed if answer.is_response_id else f"{identity.harness}:{answer.id}"
    return replace(observed, inference=replace(observed.inference, dialect=identity.dialect), request_seed=seed)


def _exchange(answer: _Answer, identity: Identity) -> Exchange:
    return Exchange(
        id=hashlib.blake2b(answer.id.encode("utf-8", "replace"), digest_size=8).hexdigest(),
        method="POST",
        scheme="https",
        host=_HOSTS.get(identity.provider, ""),
        port=443,
        path="",
        request_headers=(),
        response_headers=(),
        request_body=b"",
        response_body=b"",
        status_code=None,
        start_time_ns=answer.start_ns,
        first_chunk_time_ns=None,
        end_time_ns=answer.end_ns,
        end=End.CLIENT_GONE if answer.is_cut else End.COMPLETE,
    )


def _spans(
    observed: Observed, known: Mapping[str, Result], redact: Redact, ignored: IgnoredFiles | None
) -> list[SpanRecord]:
    harness = observed.observation.workplace.harness
    told = _told_better(observed.observation, known, harness)
    inference = observed.inference
    if ignored is not None:
        inference, told = ignored.masked(inference, told)
    inference, in_inference = redact_inference(inference, redact)
    observation, in_observation = redact_observation(told, redact)
    return encode(
        inference,
        observation,
        request_seed=observed.request_seed,
        price=price_of(inference),
        redactions=in_inference + in_observation,
    )


def _told_better(observation: Observation, known: Mapping[str, Result], harness: str) -> Observation:
    """The observation with what only the file tells: exit codes apart from the text, and refusals with their words."""
    tools = tuple(_judged_again(tool, known.get(tool.call.id), harness) for tool in observation.tools)
    reasons = [
        HumanMessage(Channel.REJECTION_REASON, event.refusal)
        for tool in observation.tools
        if (event := known.get(tool.call.id)) is not None and event.refusal
    ]
    human = () if harness in NO_PERSON else (*reasons, *observation.human)
    return replace(observation, tools=tools, human=human)


def _judged_again(tool: ToolExecution, event: Result | None, harness: str) -> ToolExecution:
    if event is None or (event.exit_code is None and event.refusal is None):
        return tool
    found = verdict(tool.call, event, harness)
    if found.outcome is not Outcome.FAILURE:
        return replace(
            tool, outcome=found.outcome, outcome_reason=found.reason, exit_code=found.exit_code, signature="",
            error_class="", error_line="",
        )  # fmt: skip
    output = read_printed(event.result.response, harness).output
    signature = signature_of(tool.call, output, found.exit_code)
    return replace(
        tool,
        outcome=found.outcome,
        outcome_reason=found.reason,
        exit_code=found.exit_code,
        signature=signature.hash,
        error_class=signature.error_class,
        error_line=signature.error_line,
    )
