"""Models of the API's answers."""

from spanlore_dashboards.web.answers import Session, Turn
from support.session_rows import inference_row, session_row, turn_row


def test_rows_become_answers() -> None:
    """What is not named is left out; null stays null."""
    session = Session.model_validate({**session_row(cost_usd=None), "models": ["m"], "secret": 1})

    assert session.cost_usd is None
    assert "secret" not in session.model_dump()


def test_turns_hold_turns() -> None:
    """A sub-agent's turn is inside of its tool call."""
    chat = {**inference_row(), "placements": [], "tools": []}
    turn = Turn.model_validate({**turn_row(), "chats": [chat]})

    assert turn.chats[0].span_id == chat["span_id"]
    assert turn.tools == []
