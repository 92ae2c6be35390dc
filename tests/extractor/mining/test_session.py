from spanlore.spans.place import Channel, Outcome
from spanlore_extractor.mining.session import IDLE_GAP_NS, MAX_TOOL_NS, HumanStep, ToolStep, active_clock

SECOND_NS = 10**9


def tool(start_s: int, end_s: int) -> ToolStep:
    return ToolStep("t", f"{start_s}", "c", "Bash", start_s * SECOND_NS, end_s * SECOND_NS, Outcome.SUCCESS)


def test_waiting_for_the_person_costs_nothing() -> None:
    """The gap before a human step is nobody's working time."""
    steps = (tool(1, 3), HumanStep("t", "h", 5000 * SECOND_NS, Channel.USER_MESSAGE, "go on"), tool(5001, 5002))

    assert active_clock(steps) == [2 * SECOND_NS, 2 * SECOND_NS, 4 * SECOND_NS]


def test_long_silences_and_long_tools_are_capped() -> None:
    """A tool that waited a night for approval, or an agent that slept, does not make a failure cost a night."""
    clock = active_clock((tool(1, 2), tool(9000, 90_000)))

    assert clock[-1] == 1 * SECOND_NS + IDLE_GAP_NS + MAX_TOOL_NS


def test_parallel_calls_are_not_counted_twice() -> None:
    """Calls that ran side by side cost as long as the longest of them."""
    assert active_clock((tool(1, 5), tool(1, 4)))[-1] == 4 * SECOND_NS
