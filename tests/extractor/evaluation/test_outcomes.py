import pytest

from spanlore.spans.place import Outcome
from spanlore_extractor.evaluation.outcomes import exit_code_of, judge


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exit code 2\nboom", 2),
        ("Chunk ID: a\nWall time: 1\nProcess exited with code 128\nOutput:\n", 128),
        ("<returncode>1</returncode>\n<output>", 1),
        ("boom\n\nCommand exited with code 1", 1),
        ("the exit code 3 is documented", None),
    ],
)
def test_exit_codes_as_harnesses_write_them(text: str, code: int | None) -> None:
    """Claude Code, Codex, mini-swe-agent and pi each have their own place."""
    assert exit_code_of(text) == code


@pytest.mark.parametrize(
    ("text", "is_error", "program", "outcome"),
    [
        ("fine", False, "make", Outcome.SUCCESS),
        ("Exit code 1\nboom", True, "make", Outcome.FAILURE),
        ("Exit code 1", True, "grep", Outcome.SUCCESS),
        ("<tool_use_error>String to replace not found</tool_use_error>", True, "", Outcome.FAILURE),
        ("<tool_use_error>Sibling tool call errored</tool_use_error>", True, "", Outcome.UNKNOWN),
        ("The user doesn't want to proceed with this tool use.", True, "", Outcome.REJECTED),
        ("half\nCommand aborted", True, "sleep", Outcome.UNKNOWN),
        ("<exception>An error occurred", None, "pip", Outcome.UNKNOWN),
        ("0 errors, error-free", None, "make", Outcome.SUCCESS),
        ("apply_patch verification failed: x", None, "", Outcome.FAILURE),
    ],
)
def test_verdicts(text: str, is_error: bool | None, program: str, outcome: Outcome) -> None:
    """Never by counting the word error; cascades, aborts and refusals are no failures."""
    assert judge(text, is_error, program).outcome is outcome


def test_a_pipe_hides_the_status() -> None:
    """`pytest | tail` succeeds whatever pytest did."""
    assert judge("boom", False, "tail", is_piped=True).reason == "pipeline"
