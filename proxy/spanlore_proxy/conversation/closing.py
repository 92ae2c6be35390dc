"""Turns that nobody ends: how long they wait for what may still happen, and what is told when nothing will.

A turn that was closed too early has counts that are too low until it is told again (`OpenTurn.revision`), which costs
the store a rewriting. Silence alone proves little: a build runs for twenty minutes, a permission prompt stands over
lunch. While the agent's process lives, the turn waits; once it has ended, nothing more will come, and the calls it left
open are told, too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from spanlore.genai.messages import ToolCall, canonical_json
from spanlore.spans.place import HumanMessage, Observation, ToolExecution
from spanlore_proxy.conversation.advance import ENDED, finished, has_words, place_of, told, with_tools
from spanlore_proxy.conversation.state import ConversationState, OpenTurn
from spanlore_proxy.conversation.tools import asked, unanswered

ALIVE_NS: Final = 24 * 3600 * 10**9
"""An agent that lives, but was left alone in the middle of a turn."""
WORKING_NS: Final = 3600 * 10**9
"""A tool that nobody has answered for, of an agent whose process is not known."""
GONE_NS: Final = 5 * 10**9
"""After the agent's end: what it left in the background may still be on its way."""
MAX_CONVERSATIONS: Final = 256
MAX_ARGUMENTS: Final = 16 * 1024
"""Characters of a call's arguments that are kept for the day it is left open."""


def patience_ns(idle_ns: int, *, is_alive: bool | None, is_working: bool) -> int:
    """Nanoseconds of silence after which an open turn is over.

    Args:
        idle_ns: the user's setting, `mining.idle_s`.
        is_alive: whether the agent's process lives; None where nobody knows.
        is_working: the model has asked for a tool and waits for the answer.
    """
    if is_alive is None:
        return max(idle_ns, WORKING_NS) if is_working else idle_ns
    return max(idle_ns, ALIVE_NS) if is_alive else min(idle_ns, GONE_NS)


class OpenCalls:
    """The calls that each conversation waits for. Only here, never in a state, which may lie on disk unredacted."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, tuple[ToolCall, ...]] = OrderedDict()

    def keep(self, conversation: str, calls: Iterable[ToolCall]) -> None:
        """These are open now, and no others."""
        self._calls.pop(conversation, None)
        if kept := tuple(map(_shortened, calls)):
            self._calls[conversation] = kept
            if len(self._calls) > MAX_CONVERSATIONS:
                self._calls.popitem(last=False)

    def take(self, conversation: str) -> dict[str, ToolCall]:
        """What is known of a conversation's, by id; forgotten here."""
        return {call.id: call for call in self._calls.pop(conversation, ())}


def closed(
    state: ConversationState,
    turn: OpenTurn,
    said: tuple[HumanMessage, ...],
    calls: dict[str, ToolCall],
    *,
    is_gone: bool,
) -> tuple[Observation, ConversationState]:
    """What is told of a turn that nobody ends, and the state after it. Of an agent that is gone, its open calls too:
    of another their answers may still come."""
    tools = tuple(_left_open(state, calls)) if is_gone else ()
    turn = with_tools(turn, tools)
    # One that had come to its end, and got a late result since, has that end.
    end = turn.end if turn.end in ENDED else "idle"
    turns = (finished(turn, said, end),) if has_words(turn, said) else ()
    place = place_of(state, turn, state.step_index, state.call_class)
    observation = Observation(place, state.workplace, tools=tools, turns=turns)
    pending = () if is_gone else state.pending
    return observation, replace(state, turn=told(turn, said, end), pending=pending)


def _left_open(state: ConversationState, calls: dict[str, ToolCall]) -> Iterable[ToolExecution]:
    for waiting in state.pending:
        call = calls.get(waiting.id) or ToolCall(waiting.id, waiting.name, None)
        yield unanswered(call, asked(waiting), waiting.start_time_ns)


def _shortened(call: ToolCall) -> ToolCall:
    return call if len(canonical_json(call.arguments)) <= MAX_ARGUMENTS else replace(call, arguments=None)
