"""The tracker: every exchange that is over → its place among all others.

A request is compared with the conversations of its group: those of the same session and agent, or, where the client
names no session, those of the same program and run that began with the same message. What fits continues; a new branch
from an earlier message is a conversation of its own, with a pointer to where it came from; a history replaced by a
summary stays the same conversation. Calls on the side (titles, token counts, probes) never touch a main conversation.

Not thread-safe; used by one thread. Memory is bounded: the conversations not used for longest are forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from spanlore.genai.inference import CallClass, Inference
from spanlore.spans.place import HumanMessage, Injected, Observation, Workplace
from spanlore_proxy.conversation import aside
from spanlore_proxy.conversation.advance import Advance, advance, place_of
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.conversation.chain import Fit
from spanlore_proxy.conversation.closing import OpenCalls, closed, patience_ns
from spanlore_proxy.conversation.digests import Digests
from spanlore_proxy.conversation.inference import Seen, make_inference
from spanlore_proxy.conversation.meeting import Found, best_fit, find, group_of, of_run, resumed_from
from spanlore_proxy.conversation.scene import Meeting
from spanlore_proxy.conversation.state import ConversationState, state_from_json, state_to_json
from spanlore_proxy.conversation.view import View
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.exchange import Exchange
from spanlore_proxy.wire.request import WireRequest
from spanlore_proxy.wire.response import WireResponse

__all__ = ["MAX_CONVERSATIONS", "ConversationState", "Observed", "Tracker", "state_from_json", "state_to_json"]

MAX_CONVERSATIONS: Final = 2_000
MAX_PROCESSES: Final = 256
"""Of those that asked for a summary, and of those that named a session."""
MAX_SAID_CHARS: Final = 4_096
"""Of what people typed in a turn whose span is out, kept in case it goes on; more is read from its history."""
_ASIDE: Final = frozenset({CallClass.TITLE, CallClass.COUNT_TOKENS, CallClass.PROBE, CallClass.SIDE})


@dataclass(frozen=True, slots=True)
class Observed:
    """What one exchange added."""

    inference: Inference
    observation: Observation
    request_seed: str
    """For `spans.encode`."""
    changed: tuple[ConversationState, ...] = ()
    """States to be kept on disk, so that a restarted tracker goes on from here."""


class Tracker:
    """All conversations that are going on."""

    def __init__(self, max_conversations: int = MAX_CONVERSATIONS) -> None:
        self._max = max_conversations
        self._states: OrderedDict[str, ConversationState] = OrderedDict()
        self._groups: dict[str, list[str]] = {}
        self._sessions: dict[str, list[str]] = {}
        self._said: dict[str, tuple[HumanMessage, ...]] = {}
        """What people typed in each newest turn: only here, never in a state, which may lie on disk unredacted."""
        self._unremembered: set[str] = set()
        """Conversations of an earlier tracker that nothing was heard of since: what was typed in their newest turn
        stands in their histories only."""
        self._summarised: dict[str, str] = {}
        """By process, of clients that name no session: the conversation that it asked a summary of last."""
        self._named: dict[str, str] = {}
        """By process: the session that it named last. What it asks without a name belongs there, too."""
        self._calls = OpenCalls()
        self._changed: dict[str, ConversationState] = {}
        self._asides = aside.Memory()
        self._digests = Digests()

    def __len__(self) -> int:
        return len(self._states)

    def restore(self, states: Iterable[ConversationState]) -> None:
        """Takes over what an earlier tracker knew; the states used last should come last."""
        for state in states:
            self._keep(state)
            self._unremembered.add(state.conversation)
        self._unremembered &= self._states.keys()
        self._changed.clear()

    def state(self, conversation: str) -> ConversationState | None:
        """What is known of a conversation."""
        return self._states.get(conversation)

    def observe(
        self,
        exchange: Exchange,
        request: WireRequest | None,
        response: WireResponse,
        identity: Identity,
        workplace: Workplace,
        injected: Injected | None = None,
    ) -> Observed:
        """Takes one exchange that is over. Each must come once; the order of concurrent ones does not matter.

        `request` is None when the body could not be parsed: such a call stands for itself.
        """
        workplace = _with_agent(workplace, identity)
        seen = Seen(exchange, request, response, identity, workplace, injected or Injected())
        if identity.session_id and workplace.run_id:
            _put_last(self._named, _process(seen), identity.session_id)
        codec = CODECS.get(request.dialect) if request is not None else None
        if request is None or codec is None or not request.raw_messages:
            return self._aside(seen, None)
        chain = self._digests.chain(request.raw_messages, codec.message_digest, len(exchange.request_body))
        view = View(request, chain, harness=identity.harness)
        if identity.call_class in _ASIDE:
            return self._aside(seen, view)
        if identity.call_class is CallClass.COMPACTION:
            return self._compaction(seen, view)
        group = self._group(group_of(seen, view))
        if not group and (main := self._main_beside(seen)) is not None:
            return self._aside(replace(seen, identity=replace(identity, call_class=CallClass.SIDE)), view, main)
        found = find(seen, view, group, self._of_session, self._states.values, self._summarised_by(seen))
        if found.is_late:
            return self._late(found.state, seen, view)
        return self._advance(found, seen, view)

    def close_idle(
        self, now_ns: int, idle_ns: int, is_alive: Callable[[str], bool | None] = lambda run_id: None
    ) -> list[Observation]:
        """Turns in which nothing will happen any more; each is told once. Their states come with the next
        `Observed.changed`, or from `take_changed`. `is_alive(run_id)`: whether that run's agent lives, None where
        nobody knows; `idle_ns` is how long nothing must have happened where that does not tell (`closing`)."""
        out: list[Observation] = []
        alive: dict[str, bool | None] = {}
        for state in list(self._states.values()):
            turn = state.turn
            if turn is None or turn.is_emitted:
                continue
            run_id = state.workplace.run_id
            if run_id not in alive:
                alive[run_id] = is_alive(run_id) if run_id else None
            patience = patience_ns(idle_ns, is_alive=alive[run_id], is_working=bool(state.pending))
            if now_ns - max(turn.end_time_ns, state.last_end_time_ns) < patience:
                continue
            said, calls = self._said.get(state.conversation, ()), self._calls.take(state.conversation)
            told, after = closed(state, turn, said, calls, is_gone=alive[run_id] is False)
            if told.turns or told.tools:
                out.append(told)
            self._put(after)
        return out

    def take_changed(self) -> tuple[ConversationState, ...]:
        """States that changed since they were last handed out."""
        changed = tuple(self._changed.values())
        self._changed.clear()
        return changed

    def _advance(self, found: Found, seen: Seen, view: View) -> Observed:
        meeting = Meeting(found.alignment, found.is_birth, found.is_compacted)
        key = found.state.conversation
        said = None if key in self._unremembered else self._said.get(key, ())
        self._unremembered.discard(key)
        step = advance(found.state, meeting, seen, view, said)
        self._keep(step.state)
        self._remember_said(step)
        self._calls.keep(found.state.conversation, seen.tool_calls())
        return Observed(make_inference(seen, step.content), step.observation, step.request_seed, self.take_changed())

    def _remember_said(self, step: Advance) -> None:
        turn = step.state.turn
        size = sum(len(said.text) for said in step.said) if turn is not None and turn.is_emitted else 0
        if turn is None or not step.said or size > MAX_SAID_CHARS:
            self._said.pop(step.state.conversation, None)
        else:
            self._said[step.state.conversation] = step.said

    def _late(self, state: ConversationState, seen: Seen, view: View) -> Observed:
        """A request that others have overtaken: told and counted, but it moves nothing."""
        content, seed = aside.late_content(seen, view)
        turn = state.turn
        if turn is None:
            return self._aside(seen, view)
        self._put(replace(state, turn=replace(turn, inferences=turn.inferences + 1, is_emitted=False)))
        place = place_of(state, turn, state.step_index, seen.identity.call_class)
        observation = Observation(place, seen.workplace, injected=seen.injected)
        return Observed(make_inference(seen, content), observation, seed, self.take_changed())

    def _compaction(self, seen: Seen, view: View) -> Observed:
        """The summariser's call: it carries the whole history, and may answer tools that no other request will."""
        found = best_fit(seen, view, self._group(group_of(seen, view)))
        if found is None or found.state.turn is None or found.alignment.fit in (Fit.DIVERGED, Fit.UNRELATED):
            return self._foreign_compaction(seen, view)
        self._remember_summarised(seen, found.state)
        observed, state = aside.compaction(found.state, found.alignment, seen, view)
        self._keep(state)
        return Observed(*observed, self.take_changed())

    def _foreign_compaction(self, seen: Seen, view: View) -> Observed:
        """One that is no history the process is known for: that of an earlier process, or only a text."""
        main = None
        if not seen.identity.session_id:
            main = resumed_from(seen, view, self._states.values())[0] or self._main_of_run(seen)
        if main is not None:
            self._remember_summarised(seen, main)
        return self._aside(seen, view, main)

    def _remember_summarised(self, seen: Seen, state: ConversationState) -> None:
        if not seen.identity.session_id and seen.workplace.run_id:
            _put_last(self._summarised, _process(seen), state.conversation)

    def _main_beside(self, seen: Seen) -> ConversationState | None:
        """The main conversation that a call without tools serves: one that offers tools, of the same session or run,
        told so by every agent that has tools (titles, summaries, routers). None for a call that may be main itself."""
        if seen.identity.call_class is not CallClass.UNKNOWN:
            return None
        session = seen.identity.session_id
        main = next(iter(self._of_session(session)), None) if session else self._main_of_run(seen)
        return main if main is not None and main.call_class is CallClass.MAIN else None

    def _summarised_by(self, seen: Seen) -> ConversationState | None:
        """The conversation that the process asked a summary of last; where it asked for none, the last one of its
        directory: pi does that when a run is over, and the next one begins with the summary."""
        if seen.identity.session_id:
            return None
        own = self._states.get(self._summarised.get(_process(seen), ""))
        if own is not None or not seen.workplace.cwd:
            return own
        place = (seen.identity.harness, seen.workplace.cwd)
        known = (self._states.get(key) for key in reversed(self._summarised.values()))
        return next((one for one in known if one and (one.workplace.harness, one.workplace.cwd) == place), None)

    def _main_of_run(self, seen: Seen) -> ConversationState | None:
        """The conversation of the run that was used last."""
        states = (state for state in of_run(seen, self._states.values()) if state.call_class is CallClass.MAIN)
        return max(states, key=lambda state: state.last_end_time_ns, default=None)

    def _aside(self, seen: Seen, view: View | None, main: ConversationState | None = None) -> Observed:
        session = seen.identity.session_id
        if main is None:
            main = next(iter(self._of_session(session)), None) if session else self._main_of_run(seen)
        named = self._named.get(_process(seen), "") if seen.workplace.run_id else ""
        inference, observation, seed = self._asides.observe(seen, view, main, named)
        return Observed(inference, observation, seed, self.take_changed())

    def _group(self, group: str) -> list[ConversationState]:
        """The states of a group, the one used last first."""
        return [self._states[key] for key in reversed(self._groups.get(group, ()))]

    def _of_session(self, session: str) -> Iterator[ConversationState]:
        """The states of a session, the main agent's first."""
        states = [self._states[key] for key in self._sessions.get(session, ())]
        yield from sorted(states, key=lambda state: state.call_class is CallClass.SUBAGENT)

    def _put(self, state: ConversationState) -> None:
        self._states[state.conversation] = state
        self._changed[state.conversation] = state

    def _keep(self, state: ConversationState) -> None:
        """Stores a state as the one used last, and forgets the oldest where there are too many."""
        key = state.conversation
        before = self._states.get(key)
        if before is not None and before.group != state.group:
            self._remove(self._groups, before.group, key)
        self._put(state)
        self._states.move_to_end(key)
        for index, name in ((self._groups, state.group), (self._sessions, state.session_id)):
            members = index.setdefault(name, [])
            if key in members:
                members.remove(key)
            members.append(key)
        while len(self._states) > self._max:
            self._forget(next(iter(self._states)))

    def _forget(self, key: str) -> None:
        state = self._states.pop(key)
        self._said.pop(key, None)
        self._unremembered.discard(key)
        self._calls.take(key)
        self._changed.pop(key, None)
        for index, name in ((self._groups, state.group), (self._sessions, state.session_id)):
            self._remove(index, name, key)

    @staticmethod
    def _remove(index: dict[str, list[str]], name: str, key: str) -> None:
        members = index[name]
        members.remove(key)
        if not members:
            del index[name]


def _with_agent(workplace: Workplace, identity: Identity) -> Workplace:
    """The workplace with the agent that the request itself names: a run may be a shell with several in it."""
    if identity.harness in ("", "unknown"):
        return workplace
    is_same = identity.harness == workplace.harness
    version = identity.harness_version or (workplace.harness_version if is_same else "")
    return replace(workplace, harness=identity.harness, harness_version=version)


def _process(seen: Seen) -> str:
    return f"{seen.identity.harness}\x1f{seen.workplace.run_id}"


def _put_last(known: dict[str, str], process: str, value: str) -> None:
    """The process used last stands last; the first are forgotten."""
    known.pop(process, None)
    known[process] = value
    while len(known) > MAX_PROCESSES:
        del known[next(iter(known))]
