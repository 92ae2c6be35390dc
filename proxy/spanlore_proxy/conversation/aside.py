"""Calls that belong to no conversation's chain: titles, token counts, probes, summaries, and what came too late.

A side call is a trace of its own, of one span. It carries the session's id, and nothing of it moves a conversation.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from spanlore.genai.inference import CallClass, Inference
from spanlore.spans.ids import conversation_id_of, trace_id_of
from spanlore.spans.place import Observation, Place
from spanlore_proxy.conversation.advance import place_of, settle
from spanlore_proxy.conversation.chain import Alignment, chain_hash, common_prefix
from spanlore_proxy.conversation.inference import Content, Seen, make_inference
from spanlore_proxy.conversation.state import ConversationState
from spanlore_proxy.conversation.view import View

MAX_REMEMBERED: Final = 4_096
"""Prompts and tool lists of side calls that are remembered, so that each is told once."""

type Told = tuple[Inference, Observation, str]


class Memory:
    """Side calls, and which of their prompts have been told already."""

    def __init__(self) -> None:
        self._told: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._failed: OrderedDict[tuple[str, str], int] = OrderedDict()

    def observe(self, seen: Seen, view: View | None, main: ConversationState | None, named: str = "") -> Told:
        """One side call. `main` is a conversation of the same session, whose messages need not be told again; of a
        call that names no session, the one that it is for; `named`: the session that its process named last."""
        identity = seen.identity
        session = identity.session_id or (main.session_id if main is not None else named)
        is_inferred = identity.session_id is None and (main.session_inferred if main is not None else not named)
        session = session or f"call:{identity.harness}:{seen.workplace.run_id}"
        conversation = conversation_id_of(session, identity.agent_key, f"call:{identity.call_class.value}")
        seed = seen.request_seed(chain_hash(view.chain) if view is not None else seen.body_mark())
        place = Place(
            session_id=session,
            session_inferred=is_inferred,
            conversation=conversation,
            trace_id=trace_id_of(conversation, seed),
            turn_span_id=b"",
            turn_index=0,
            step_index=0,
            parent_conversation=main.conversation if main is not None else "",
            call_class=identity.call_class,
            attempt=self._attempt(conversation, seen),
        )
        content = self._content(conversation, seen, view, main)
        return make_inference(seen, content), Observation(place, seen.workplace, injected=seen.injected), seed

    def _content(self, conversation: str, seen: Seen, view: View | None, main: ConversationState | None) -> Content:
        if view is None:
            return Content()
        first = common_prefix(main.chain + main.echo, view.chain) if main is not None else 0
        if seen.identity.call_class is CallClass.COUNT_TOKENS:
            return Content(new_from=len(view))  # the history once more, only to be counted
        system, system_hash = view.system(())
        tools, tools_hash = view.tools(())
        return Content(
            first,
            view.messages(first),
            () if self._knows(conversation, system_hash) else system,
            system_hash,
            () if self._knows(conversation, tools_hash) else tools,
            tools_hash,
        )

    def _knows(self, conversation: str, digest: str | None) -> bool:
        """Whether it was told before; from now on it was."""
        if digest is None:
            return False
        key = (conversation, digest)
        known = key in self._told
        self._told[key] = None
        self._told.move_to_end(key)
        if len(self._told) > MAX_REMEMBERED:
            self._told.popitem(last=False)
        return known

    def _attempt(self, conversation: str, seen: Seen) -> int:
        """More than 1 when the very same body has failed just before."""
        key = (conversation, seen.body_mark())
        attempt = self._failed.pop(key, 0) + 1
        if seen.has_failed():
            self._failed[key] = attempt
            if len(self._failed) > MAX_REMEMBERED:
                self._failed.popitem(last=False)
        return attempt


def compaction(
    state: ConversationState, alignment: Alignment, seen: Seen, view: View
) -> tuple[Told, ConversationState]:
    """A summariser's call inside the turn that is going on, and the state that knows which tools it answered."""
    turn = state.turn
    if turn is None:
        raise ValueError("a conversation without a turn has nothing to compact")
    tools, after = settle(state, seen, view, alignment.new_from)
    system, system_hash = view.system(state.system_hashes)
    definitions, tools_hash = view.tools(state.tools_hashes)
    first = min(alignment.new_from, len(view))
    content = Content(first, view.messages(first), system, system_hash, definitions, tools_hash)
    place = place_of(state, turn, state.step_index + state.has_output, CallClass.COMPACTION)
    observation = Observation(place, seen.workplace, tools=tools, injected=seen.injected)
    return (make_inference(seen, content), observation, seen.request_seed(chain_hash(view.chain))), after


def late_content(seen: Seen, view: View) -> tuple[Content, str]:
    """Content and seed of a request whose messages are all known."""
    return Content(new_from=len(view)), seen.request_seed(chain_hash(view.chain))
