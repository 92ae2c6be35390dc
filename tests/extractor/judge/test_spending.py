from hypothesis import given
from hypothesis import strategies as st

from spanlore_extractor.judge.spending import DAY_NS, MAX_PAUSE_NS, STRIKES, Caps, Spending

CAPS = Caps(day_tokens=1000, session_tokens=400, day_usd=0.10, session_usd=0.05)


def why_not(spending: Spending, session: str = "s1", estimate: int = 100, now_ns: int = 0) -> str:
    return spending.why_not("m-1", session, estimate, CAPS, now_ns)


def test_caps_hold_before_the_call() -> None:
    """What it may cost is counted in advance; a session's cap stops only that session, a day's all."""
    assert why_not(Spending()) == ""
    assert why_not(Spending(), estimate=401) == "the session's cap is reached"
    full = Spending().spent("s1", 350, 0.01)
    assert "session's cap" in why_not(full) and why_not(full, "s2") == ""
    assert "session's cap" in why_not(Spending().spent("s1", 1, 0.05))
    assert "day's cap" in why_not(Spending().spent("s2", 950, 0.0))
    assert "day's cap" in why_not(Spending().spent("s2", 1, 0.10))


def test_another_day_another_purse() -> None:
    """What is poisoned stays so."""
    spent = Spending().spent("s1", 999, 0.5).struck("m-1", "junk").struck("m-1", "junk")
    tomorrow = spent.on(DAY_NS)

    assert spent.on(5) == spent
    assert (tomorrow.tokens, tomorrow.usd, tomorrow.sessions) == (0, 0.0, {})
    assert tomorrow.poisoned() == ["m-1"]
    assert why_not(tomorrow, now_ns=DAY_NS) == "on the poison list"
    assert STRIKES == 2


def test_pauses_grow_and_end() -> None:
    """As long as the API says, else twice as long each time, at most six hours; an answer ends the series."""
    once = Spending().pause(0, "busy")
    twice = once.pause(0, "busy")
    told = Spending().pause(0, "busy", retry_after_s=33)

    assert "paused: busy" in why_not(told) and why_not(told, now_ns=34 * 10**9) == ""
    assert twice.paused_until_ns == 2 * once.paused_until_ns
    assert Spending().pause(0, "x", 10**9).paused_until_ns == MAX_PAUSE_NS
    assert twice.answered().pause(0, "x").paused_until_ns == once.paused_until_ns


@given(st.dictionaries(st.text(), st.integers(0, 3)), st.integers(0, 9**9), st.text())
def test_it_survives_a_restart(strikes: dict[str, int], tokens: int, trouble: str) -> None:
    """What is broken is an empty purse."""
    spending = Spending(day=3, tokens=tokens, strikes=strikes, trouble=trouble).spent("s", 5, 0.25)
    assert Spending.from_json(spending.to_json()) == spending
    assert Spending.from_json("{broken") == Spending.from_json(None) == Spending.from_json('{"sessions": 3}')
