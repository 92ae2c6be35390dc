"""One exchange moves one conversation on: pure, from the state before to the state after and what is to be told.

The order matters: tools that this request answered still belong to the turn that asked for them; then a turn may be
over because a person went on; then comes the inference itself; then its answer may end the turn.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.inference import CallClass
from spanlore.harness.human import human_messages
from spanlore.semconv import gen_ai
from spanlore.spans.place import HumanMessage, Observation, Outcome, Place, ToolExecution, Turn
from spanlore_proxy.conversation.chain import Alignment, Fit, chain_hash
from spanlore_proxy.conversation.inference import Content, Seen
from spanlore_proxy.conversation.launches import MAX_LAUNCHES, launches_in, with_agent_id
from spanlore_proxy.conversation.scene import (
    Meeting,
    Scene,
    answered_tools,
    make_scene,
    text_hash,
    turn_ids,
    typed_by_person,
)
from spanlore_proxy.conversation.state import ConversationState, OpenTurn, PendingTool
from spanlore_proxy.conversation.tools import results_from
from spanlore_proxy.conversation.turns import turn_starts
from spanlore_proxy.conversation.view import View

ENDED: Final = frozenset({"completed", "interrupted"})
"""How turns end that come to an end; the others were left."""
MAX_HASHES: Final = 16
"""System prompts and tool lists remembered for one conversation."""


@dataclass(frozen=True, slots=True)
class Advance:
    """What one exchange did to its conversation."""

    state: ConversationState
    observation: Observation
    content: Content
    request_seed: str
    said: tuple[HumanMessage, ...]
    """What people have typed in the newest turn so far."""


def advance(
    before: ConversationState, meeting: Meeting, seen: Seen, view: View, said: tuple[HumanMessage, ...] | None
) -> Advance:
    """Moves the conversation on. `said`: what people have typed in the turn that was open before; None when nobody
    remembers it, which is the first time after a restart."""
    scene = make_scene(before, meeting, seen, view)
    tools = answered_tools(scene)
    human = typed_by_person(scene)
    left = with_tools(before.turn, tools)
    turn = _turn(scene, left)
    is_new_turn = left is None or turn.span_id != left.span_id
    if said is None or (left is not None and left.revision and not said):
        said = _said_before(scene) if left is not None else ()
    over: list[Turn] = []
    if left is not None and is_new_turn and not left.is_emitted and has_words(left, said):
        over.append(finished(left, said, _how_left(scene)))
    said = _said_in_turn(scene, human) if is_new_turn else said + human
    turn = going_on(turn, seen.exchange.end_time_ns)
    if _ends_turn(seen) and has_words(turn, said):
        over.append(finished(turn, said, "completed"))
        turn = told(turn, said, "completed")
    step, attempt = _step_and_attempt(scene)
    system, system_hash = view.system(before.system_hashes)
    definitions, tools_hash = view.tools(before.tools_hashes)
    after = replace(
        _after(scene, turn, tools),
        step_index=step,
        attempt=attempt,
        system_hashes=_remember(before.system_hashes, system_hash),
        tools_hashes=_remember(before.tools_hashes, tools_hash),
    )
    place = place_of(before, turn, step, seen.identity.call_class, attempt, meeting.is_compacted)
    return Advance(
        state=after,
        observation=Observation(place, seen.workplace, human, tools, tuple(over), seen.injected),
        content=Content(scene.first, view.at(scene.fresh), system, system_hash, definitions, tools_hash),
        request_seed=seen.request_seed(chain_hash(view.chain)),
        said=said,
    )


def place_of(
    state: ConversationState,
    turn: OpenTurn,
    step: int,
    call_class: CallClass,
    attempt: int = 1,
    is_compacted: bool = False,
) -> Place:
    """The place of something in that turn of a conversation."""
    return Place(
        session_id=state.session_id,
        session_inferred=state.session_inferred,
        conversation=state.conversation,
        trace_id=turn.trace_id,
        turn_span_id=turn.span_id,
        turn_index=turn.turn_index,
        step_index=step,
        parent_conversation=state.parent_conversation,
        call_class=state.call_class if call_class is CallClass.MAIN else call_class,
        attempt=attempt,
        is_compacted=is_compacted,
        parent_tool_span_id=state.parent_tool_span_id,
        parent_trace_id=state.parent_trace_id,
    )


def going_on(turn: OpenTurn, end_time_ns: int) -> OpenTurn:
    """The turn with one more request to the model in it, over at that time. If its span is out, it is to be told
    again."""
    return replace(
        turn,
        inferences=turn.inferences + 1,
        end_time_ns=max(turn.end_time_ns, end_time_ns),
        is_emitted=False,
        end="",
    )


def told(turn: OpenTurn, said: tuple[HumanMessage, ...], end: str) -> OpenTurn:
    """The turn whose span has gone out as `finished` made it."""
    return replace(turn, is_emitted=True, end=end, revision=turn.revision + 1, said=len(said))


def has_words(turn: OpenTurn, said: tuple[HumanMessage, ...]) -> bool:
    """Whether the words of a turn are known, as far as its span has told them: after a restart they are only had from a
    request that has them, and a span without them would take the place of a better one."""
    return len(said) >= turn.said


def finished(turn: OpenTurn, said: tuple[HumanMessage, ...], end: str) -> Turn:
    """The turn as its span tells it."""
    return Turn(
        trace_id=turn.trace_id,
        span_id=turn.span_id,
        turn_index=turn.turn_index,
        start_time_ns=turn.start_time_ns,
        end_time_ns=turn.end_time_ns,
        human=said,
        inferences=turn.inferences,
        tool_calls=turn.tool_calls,
        failures=turn.failures,
        end=end,
        revision=turn.revision,
    )


def with_tools[Turned: (OpenTurn, OpenTurn | None)](turn: Turned, tools: tuple[ToolExecution, ...]) -> Turned:
    """The turn with its tools counted and covered in time; if its span is out, it is to be told again."""
    mine = [tool for tool in tools if turn is not None and tool.turn_span_id == turn.span_id]
    if turn is None or not mine:
        return turn
    return replace(
        turn,
        tool_calls=turn.tool_calls + len(mine),
        failures=turn.failures + sum(tool.outcome is Outcome.FAILURE for tool in mine),
        end_time_ns=max(turn.end_time_ns, *(tool.end_time_ns for tool in mine)),
        is_emitted=False,
    )


def settle(
    before: ConversationState, seen: Seen, view: View, first: int
) -> tuple[tuple[ToolExecution, ...], ConversationState]:
    """The tools that a request outside the chain (a summariser's) answers from message `first` on, and the state that
    knows it."""
    fresh = tuple(range(first, len(view)))
    tools = answered_tools(Scene(before, Meeting(Alignment(Fit.CONTINUES, first)), seen, view, first, fresh))
    done = {tool.call.id for tool in tools}
    return tools, replace(
        before,
        turn=with_tools(before.turn, tools),
        pending=tuple(waiting for waiting in before.pending if waiting.id not in done),
        settled=(*before.settled, *sorted(done)),
    )


def _turn(scene: Scene, left: OpenTurn | None) -> OpenTurn:
    """The turn that this inference belongs to; `left` is the one before."""
    starts = scene.starts
    if not starts and left is not None:
        return left
    # A conversation that is seen for the first time has all its turns in `starts`, another only those that are new.
    index = max(len(starts) - 1, 0) if left is None else left.turn_index + len(starts)
    begun = starts[-1].index if starts else len(scene.view) - 1
    trace_id, span_id = turn_ids(scene.before, scene.view, begun, index)
    start_ns = scene.seen.exchange.start_time_ns
    return OpenTurn(trace_id, span_id, index, start_ns, start_ns)


def _said_in_turn(scene: Scene, human: tuple[HumanMessage, ...]) -> tuple[HumanMessage, ...]:
    """What people said in a turn that is new to us, though it may have begun before we came."""
    if not scene.meeting.is_birth or not scene.starts:
        return human
    messages = scene.view.messages(scene.starts[-1].index)
    return human_messages(messages, scene.before.call_class, harness=scene.view.harness)


def _said_before(scene: Scene) -> tuple[HumanMessage, ...]:
    """What people typed in the turn that was open, up to what is new, as the history still says it."""
    view, call_class = scene.view, scene.before.call_class
    if scene.meeting.is_birth or scene.meeting.is_compacted:
        return ()
    starts = turn_starts(view.at(range(view.opening, scene.first)), view.opening, is_first=True)
    messages = view.at(range(starts[-1].index, scene.first)) if starts else ()
    return human_messages(messages, call_class, harness=view.harness)


def _how_left(scene: Scene) -> str:
    """How a turn ended that a person went on from. One that had come to its end keeps that: a tool's late result is no
    more than counted."""
    left = scene.before.turn
    if left is not None and left.end in ENDED:
        return left.end
    is_stopped = bool(scene.starts) and scene.starts[-1].is_interruption
    return "interrupted" if is_stopped or scene.before.was_abandoned else "superseded"


def _ends_turn(seen: Seen) -> bool:
    """The model has stopped asking for tools, of its own will."""
    if seen.has_failed() or not seen.response.output or seen.tool_calls():
        return False
    return gen_ai.FINISH_LENGTH not in seen.response.finish_reasons and seen.response.stop_reason != "pause_turn"


def _step_and_attempt(scene: Scene) -> tuple[int, int]:
    """A retry stands where the failed call stood; what follows an answer is the next step."""
    before, meeting = scene.before, scene.meeting
    if meeting.is_birth:
        return scene.view.answers_before(len(scene.view)), 1
    if meeting.alignment.fit is Fit.REPEATS and (before.has_failed or before.body_mark == scene.seen.body_mark()):
        return before.step_index, before.attempt + 1
    return before.step_index + before.has_output, 1


def _after(scene: Scene, turn: OpenTurn, tools: tuple[ToolExecution, ...]) -> ConversationState:
    """The state after the exchange, but for step and hashes."""
    before, seen, view = scene.before, scene.seen, scene.view
    calls, last, exchange = seen.tool_calls(), view.after_last_answer(), seen.exchange
    step = _step_and_attempt(scene)[0]
    results = {tool.result.id: tool.result for tool in tools if tool.result is not None}
    told = (
        with_agent_id(one, results[one.tool_call_id]) if one.tool_call_id in results else one for one in before.launches
    )
    return replace(
        before,
        chain=view.chain,
        echo=view.echo_of(seen.response.raw_output) if seen.has_output() else b"",
        answered=last,
        turn=turn,
        pending=tuple(
            PendingTool(call.id, call.name, exchange.end_time_ns, turn.turn_index, step, turn.trace_id, turn.span_id)
            for call in calls
        ),
        settled=tuple(result.id for _, result in results_from(view, last)),
        heard=tuple(map(text_hash, human_messages(view.messages(last), before.call_class, harness=view.harness))),
        launches=(*told, *launches_in(calls, turn.trace_id))[-MAX_LAUNCHES:],
        body_mark=seen.body_mark(),
        has_failed=seen.has_failed(),
        was_abandoned=seen.was_abandoned(),
        has_output=seen.has_output(),
        last_start_time_ns=exchange.start_time_ns,
        last_end_time_ns=exchange.end_time_ns,
        last_response_id=seen.response.response_id or "",
        workplace=seen.workplace,
    )


def _remember(known: tuple[str, ...], digest: str | None) -> tuple[str, ...]:
    return known if digest is None or digest in known else (*known, digest)[-MAX_HASHES:]
