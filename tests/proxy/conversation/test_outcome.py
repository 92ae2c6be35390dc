"""How tool calls end."""

import pytest

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore_proxy.conversation.outcome import Verdict, judge


def verdict(
    command: str, output: str, is_error: bool | None, harness: str = "claude-code", tool: str = "Bash"
) -> Verdict:
    """Of one shell call."""
    return judge(ToolCall("t", tool, {"command": command}), ToolResult("t", output, is_error), harness)


def words(found: Verdict) -> tuple[str, str, int | None]:
    return found.outcome.value, found.reason, found.exit_code


@pytest.mark.parametrize(
    ("command", "output", "is_error", "expected"),
    [
        ("pytest", "Exit code 1\nFAILED", True, ("failure", "exit_code", 1)),
        ("pytest", "0 errors, 3 passed", False, ("success", "", None)),
        ("pytest", "ERROR everywhere", False, ("success", "", None)),
        ("pytest", "", None, ("success", "", None)),
        ("grep x y", "Exit code 1", True, ("success", "benign_exit", 1)),
        ("grep x y", "Exit code 2\ngrep: y: No such file", True, ("failure", "exit_code", 2)),
        ("cd z && grep x y", "Exit code 1\n(eval):cd:1: no such file or directory: z", True,
         ("failure", "exit_code", 1)),
        ("ls | rg x", "Exit code 1", True, ("success", "benign_exit", 1)),
        ("pytest | grep FAIL", "Exit code 1", True, ("unknown", "pipeline", 1)),
        ("diff a b", "Exit code 1\n< x", True, ("success", "benign_exit", 1)),
        ("git diff --quiet", "Exit code 1", True, ("success", "benign_exit", 1)),
        ("git push", "Exit code 1\n! [rejected]", True, ("failure", "exit_code", 1)),
        ("[ -f x ] && echo yes", "Exit code 1", True, ("success", "benign_exit", 1)),
        ("make || true", "make: *** no rule", False, ("unknown", "guarded", None)),
        ("cargo test 2>&1 | tail -5", "ok", False, ("unknown", "pipeline", None)),
        ("cat a | head -3", "x", False, ("success", "", None)),
        ("sleep 900", "Exit code 143\nCommand timed out after 2m", True, ("unknown", "timeout", 143)),
        ("timeout 5 make", "Exit code 124", True, ("unknown", "timeout", 124)),
        ("make", "Exit code 137\n[Request interrupted by user for tool use]\nx", True,
         ("unknown", "interrupted", 137)),
        ("make", "<tool_use_error>Sibling tool call errored</tool_use_error>", True, ("unknown", "cascade", None)),
        ("make", "<tool_use_error>Cancelled: parallel tool call Bash(x) errored</tool_use_error>", True,
         ("unknown", "cascade", None)),
        ("make", "The user doesn't want to proceed with this tool use. STOP", True,
         ("rejected", "user_rejected", None)),
        ("make", "The user doesn't want to take this action right now. STOP", True,
         ("rejected", "user_rejected", None)),
        ("make", "The user doesn't want to proceed with this tool use. STOP Correction to the text above: this call "
         "was stopped while running", True, ("unknown", "interrupted", None)),
        ("make", "Permission to use Bash has been denied.", True, ("rejected", "permission_denied", None)),
        ("make", "[Tool call skipped: the turn ended", True, ("unknown", "not_run", None)),
        ("make", "Command running in background with ID: b1", False, ("unknown", "background", None)),
    ],
)  # fmt: skip
def test_claude_codes_shell(
    command: str, output: str, is_error: bool | None, expected: tuple[str, str, int | None]
) -> None:
    """The flag and the exit code decide, with what the code means for the command; never a word in the output."""
    assert words(verdict(command, output, is_error)) == expected


@pytest.mark.parametrize(
    ("harness", "output", "is_error", "expected"),
    [
        ("codex", "Chunk ID: x\nProcess exited with code 3\nOutput:\n", None, ("failure", "exit_code", 3)),
        ("codex", "Wall time: 1\nProcess exited with code 0\nOutput:\n", None, ("success", "", 0)),
        ("codex", "Process running with session ID 4", None, ("unknown", "no_status", None)),
        ("opencode", "whatever", None, ("unknown", "no_status", None)),
        ("gemini-cli", "Output: x\nExit Code: 3\n", None, ("failure", "exit_code", 3)),
        ("gemini-cli", "Output: x\n", None, ("success", "", 0)),
        ("qwen-code", "Output: x\nExit Code: 0\nSignal: none", None, ("success", "", 0)),
        ("pi", "x\n\nCommand exited with code 3", True, ("failure", "exit_code", 3)),
        ("mini-swe-agent", '{"returncode": 3, "output": ""}', None, ("failure", "exit_code", 3)),
        ("mini-swe-agent", "<returncode>0</returncode>", None, ("success", "", 0)),
    ],
)
def test_other_agents_shells(
    harness: str, output: str, is_error: bool | None, expected: tuple[str, str, int | None]
) -> None:
    """Each agent prints exit codes in its own way, or not at all."""
    assert words(verdict("make", output, is_error, harness, "bash")) == expected


@pytest.mark.parametrize(
    ("output", "is_error", "harness", "expected"),
    [
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", True, "claude-code",
         ("failure", "tool_error", None)),
        ("ENOENT: no such file", True, "claude-code", ("failure", "is_error", None)),
        ("1\timport x", None, "claude-code", ("success", "", None)),
        ("Async agent launched successfully.", False, "claude-code", ("unknown", "background", None)),
        ("fine", None, "unknown", ("unknown", "no_status", None)),
    ],
)  # fmt: skip
def test_other_tools(output: str, is_error: bool | None, harness: str, expected: tuple[str, str, int | None]) -> None:
    """A tool that is no shell has only its flag."""
    assert (
        words(judge(ToolCall("t", "Edit", {"file_path": "/a"}), ToolResult("t", output, is_error), harness)) == expected
    )
