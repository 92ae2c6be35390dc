"""Which conversation does a request belong to, and how does it meet it?"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import content_hash
from spanlore.harness.human import scan
from spanlore.harness.preamble import AIDER, opening_text
from spanlore.spans.ids import conversation_id_of, tool_span_id
from spanlore_proxy.conversation.agent import texts_of
from spanlore_proxy.conversation.chain import DIGEST_BYTES, Alignment, Fit, align, chain_hash, common_prefix, length
from spanlore_proxy.conversation.inference import Seen
from spanlore_proxy.conversation.launches import find_launch
from spanlore_proxy.conversation.state import ConversationState, Launch
from spanlore_proxy.conversation.view import View
from spanlore_proxy.wire.openai_responses.kinds import COMPACTIONS, kind_of

_SHARED_FOR_FORK: Final = 3
"""Messages that two conversations must share before one is taken for a branch of the other."""
_ANSWERS_FOR_RESUME: Final = 2
_ASKS_FOR_PAST: Final = "What did we do so far?"
"""What OpenCode puts before the summary, which stands as the model's answer to it."""
_RANKS: Final = {Fit.REPEATS: 3, Fit.CONTINUES: 2, Fit.REWRITTEN: 1}


@dataclass(frozen=True, slots=True)
class Found:
    """The conversation of a request."""

    state: ConversationState
    alignment: Alignment
    is_birth: bool = False
    is_compacted: bool = False
    is_late: bool = False
    """Newer requests of the conversation were over before this one, and already carried its messages."""


def group_of(seen: Seen, view: View) -> str:
    """Key of the conversations that a request may continue."""
    identity = seen.identity
    if identity.session_id:
        return f"session\x1f{identity.session_id}\x1f{identity.agent_key}"
    # aider names nothing and says nothing twice in the same way; its process is all there is.
    is_told_by_run = identity.harness == AIDER and bool(seen.workplace.run_id)
    first = "" if is_told_by_run else _opening(view, identity.harness)
    return f"chain\x1f{identity.harness}\x1f{seen.workplace.run_id}\x1f{first}"


def _opening(view: View, harness: str) -> str:
    """What was said first, without the reminders around it, which a client may drop or move later."""
    text = opening_text(view.raw_messages, harness)
    if text is None and len(view):
        text = "\n".join(scan(view.message(view.opening)).texts)
    return content_hash(text) if text else view.chain[:DIGEST_BYTES].hex()


def best_fit(seen: Seen, view: View, group: Sequence[ConversationState]) -> Found | None:
    """The state that fits best, the one used last among equals; None for an empty group."""
    fits = [Found(state, align(state.chain, state.echo, _answered(state), view.chain)) for state in group]
    previous = seen.identity.previous_message_id

    def rank(found: Found) -> tuple[int, bool, int]:
        is_previous = bool(previous) and found.state.last_response_id == previous
        return _RANKS.get(found.alignment.fit, 0), is_previous, found.alignment.new_from

    return max(fits, key=rank, default=None)


def _answered(state: ConversationState) -> int:
    """How many messages of the chain the model has answered; an answer that came only in part may be dropped."""
    return length(state.chain) if state.echo and not state.has_failed else state.answered


def find(
    seen: Seen,
    view: View,
    group: Sequence[ConversationState],
    of_session: Callable[[str], Iterable[ConversationState]],
    everything: Callable[[], Iterable[ConversationState]],
    summarised: ConversationState | None = None,
) -> Found:
    """The conversation of a main or sub-agent request; a new one where none fits.

    Args:
        group: the newest first.
        summarised: the conversation whose summary was asked for last, by the same process or before it began.
    """
    best = best_fit(seen, view, group)
    if best is not None:
        if best.alignment.fit is Fit.CONTINUES and _brings_summary(seen, view, best):
            # The history was short enough to be kept: the summary stands where the answer to it stood.
            return Found(best.state, Alignment(Fit.UNRELATED, 0), is_compacted=True)
        if best.alignment.fit in (Fit.REPEATS, Fit.CONTINUES):
            return best
        if _is_compacted(seen, view, best.state):
            state = best.state if best.alignment.fit is Fit.REWRITTEN else group[0]
            return Found(state, Alignment(Fit.UNRELATED, 0), is_compacted=True)
        if best.alignment.fit is Fit.REWRITTEN:
            return best
        for state in group:
            at = view.position_of_call(frozenset(waiting.id for waiting in state.pending)) if state.pending else -1
            if at >= 0:
                return Found(state, Alignment(Fit.REWRITTEN, at + 1))
        is_old = best.alignment.new_from == len(view)
        if is_old and seen.exchange.start_time_ns <= best.state.last_start_time_ns:
            return replace(best, is_late=True)
    if (known := _compacted_in_run(seen, view, everything)) is not None:
        return Found(known, Alignment(Fit.UNRELATED, 0), is_compacted=True)
    return _newborn(seen, view, best, of_session, everything, summarised)


