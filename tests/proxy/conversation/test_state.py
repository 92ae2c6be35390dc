"""A conversation's state and its JSON."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import CallClass
from spanlore.spans.place import Workplace
from spanlore_proxy.conversation.state import (
    ConversationState,
    Launch,
    OpenTurn,
    PendingTool,
    state_from_json,
    state_to_json,
)

WORDS = st.text(max_size=8)
IDS = st.binary(min_size=8, max_size=16)
TIMES = st.integers(0, 2**62)
TURNS = st.builds(OpenTurn, IDS, IDS, st.integers(0, 9), TIMES, TIMES, is_emitted=st.booleans())
STATES = st.builds(
    ConversationState,
    WORDS,
    WORDS,
    st.booleans(),
    WORDS,
    call_class=st.sampled_from(CallClass),
    parent_tool_span_id=st.none() | IDS,
    chain=st.binary(max_size=64),
    echo=st.binary(max_size=16),
    turn=st.none() | TURNS,
    pending=st.lists(st.builds(PendingTool, WORDS, WORDS, TIMES, st.integers(0, 9), st.integers(0, 9), IDS, IDS)).map(
        tuple
    ),
    launches=st.lists(st.builds(Launch, WORDS, WORDS, WORDS, IDS)).map(tuple),
    settled=st.lists(WORDS).map(tuple),
    has_output=st.booleans(),
    last_start_time_ns=TIMES,
    workplace=st.builds(Workplace, WORDS),
)


@given(STATES)
def test_a_state_comes_back_as_it_was(state: ConversationState) -> None:
    """JSON out and in are exact inverses."""
    assert state_from_json(state_to_json(state)) == state


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"version": 0}', '{"version": 1}', '{"version": 1, "turn": 5}'])
def test_anything_else_is_refused(text: str) -> None:
    """With a ValueError, so that one bad row loses one conversation."""
    with pytest.raises(ValueError):
        state_from_json(text)
