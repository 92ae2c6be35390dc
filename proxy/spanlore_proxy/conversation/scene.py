"""A request beside its conversation: what in it is new, which tools it answers, what a person said.

Nothing here decides what follows from that; `advance` does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial

from spanlore.genai.messages import ToolCall
from spanlore.harness.human import human_messages, scan
from spanlore.spans.ids import trace_id_of, turn_span_id
from spanlore.spans.place import HumanMessage, ToolExecution
from spanlore_proxy.conversation.chain import DIGEST_BYTES, Alignment, Fit, length
from spanlore_proxy.conversation.inference import Seen
from spanlore_proxy.conversation.late import command_behind
from spanlore_proxy.conversation.state import ConversationState
from spanlore_proxy.conversation.tools import Asked, asked, execution, left_over, results_from
from spanlore_proxy.conversation.turns import Start, turn_starts
from spanlore_proxy.conversation.view import View


@dataclass(frozen=True, slots=True)
class Meeting:
    """How a request meets its conversation."""

    alignment: Alignment
    is_birth: bool = False
    """The conversation is seen for the first time; what of its history is not new happened elsewhere."""
    is_compacted: bool = False
    """The client has just replaced the history by a summary."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A request beside its conversation, with what is new in it."""

    before: ConversationState
    meeting: Meeting
    seen: Seen
    view: View
    first: int
    """Index of the first new message."""
    fresh: tuple[int, ...]
    """Indices of all new messages."""
    starts: tuple[Start, ...] = ()
    """Where turns begin among them; in the whole history when it is seen for the first time."""


def make_scene(before: ConversationState, meeting: Meeting, seen: Seen, view: View) -> Scene:
    """The scene of a request."""
    first = _first_new(before, meeting, view)
    scene = Scene(before, meeting, seen, view, first, _fresh(before, meeting, view, first))
    return replace(scene, starts=_starts(scene))


def answered_tools(scene: Scene) -> tuple[ToolExecution, ...]:
    """The calls that this request answers, each once, and those that it passes over.

    Of a history that is seen for the first time only the newest answers are told: nobody knows when the others came.
    """
    before, meeting, view = scene.before, scene.meeting, scene.view
    pending = {waiting.id: waiting for waiting in before.pending}
    told = set(before.settled)
    end_ns, harness = scene.seen.exchange.start_time_ns, scene.seen.identity.harness
    out: list[ToolExecution] = []
    for index, result in results_from(view, _newest_from(scene)):
        if result.id in told or (meeting.is_compacted and result.id not in pending):
            continue
        told.add(result.id)
        asking, calls = view.tool_calls_before(index)
        if meeting.is_birth and before.parent_tool_span_id and asking < meeting.alignment.new_from:
            continue  # a sub-agent that begins with its parent's history: the calls in it are the parent's
        waiting = pending.get(result.id)
        call = calls.get(result.id) or ToolCall(result.id, waiting.name if waiting else "", None)
        where = asked(waiting) if waiting else _unseen(scene, asking, end_ns)
        behind = command_behind(view, index, call, harness)
        out.append(execution(call, result, where, end_ns, harness, behind))
    if not meeting.is_birth and meeting.alignment.fit is not Fit.REPEATS:
        out += left_over(view, pending, frozenset(told), end_ns)
    return tuple(out)


def typed_by_person(scene: Scene) -> tuple[HumanMessage, ...]:
    """What a person typed that is new."""
    view, call_class = scene.view, scene.before.call_class
    if scene.meeting.is_compacted:
        human = human_messages(view.at(scene.fresh), call_class, harness=view.harness)
    else:
        begin = _newest_from(scene)
        base = view.tool_calls_before(begin)[0] + 1
        is_stopped = _is_stopped(scene)
        typed = partial(human_messages, call_class=call_class, is_stopped=is_stopped, harness=view.harness)
        everything, earlier = typed(view.messages(base)), typed(view.at(range(base, begin)))
        human = everything[len(earlier) :]
    if scene.first < length(scene.before.chain):  # the last message was sent before, and has grown
        human = tuple(said for said in human if text_hash(said) not in scene.before.heard)
    return human


def turn_ids(state: ConversationState, view: View, begun: int, index: int) -> tuple[bytes, bytes]:
    """(trace id, span id) of the turn that message `begun` began: made of its number and of what the person typed.

    Nothing else of the messages counts: agents put reminders and files among them that their own session files do not
    keep, and an imported session must have the ids of the wire's.
    """
    seed = "\x1f".join((str(index), *scan(view.message(begun)).texts))
    return state.parent_trace_id or trace_id_of(state.conversation, seed), turn_span_id(state.conversation, seed)


def text_hash(said: HumanMessage) -> str:
    """16 hex digits of what a person typed."""
    return hashlib.blake2b(said.text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _first_new(before: ConversationState, meeting: Meeting, view: View) -> int:
    """Index of the first new message. The answer to the last request is not new, even where the client altered it."""
    first = meeting.alignment.new_from
    is_after_chain = meeting.alignment.fit is Fit.CONTINUES and first == length(before.chain)
    if is_after_chain and before.has_output and not meeting.is_birth and first < len(view) and view.is_assistant(first):
        return first + 1
    return first


def _fresh(before: ConversationState, meeting: Meeting, view: View, first: int) -> tuple[int, ...]:
    """Indices of the new messages; after a compaction those that were kept word for word are not new."""
    indices = range(first, len(view))
    if not meeting.is_compacted:
        return tuple(indices)
    known = {before.chain[i : i + DIGEST_BYTES] for i in range(0, len(before.chain), DIGEST_BYTES)} | {before.echo}
    return tuple(i for i in indices if view.chain[i * DIGEST_BYTES : (i + 1) * DIGEST_BYTES] not in known)


def _starts(scene: Scene) -> tuple[Start, ...]:
    view = scene.view
    if scene.meeting.is_birth:
        return turn_starts(view.messages(view.opening), view.opening, is_first=True)
    base, calls = view.tool_calls_before(scene.first)
    is_stopped = _is_stopped(scene)
    found = turn_starts(view.messages(base + 1), base + 1, has_stopped=not calls, is_stopped=is_stopped)
    new = frozenset(scene.fresh)
    return tuple(start for start in found if start.index in new)


def _is_stopped(scene: Scene) -> bool:
    """What went on is over, and something else is asked: the client went away before the last answer was whole, or
    this is another process than the one that was at work."""
    if scene.meeting.alignment.fit is Fit.REPEATS:
        return False
    runs = {scene.before.workplace.run_id, scene.seen.workplace.run_id}
    return scene.before.was_abandoned or (len(runs) > 1 and "" not in runs)


def _newest_from(scene: Scene) -> int:
    return max(scene.first, scene.view.after_last_answer()) if scene.meeting.is_birth else scene.first


def _unseen(scene: Scene, asking: int, time_ns: int) -> Asked:
    """Where a call was asked for whose asking nobody saw: the ids as ever, the time only that of its answer."""
    before, view = scene.before, scene.view
    step = view.answers_before(max(asking, 0))
    turns = [start for start in scene.starts if start.index <= asking]
    if scene.meeting.is_birth and turns:
        trace_id, span_id = turn_ids(before, view, turns[-1].index, len(turns) - 1)
        return Asked(time_ns, len(turns) - 1, step, trace_id, span_id)
    turn = before.turn
    if turn is None:
        return Asked(time_ns, 0, step, b"", b"")
    return Asked(time_ns, turn.turn_index, before.step_index, turn.trace_id, turn.span_id)