def _compacted_in_run(
    seen: Seen, view: View, everything: Callable[[], Iterable[ConversationState]]
) -> ConversationState | None:
    """The conversation of a client that names no session, when it begins with a summary now: the one of its run that
    shares the most messages with it, else the one used last."""
    if (
        seen.identity.session_id
        or seen.identity.call_class is not CallClass.MAIN
        or not begins_with_summary(view, seen.identity.harness)
    ):
        return None
    peers = [state for state in of_run(seen, everything()) if state.call_class is CallClass.MAIN]
    new = _digests(view.chain)
    found = max(peers, key=lambda state: (len(new & _digests(state.chain)), state.last_end_time_ns), default=None)
    return None if found is None else replace(found, group=group_of(seen, view))


def of_run(seen: Seen, states: Iterable[ConversationState]) -> list[ConversationState]:
    """The conversations of the same program in the same run; none where no run is known."""
    run_id = seen.workplace.run_id
    return [
        state
        for state in states
        if run_id and state.workplace.run_id == run_id and state.workplace.harness == seen.identity.harness
    ]


def begins_with_summary(view: View, harness: str) -> bool:
    """Whether a summary stands where the history was."""
    return _has_summary(view, harness, range(min(view.opening + 2, len(view))))


def _has_summary(view: View, harness: str, indices: Iterable[int]) -> bool:
    asks = _ASKS_FOR_PAST if harness == "opencode" else None
    return any(
        kind_of(raw) in COMPACTIONS or scan(view.message(index)).is_summary or (asks and asks in _texts(raw))
        for index in indices
        for raw in (view.raw_messages[index],)
    )


