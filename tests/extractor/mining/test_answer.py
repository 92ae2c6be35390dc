from spanlore.spans.place import Outcome
from spanlore_extractor.mining.answer import is_success
from spanlore_extractor.mining.session import ToolStep
from support.told import Told, steps_of


def tools(told: Told) -> list[ToolStep]:
    return [step for step in steps_of(told) if isinstance(step, ToolStep)]


def test_a_hidden_failure_is_no_success() -> None:
    """Behind a pipe the exit code is another's, so the output must not look failed."""
    good, bad, plain = tools(
        Told()
        .call("Bash", {"command": "pytest | tail -3"}, "3 passed", Outcome.UNKNOWN, "pipeline")
        .call(
            "Bash", {"command": "pytest | tail -3"}, "Traceback (most recent call last):", Outcome.UNKNOWN, "pipeline"
        )
        .call("Bash", {"command": "pytest"}, "", Outcome.UNKNOWN, "timeout")
    )

    assert [is_success(step) for step in (good, bad, plain)] == [True, False, False]
