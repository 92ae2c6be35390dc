"""The identity of a failure."""

from hypothesis import given, settings
from hypothesis import strategies as st

from spanlore.genai.messages import ToolCall
from spanlore.signature.failure import MAX_LINE_CHARS, failure_signature, signature_of

TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "/home/{name}/p/run.py", line {line}, in <module>
    import yaml
ModuleNotFoundError: No module named 'yaml'"""


def test_a_traceback_is_known_by_its_exception() -> None:
    """The class is the exception's name, the line the one that names it; where it happened does not count."""
    one = failure_signature("Bash", "cd x && python3 run.py", TRACEBACK.format(name="ann", line=3), 1)
    other = failure_signature("Bash", "/usr/bin/python run.py --fast", TRACEBACK.format(name="bob", line=77), 1)

    assert one == other
    assert (one.program, one.error_class) == ("python", "ModuleNotFoundError")
    assert one.error_line == "ModuleNotFoundError: No module named 'yaml'"
    assert len(one.hash) == 16


def test_the_most_telling_line_counts() -> None:
    """Progress, passed tests and usage texts are passed over."""
    output = (
        "Exit code 1\n$ go test ./...\nok  \tpkg/a\t0.1s\n=== RUN   TestX\n--- FAIL: TestX (0.01s)\n x_test.go:3: no"
    )
    found = failure_signature("Bash", "mise run test", output, 1)

    assert (found.program, found.error_class, found.error_line) == (
        "mise",
        "test_failure",
        "--- FAIL: TestX (<duration>)",
    )


def test_tool_errors_are_known_by_the_tools_name() -> None:
    """A file tool's failure is the tool's, whichever file it was."""
    message = "<tool_use_error>String to replace not found in file.\nString: {}</tool_use_error>"
    one = signature_of(ToolCall("1", "Edit", {"file_path": "/a"}), message.format("x"), None)
    other = signature_of(ToolCall("2", "Edit", {"file_path": "/b"}), message.format("y"), None)

    assert one == other
    assert (one.program, one.error_class) == ("Edit", "edit_no_match")


def test_a_silent_failure_is_known_by_its_exit_code() -> None:
    """Nothing printed: program and code make the identity."""
    found = failure_signature("Bash", "make", "Exit code 2", 2)

    assert (found.error_class, found.error_line) == ("exit_2", "")
    assert found.hash != failure_signature("Bash", "make", "Exit code 3", 3).hash


@settings(deadline=None, max_examples=100)
@given(st.text(max_size=300), st.text(max_size=80), st.none() | st.integers(-1, 300))
def test_any_output_has_a_signature(output: str, command: str, exit_code: int | None) -> None:
    """Nothing raises, the line is short, and the same input gives the same signature."""
    found = failure_signature("Bash", command, output, exit_code)

    assert found == failure_signature("Bash", command, output, exit_code)
    assert len(found.error_line) <= MAX_LINE_CHARS and found.error_class and len(found.hash) == 16


def test_of_huge_output_both_ends_are_read() -> None:
    """Ten megabytes of progress do not hide the last line."""
    output = "x" * 200 + "\n" + "some line of output 123\n" * 400_000 + "fatal: not a git repository"
    found = failure_signature("Bash", "git status", output, 128)

    assert found.error_class == "not_a_repository"