def _texts(raw: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(text.strip() for text in texts_of(raw.get("content")))


def _digests(chain: bytes) -> set[bytes]:
    return {chain[i : i + DIGEST_BYTES] for i in range(0, len(chain), DIGEST_BYTES)}


def _is_compacted(seen: Seen, view: View, known: ConversationState) -> bool:
    """The client says so, or its first messages hold a summary that is new."""
    if seen.identity.is_compacted:
        return True
    unchanged = common_prefix(known.chain, view.chain)
    return _has_summary(view, seen.identity.harness, range(unchanged, min(view.opening + 2, len(view))))


def _brings_summary(seen: Seen, view: View, best: Found) -> bool:
    first = best.alignment.new_from
    is_without_answer = bool(best.state.echo) and first == length(best.state.chain)
    return is_without_answer and _has_summary(view, seen.identity.harness, range(first, min(first + 2, len(view))))


def _newborn(
    seen: Seen,
    view: View,
    nearest: Found | None,
    of_session: Callable[[str], Iterable[ConversationState]],
    everything: Callable[[], Iterable[ConversationState]],
    summarised: ConversationState | None,
) -> Found:
    """A conversation that was not known: a branch, a sub-agent's, or one whose beginning nobody saw."""
    if (child := _child_of_run(seen, view, everything)) is not None:
        return Found(child, Alignment(Fit.UNRELATED, 0), is_birth=True)
    origin, shared = _origin(view, nearest, everything)
    if origin is None and not seen.identity.session_id:
        origin, shared = resumed_from(seen, view, everything())
        if origin is None and begins_with_summary(view, seen.identity.harness):
            origin = summarised
    session, is_inferred = _session(seen, view, has_namesake=nearest is not None)
    identity = seen.identity
    seed = _seed(seen, view, nearest, origin, shared)
    state = ConversationState(
        conversation=conversation_id_of(session, identity.agent_key, seed),
        session_id=session,
        session_inferred=is_inferred,
        group=group_of(seen, view),
        agent_key=identity.agent_key,
        call_class=identity.call_class,
        parent_conversation=origin.conversation if origin is not None else "",
        workplace=seen.workplace,
    )
    if not is_inferred:
        state = _with_parent(state, seen, view, shared, of_session(session), is_only=nearest is None)
    return Found(state, Alignment(Fit.DIVERGED if origin else Fit.UNRELATED, shared), is_birth=True)


def _child_of_run(
    seen: Seen, view: View, everything: Callable[[], Iterable[ConversationState]]
) -> ConversationState | None:
    """A sub-agent of a client that names no session (Gemini CLI with an API key), in the session of the run, else of
    the directory, whose tool call started it; None where no such call is known."""
    identity, workplace = seen.identity, seen.workplace
    if identity.session_id or not (workplace.run_id or workplace.cwd):
        return None
    is_known = identity.call_class is CallClass.SUBAGENT
    if not is_known and (view.after_last_answer() or not workplace.run_id):
        return None  # else only the call's own prompt, as the first thing that is said, makes it one
    peers = [
        state
        for state in everything()
        if state.workplace.harness == identity.harness
        and (state.workplace.run_id, state.workplace.cwd) == (workplace.run_id, workplace.cwd)
    ]
    peers.sort(key=lambda state: state.last_end_time_ns, reverse=True)
    may_guess = is_known and bool(workplace.run_id)
    launch = find_launch(view.at(range(min(len(view), 2))), "", "", peers, may_guess=may_guess)
    if launch is None:
        return None
    parent, call = launch
    state = ConversationState(
        conversation=conversation_id_of(parent.session_id, "", f"{chain_hash(view.chain, 1)}:{call.tool_call_id}"),
        session_id=parent.session_id,
        session_inferred=parent.session_inferred,
        group=group_of(seen, view),
        workplace=workplace,
    )
    return _hung_under(state, parent, call)


def _origin(
    view: View, nearest: Found | None, everything: Callable[[], Iterable[ConversationState]]
) -> tuple[ConversationState | None, int]:
    """(the conversation that this one branched off, how many messages they share); (None, 0) without one."""
    if nearest is not None and nearest.alignment.fit is Fit.DIVERGED and _has_answer(view, nearest.alignment.new_from):
        return nearest.state, nearest.alignment.new_from
    head = view.chain[: _SHARED_FOR_FORK * DIGEST_BYTES]
    if not view.after_last_answer():
        return None, 0
    best: tuple[ConversationState | None, int] = None, 0
    for state in everything():
        known = state.chain + state.echo
        # All that is known of it is enough: only a process that goes on begins with an answer.
        if known.startswith(head) if length(known) >= _SHARED_FOR_FORK else state.echo and view.chain.startswith(known):
            shared = common_prefix(known, view.chain)
            if shared > best[1] and _has_answer(view, shared):
                best = state, shared
    return best


def resumed_from(seen: Seen, view: View, states: Iterable[ConversationState]) -> tuple[ConversationState | None, int]:
    """(the conversation of an earlier process that this history goes on from, how many messages of it are known), of a
    client that names no session and writes what lies between the model's answers another way when it resumes (Gemini
    CLI, Qwen Code): the same answers in the same order, in the same directory, tell."""
    workplace = seen.workplace
    answers = [index for index in range(len(view)) if view.is_assistant(index)]
    best: tuple[ConversationState | None, int] = None, 0
    most = _ANSWERS_FOR_RESUME - 1
    for state in states if len(answers) > most and workplace.cwd else ():
        place = state.workplace
        if (place.harness, place.cwd) != (
            seen.identity.harness,
            workplace.cwd,
        ) or state.call_class is not CallClass.MAIN:
            continue
        found = _in_order(view.chain, answers, state.chain + state.echo)
        if len(found) > most:
            best, most = (state, found[-1] + 1), len(found)
    return best


def _in_order(chain: bytes, indices: Sequence[int], known: bytes) -> list[int]:
    """Those of the messages that stand in the known chain, in the same order."""
    places: dict[bytes, list[int]] = {}
    for at in range(length(known)):
        places.setdefault(known[at * DIGEST_BYTES : (at + 1) * DIGEST_BYTES], []).append(at)
    found: list[int] = []
    last = -1
    for index in indices:
        digest = chain[index * DIGEST_BYTES : (index + 1) * DIGEST_BYTES]
        behind = [at for at in places.get(digest, ()) if at > last]
        if behind:
            found.append(index)
            last = behind[0]
    return found


def _has_answer(view: View, count: int) -> bool:
    return any(view.is_assistant(index) for index in range(count))


def _session(seen: Seen, view: View, *, has_namesake: bool) -> tuple[str, bool]:
    """(session id, whether it is ours). Ours is made of program, run and first messages, so that it comes out the same
    again; only a second session that begins with the very same words is told apart by its time."""
    if seen.identity.session_id:
        return seen.identity.session_id, False
    start = next((i for i in range(view.opening, len(view)) if view.is_assistant(i)), len(view))
    words = [seen.identity.harness, seen.workplace.run_id, chain_hash(view.chain, start)]
    if has_namesake:
        words.append(str(seen.exchange.start_time_ns))
    return f"s-{hashlib.blake2b('\x1f'.join(words).encode(), digest_size=8).hexdigest()}", True


def _seed(seen: Seen, view: View, nearest: Found | None, origin: ConversationState | None, shared: int) -> str:
    """What tells a conversation from the others of its session and agent; '' for the first of them."""
    if nearest is not None and origin is nearest.state:
        return chain_hash(view.chain, min(shared + 1, len(view)))
    is_nameless_agent = seen.identity.call_class is CallClass.SUBAGENT and not seen.identity.agent_key
    if seen.identity.session_id and (nearest is not None or is_nameless_agent):
        return chain_hash(view.chain, 1)
    return ""


def _with_parent(
    state: ConversationState,
    seen: Seen,
    view: View,
    shared: int,
    session: Iterable[ConversationState],
    *,
    is_only: bool,
) -> ConversationState:
    """The state, hung under the tool call that started it, if there is one."""
    is_agent = state.call_class is CallClass.SUBAGENT or bool(state.agent_key)
    if not is_agent and is_only:
        return state
    launch = find_launch(
        view.at(range(shared, min(len(view), shared + 4))),
        state.agent_key,
        seen.identity.agent_kind,
        session,
        may_guess=is_agent,
    )
    if launch is None:
        return state
    return _hung_under(state, *launch)


def _hung_under(state: ConversationState, parent: ConversationState, call: Launch) -> ConversationState:
    return replace(
        state,
        call_class=CallClass.SUBAGENT,
        parent_conversation=parent.conversation,
        parent_tool_span_id=tool_span_id(parent.conversation, call.tool_call_id),
        parent_trace_id=call.trace_id,
    )
