"""How tool calls end."""

import pytest

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.harness.outcome import Verdict, judge
from spanlore.spans.place import Outcome


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
        ("make", ("The user doesn't want to proceed with this tool use. STOP Correction to the text above: this call "
         "was stopped while running"), True, ("unknown", "interrupted", None)),
        ("make", "Permission to use Bash has been denied.", True, ("rejected", "permission_denied", None)),
        ("make", ("Auto mode could not evaluate this action and is blocking it for safety — run with --debug for "
         "details."), True, ("rejected", "permission_denied", None)),
        ("make", ("claude-opus-5-5 is temporarily unavailable, so auto mode cannot determine the safety of Bash right "
         "now."), True, ("rejected", "permission_denied", None)),
        ("make", ("Auto mode is unavailable: the server returned no safety verdict for 3 responses in a row, so Bash "
         "was not run and this turn has ended."), True, ("rejected", "permission_denied", None)),
        ("make", "Bash was not run: only auto mode's safety check can allow it, and that check gave no result.", True,
         ("rejected", "permission_denied", None)),
        ("make", "Permission for this action was denied by the Claude Code auto mode classifier. Reason: deletes.",
         True, ("rejected", "permission_denied", None)),
        ("grep -r auto .", "Auto mode is unavailable for your plan", False, ("success", "", None)),
        ("make", "Exit code 2\nAuto mode could not be entered", True, ("failure", "exit_code", 2)),
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
        ("continue", "Error executing tool Bash: Error (exit code 3): x", None, ("failure", "exit_code", 3)),
        ("continue", "x", None, ("success", "", 0)),
        ("cline", '[{"query":"make","result":"x","success":true}]', None, ("success", "", 0)),
        ("cline", '[{"query":"make","result":"x","success":false}]', None, ("failure", "tool_error", None)),
        ("gptme", "Ran command: `make`\n\n```stderr\nx\n```\n\nReturn code: 2\n", None, ("failure", "exit_code", 2)),
        ("gptme", "Ran command: `make`\n\n`x`\n", None, ("success", "", 0)),
        ("grok-cli", "Command failed: make\nx", None, ("failure", "tool_error", None)),
        ("grok-cli", "x", None, ("success", "", 0)),
        ("kimi-code", "Wall time: 0.1 seconds\nx", None, ("success", "", 0)),
        ("unknown", '{"returncode":2,"stdout":"","stderr":"x"}', None, ("failure", "exit_code", 2)),
        ("unknown", "x\n[exit code: 0]", None, ("success", "", 0)),
        ("unknown", "x", None, ("unknown", "no_status", None)),
    ],
)
def test_other_agents_shells(
    harness: str, output: str, is_error: bool | None, expected: tuple[str, str, int | None]
) -> None:
    """Each agent prints exit codes in its own way, or not at all."""
    assert words(verdict("make", output, is_error, harness, "bash")) == expected


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("grep x y", "Command failed: grep x y\n", ("unknown", "no_status", None)),
        ("grep x y", "Command failed: grep x y\ngrep: y: No such file", ("failure", "tool_error", None)),
        ("make", "Command failed: make\n", ("failure", "tool_error", None)),
    ],
)
def test_a_failure_without_a_code(command: str, output: str, expected: tuple[str, str, int | None]) -> None:
    """Of a program that says so when it finds nothing, and printed nothing, it is none that is known."""
    assert words(verdict(command, output, None, "grok-cli", "bash")) == expected


@pytest.mark.parametrize(
    ("output", "is_error", "harness", "expected"),
    [
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", True, "claude-code",
         ("failure", "tool_error", None)),
        ("ENOENT: no such file", True, "claude-code", ("failure", "is_error", None)),
        ("1\timport x", None, "claude-code", ("success", "", None)),
        ("Async agent launched successfully.", False, "claude-code", ("unknown", "background", None)),
        ("fine", None, "unknown", ("unknown", "no_status", None)),
        # what a tool read may end in such a line; only a shell's does so of itself
        ("how it ends\nexit code: 3", None, "unknown", ("unknown", "no_status", None)),
    ],
)  # fmt: skip
def test_other_tools(output: str, is_error: bool | None, harness: str, expected: tuple[str, str, int | None]) -> None:
    """A tool that is no shell has only its flag."""
    assert (
        words(judge(ToolCall("t", "Edit", {"file_path": "/a"}), ToolResult("t", output, is_error), harness)) == expected
    )


GEMINI = "<untrusted_context>\n{}\nProcess Group PGID: 4711\n</untrusted_context>"


@pytest.mark.parametrize(
    ("output", "is_error", "expected"),
    [
        (GEMINI.format("Output: boom\nExit Code: 3"), None, ("failure", "exit_code", 3)),
        (GEMINI.format("Output: fine"), None, ("success", "", 0)),
        ("Output: Exit Code: 3\nExit Code: 3\nall fine\nProcess Group PGID: 1", None, ("success", "", 0)),
        ("Command: x\nOutput: a\nExit Code: 128\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 1", True,
         ("failure", "exit_code", 128)),
        ("Exit Code: 0\nSignal: 0", None, ("success", "", 0)),
        ("[Operation Cancelled] Reason: User denied execution.", True, ("rejected", "permission_denied", None)),
        ("[Operation Cancelled] Reason: User did not allow tool call", True, ("rejected", "permission_denied", None)),
        ("Tool execution denied by policy.", True, ("rejected", "permission_denied", None)),
        ("[Operation Cancelled] Reason: Operation cancelled", True, ("unknown", "interrupted", None)),
        ("Command was cancelled by user before it could complete.", None, ("unknown", "interrupted", None)),
        ("Command was automatically cancelled because it exceeded the timeout of 5.0 minutes", None,
         ("unknown", "timeout", None)),
        ("Command moved to background (PID: 7)", None, ("unknown", "background", None)),
        ("spawn bash ENOENT", True, ("failure", "is_error", None)),
    ],
)  # fmt: skip
def test_gemini_cli(output: str, is_error: bool | None, expected: tuple[str, str, int | None]) -> None:
    """Its exit code stands at the end, and only when it is not zero; `error` in place of `output` is a failure."""
    assert words(verdict("make", output, is_error, "gemini-cli", "run_shell_command")) == expected


def test_gemini_clis_other_tools() -> None:
    """A result without `error` is a success."""
    call = ToolCall("t", "read_file", {"file_path": "a"})

    assert judge(call, ToolResult("t", "text"), "gemini-cli") == Verdict(Outcome.SUCCESS)
    assert judge(call, ToolResult("t", "File not found", True), "gemini-cli").outcome is Outcome.FAILURE


CODEX = "Chunk ID: 1\nWall time: 0.1 seconds\n{status}\nOriginal token count: 1\nOutput:\n{output}"


def codex(
    output: str, *, command: str = "pytest", name: str = "exec_command", arguments: object = None
) -> tuple[str, str, int | None]:
    call = ToolCall("t", name, {"cmd": command} if arguments is None else arguments)
    return words(judge(call, ToolResult("t", output), "codex"))


@pytest.mark.parametrize(
    ("status", "output", "expected"),
    [
        ("Process exited with code 3", "bad", ("failure", "exit_code", 3)),
        ("Process exited with code 0", "Process exited with code 3", ("success", "", 0)),
        ("Process running with session ID 12", "", ("unknown", "running", None)),
    ],
)
def test_codexs_shell(status: str, output: str, expected: tuple[str, str, int | None]) -> None:
    """By its header; what still runs is not known yet."""
    assert codex(CODEX.format(status=status, output=output)) == expected


def test_codexs_other_tools() -> None:
    """Patches, code mode, refusals, interruptions."""
    script = 'const r = await tools.exec_command({cmd: "grep x y"}); text(JSON.stringify(r))'
    done = 'Script completed\nWall time 0.1 seconds\nOutput:\n{"exit_code":1,"output":""}'

    assert codex("apply_patch verification failed: x", name="apply_patch", arguments="*** Begin") == (
        "failure",
        "tool_error",
        None,
    )
    assert codex('{"output":"ok","metadata":{"exit_code":0}}', name="apply_patch", arguments="*** Begin") == (
        "success",
        "",
        0,
    )
    assert codex(done, name="exec", arguments=script) == ("success", "benign_exit", 1)
    assert codex(done, name="exec", arguments="text(1)") == ("failure", "exit_code", 1)
    assert codex("Script failed\nOutput:\nTypeError", name="exec", arguments=script) == ("failure", "tool_error", None)
    assert codex('Script completed\nOutput:\n"exit_code":0 "exit_code":1', name="exec", arguments="x") == (
        "unknown",
        "mixed",
        None,
    )
    assert codex("exec command rejected by user") == ("rejected", "permission_denied", None)
    assert codex("aborted by user after 5.0s") == ("unknown", "interrupted", None)
    assert codex("Wall time: 3.0 seconds\naborted by user") == ("unknown", "interrupted", None)


@pytest.mark.parametrize(
    ("harness", "output", "expected"),
    [
        ("mini-swe-agent", '{"returncode": 3, "output": "x"}', ("failure", "exit_code", 3)),
        (
            "mini-swe-agent",
            '{"returncode": -1, "output": "", "exception_info": "x timed out after 30 seconds"}',
            ("failure", "exit_code", -1),
        ),
        ("mini-swe-agent", '{"returncode": 0, "output": "x"}', ("success", "", 0)),
        ("qwen-code", "Output: x\nError: (none)\nExit Code: 3\nSignal: (none)", ("failure", "exit_code", 3)),
        ("pi", "x\n\nCommand exited with code 3", ("failure", "exit_code", 3)),
        ("pi", "x", ("success", "", 0)),
        ("pi", "x\n\nCommand timed out after 5 seconds", ("unknown", "timeout", None)),
        ("opencode", "x", ("unknown", "no_status", None)),
        ("opencode", "=== 1 failed in 0.1s ===", ("failure", "output", None)),
        ("opencode", "3 passed in 0.1s", ("success", "output", None)),
        (
            "opencode",
            "The user rejected permission to use this specific tool call.",
            ("rejected", "permission_denied", None),
        ),
    ],
)
def test_without_a_flag(harness: str, output: str, expected: tuple[str, str, int | None]) -> None:
    """OpenAI's APIs have none: the agent's own words tell, or else the program's."""
    assert words(verdict("pytest", output, None, harness, "bash")) == expected
