"""Session files as each agent writes them, of a script told once: what a person says, what the agent answers, which
commands it runs and which files it reads and changes. Shapes are those of recorded sessions (spanlore.transcripts)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

START_S = 1_796_000_000
CWD = "/home/dev/shop"
INTERRUPTED = "[Request interrupted by user]"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\n"
)


@dataclass(frozen=True)
class Says:
    """A person types; `how`: message, interruption, queued (while the agent works)."""

    text: str
    how: str = "message"


@dataclass(frozen=True)
class Answers:
    """The agent says something and ends its turn."""

    text: str


@dataclass(frozen=True)
class Runs:
    """A shell command."""

    id: str
    command: str
    output: str = ""
    exit: int = 0
    refused: str = ""
    """What the person said when they did not let it run."""
    workdir: str = ""


@dataclass(frozen=True)
class Edits:
    """A change of a file; `error`: the tool refused it with these words."""

    id: str
    path: str
    old: str = "a"
    new: str = "b"
    error: str = ""


@dataclass(frozen=True)
class Reads:
    """A look into a file."""

    id: str
    path: str
    text: str = "1\tx"
    error: str = ""


type Step = Says | Answers | Runs | Edits | Reads
type Call = Runs | Edits | Reads


def _iso(at: int) -> str:
    return datetime.fromtimestamp(START_S + 4 * at, UTC).isoformat().replace("+00:00", ".000Z")


def _lines(entries: Sequence[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def claude_code(steps: Sequence[Step]) -> bytes:
    """Claude Code's JSONL: one content block a line."""
    out: list[dict[str, Any]] = []

    def line(at: int, kind: str, content: Any, **more: Any) -> None:
        about = {"cwd": CWD, "sessionId": "s-1", "version": "2.1.33", "gitBranch": "main", "isSidechain": False}
        message = {"role": kind, "content": content} | (
            {"id": f"msg_{at}", "model": "m"} if kind == "assistant" else {}
        )
        out.append({**about, "type": kind, "message": message, "uuid": f"u{len(out)}", "timestamp": _iso(at), **more})

    for at, step in enumerate(steps):
        match step:
            case Says(text, "queued"):
                out.append({"type": "queue-operation", "operation": "enqueue", "content": text, "timestamp": _iso(at)})
                out.append({"type": "queue-operation", "operation": "remove", "timestamp": _iso(at)})
            case Says(text, how):
                if how == "interruption":
                    line(at, "user", [{"type": "text", "text": INTERRUPTED}])
                line(at, "user", text)
            case Answers(text):
                line(at, "assistant", [{"type": "text", "text": text}])
            case _:
                name, given = _claude_call(step)
                line(at, "assistant", [{"type": "tool_use", "id": step.id, "name": name, "input": given}])
                text, is_error = _claude_result(step)
                result = {"type": "tool_result", "tool_use_id": step.id, "content": text, "is_error": is_error}
                line(at, "user", [result])
    return _lines(out)


def _claude_call(step: Call) -> tuple[str, dict[str, Any]]:
    match step:
        case Runs():
            return "Bash", {"command": step.command, "description": "runs it"}
        case Edits():
            return "Edit", {"file_path": _full(step.path), "old_string": step.old, "new_string": step.new}
        case Reads():
            return "Read", {"file_path": _full(step.path)}


def _full(path: str) -> str:
    return path if path.startswith("/") else f"{CWD}/{path}"


def _claude_result(step: Call) -> tuple[str, bool]:
    match step:
        case Runs(refused=str(said)) if said:
            return REJECTED + said, True
        case Runs():
            return (f"Exit code {step.exit}\n{step.output}", True) if step.exit else (step.output, False)
        case _ if step.error:
            return f"<tool_use_error>{step.error}</tool_use_error>", True
        case Edits():
            return f"The file {step.path} has been updated.", False
        case Reads():
            return step.text, False


def codex(steps: Sequence[Step]) -> bytes:
    """A Codex rollout."""
    meta = {"id": "s-1", "cwd": CWD, "cli_version": "0.130.0", "originator": "codex-tui"}
    out: list[dict[str, Any]] = [{"timestamp": _iso(0), "type": "session_meta", "payload": meta}]

    def item(at: int, payload: dict[str, Any], kind: str = "response_item") -> None:
        out.append({"timestamp": _iso(at), "type": kind, "payload": payload})

    def said(at: int, role: str, text: str) -> None:
        kind = "input_text" if role == "user" else "output_text"
        item(at, {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    for at, step in enumerate(steps):
        match step:
            case Says(text, how):
                if how == "interruption":
                    item(at, {"type": "turn_aborted", "reason": "interrupted"}, "event_msg")
                said(at, "user", text)
            case Answers(text):
                said(at, "assistant", text)
            case Edits():
                patch = f"*** Begin Patch\n*** Update File: {step.path}\n@@\n-{step.old}\n+{step.new}\n*** End Patch"
                item(at, {"type": "custom_tool_call", "name": "apply_patch", "call_id": step.id, "input": patch})
                ok = '{"output":"Success. Updated the following files:\\nM x\\n","metadata":{"exit_code":0}}'
                told = f"apply_patch verification failed: {step.error}" if step.error else ok
                item(at, {"type": "custom_tool_call_output", "call_id": step.id, "output": told})
            case _:
                command = step.command if isinstance(step, Runs) else f"sed -n '1,200p' {step.path}"
                at_dir = (isinstance(step, Runs) and step.workdir) or CWD
                given = json.dumps({"cmd": command, "workdir": at_dir, "yield_time_ms": 1000})
                call = {"type": "function_call", "name": "exec_command", "arguments": given, "call_id": step.id}
                item(at, call)
                item(at, {"type": "function_call_output", "call_id": step.id, "output": _codex_result(step)})
    return _lines(out)


def _codex_result(step: Runs | Reads) -> str:
    if isinstance(step, Runs) and step.refused:
        return f"exec_command for `{step.command}` rejected by user"
    code, text = _ended(step)
    head = f"Chunk ID: 24fda8\nWall time: 0.0510 seconds\nProcess exited with code {code}\nOriginal token count: 10"
    return f"{head}\nOutput:\n{text}\n"


def _ended(step: Runs | Reads) -> tuple[int, str]:
    if isinstance(step, Runs):
        return step.exit, step.output
    return (2 if step.error else 0), step.error or step.text


def opencode(steps: Sequence[Step]) -> bytes:
    """An OpenCode export."""
    messages: list[dict[str, Any]] = []

    def add(at: int, role: str, part: dict[str, Any], **info: Any) -> None:
        told = {"id": f"msg_{len(messages)}", "role": role, "sessionID": "s-1", "time": {"created": 1000 * at + 1}}
        messages.append({"info": told | info, "parts": [{"id": f"prt_{len(messages)}", **part}]})

    for at, step in enumerate(steps):
        match step:
            case Says(text, how):
                if how == "interruption":
                    error = {"name": "MessageAbortedError", "data": {"message": ""}}
                    add(at, "assistant", {"type": "text", "text": "Looking"}, error=error)
                add(at, "user", {"type": "text", "text": text})
            case Answers(text):
                add(at, "assistant", {"type": "text", "text": text})
            case _:
                name, given, state = _opencode_call(step)
                times = {"start": 1_796_000_000_000 + at * 4000, "end": 1_796_000_000_500 + at * 4000}
                part = {
                    "type": "tool",
                    "tool": name,
                    "callID": step.id,
                    "state": state | {"input": given, "time": times},
                }
                add(at, "assistant", part)
    info = {"id": "s-1", "version": "1.1.0", "directory": CWD, "title": "t", "time": {"created": 1}}
    return json.dumps({"info": info, "messages": messages}).encode()


def _opencode_call(step: Call) -> tuple[str, dict[str, Any], dict[str, Any]]:
    match step:
        case Runs(refused=str(said)) if said:
            words = f"The user rejected permission to use this specific tool call with the following feedback: {said}"
            return "bash", {"command": step.command, "description": "d"}, {"status": "error", "error": words}
        case Runs():
            given = {"command": step.command, "description": "d"} | ({"workdir": step.workdir} if step.workdir else {})
            state = {"status": "completed", "output": step.output, "metadata": {"exit": step.exit}}
            return "bash", given, state
        case Edits():
            given = {"filePath": _full(step.path), "oldString": step.old, "newString": step.new}
            return "edit", given, _opencode_state(step.error, "Edit applied successfully.")
        case Reads():
            return "read", {"filePath": _full(step.path)}, _opencode_state(step.error, f"<file>\n{step.text}\n</file>")


def _opencode_state(error: str, text: str) -> dict[str, Any]:
    return {"status": "error", "error": error} if error else {"status": "completed", "output": text, "metadata": {}}


def gemini_cli(steps: Sequence[Step]) -> bytes:
    """A chat of Gemini CLI."""
    messages: list[dict[str, Any]] = []

    def add(at: int, kind: str, text: str, **more: Any) -> None:
        messages.append({"id": f"m{len(messages)}", "timestamp": _iso(at), "type": kind, "content": text, **more})

    for at, step in enumerate(steps):
        match step:
            case Says(text, how):
                if how == "interruption":
                    add(at, "info", "Request cancelled.")
                add(at, "user", text)
            case Answers(text):
                add(at, "gemini", text)
            case _:
                name, given, output, status = _gemini_call(step)
                response = {"functionResponse": {"id": step.id, "name": name, "response": {"output": output}}}
                call = {"id": step.id, "name": name, "args": given, "result": [response], "status": status}
                add(at, "gemini", "", toolCalls=[call | {"timestamp": _iso(at)}])
    about = {"sessionId": "s-1", "projectHash": "7e", "startTime": _iso(0), "lastUpdated": _iso(len(steps))}
    return json.dumps(about | {"messages": messages}).encode()


def _gemini_call(step: Call) -> tuple[str, dict[str, Any], str, str]:
    match step:
        case Runs():
            code = f"\nExit Code: {step.exit}" if step.exit else ""
            text = f"Output: {step.output or '(empty)'}{code}\nProcess Group PGID: 77"
            given = {"command": step.command, "description": "d"} | ({"dir_path": step.workdir} if step.workdir else {})
            return "run_shell_command", given, text, "success"
        case Edits():
            given = {"file_path": step.path, "old_string": step.old, "new_string": step.new}
            return "replace", given, step.error or "Successfully modified file", "error" if step.error else "success"
        case Reads():
            return "read_file", {"file_path": step.path}, step.error or step.text, "error" if step.error else "success"


def pi(steps: Sequence[Step]) -> bytes:
    """pi's JSONL."""
    out: list[dict[str, Any]] = [{"type": "session", "id": "s-1", "timestamp": _iso(0), "cwd": CWD}]

    def add(at: int, message: dict[str, Any]) -> None:
        out.append({"type": "message", "id": f"e{len(out)}", "timestamp": _iso(at), "message": message})

    for at, step in enumerate(steps):
        match step:
            case Says(text, how):
                if how == "interruption":
                    add(at, {"role": "assistant", "content": [], "model": "m", "stopReason": "aborted"})
                add(at, {"role": "user", "content": [{"type": "text", "text": text}]})
            case Answers(text):
                content: Any = [{"type": "text", "text": text}]
                add(at, {"role": "assistant", "content": content, "model": "m", "stopReason": "stop"})
            case _:
                name, given, text, is_error = _pi_call(step)
                content = [{"type": "toolCall", "id": step.id, "name": name, "arguments": given}]
                add(at, {"role": "assistant", "content": content, "model": "m", "stopReason": "toolUse"})
                told = {"toolCallId": step.id, "toolName": name, "content": [{"type": "text", "text": text}]}
                add(at, {"role": "toolResult", **told, "isError": is_error})
    return _lines(out)


def _pi_call(step: Call) -> tuple[str, dict[str, Any], str, bool]:
    match step:
        case Runs():
            text = f"{step.output}\n\nCommand exited with code {step.exit}" if step.exit else step.output
            return "bash", {"command": step.command}, text, bool(step.exit)
        case Edits():
            given = {"path": step.path, "oldText": step.old, "newText": step.new}
            return "edit", given, step.error or f"Successfully replaced text in {step.path}.", bool(step.error)
        case Reads():
            return "read", {"path": step.path}, step.error or step.text, bool(step.error)


def mini_swe_agent(steps: Sequence[Step]) -> bytes:
    """A trajectory of mini-swe-agent; its calls are known by the message they stand in."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You are a helpful assistant."}]
    messages.append({"role": "user", "content": "<pr_description>\nfix it\n</pr_description>"})
    for at, step in enumerate(steps):
        if isinstance(step, Says | Answers):
            continue
        command, code, text = shell_form(step)
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        extra = {"response": {"id": f"r{at}", "created": START_S + 4 * at, "model": "m"}}
        call = {"id": step.id, "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "Next.", "tool_calls": [call], "extra": extra})
        told = f"<returncode>{code}</returncode>\n<output>\n{text}\n</output>"
        messages.append({"role": "tool", "tool_call_id": step.id, "content": told, "extra": {"returncode": code}})
    return json.dumps({"info": {"mini_version": "2.2"}, "instance_id": "s-1", "messages": messages}).encode()


def shell_form(step: Call) -> tuple[str, int, str]:
    """Command, exit code and output of a step for an agent that has only a shell."""
    match step:
        case Runs():
            return step.command, step.exit, step.output
        case Edits():
            script = f"python3 - <<'EOF'\nimport pathlib\np = pathlib.Path('{step.path}')\nt = p.read_text()\n"
            script += f"assert {step.old!r} in t\np.write_text(t.replace({step.old!r}, {step.new!r}))\nEOF"
            return script, 1 if step.error else 0, f"AssertionError: {step.error}" if step.error else ""
        case Reads():
            return f"cat {step.path}", 1 if step.error else 0, step.error or step.text


def swe_agent(steps: Sequence[Step]) -> bytes:
    """A trajectory of SWE-agent; its calls are known by their step. It has no exit codes."""
    trajectory = []
    for step in steps:
        if isinstance(step, Says | Answers):
            continue
        command, code, text = shell_form(step)
        if isinstance(step, Edits):
            command = f"str_replace_editor str_replace {_full(step.path)} --old_str {step.old!r} --new_str {step.new!r}"
            text = (
                f"No replacement was performed, {step.error}"
                if step.error
                else f"The file {step.path} has been edited."
            )
        state = json.dumps({"open_file": "n/a", "working_dir": CWD})
        del code
        trajectory.append({"action": command, "observation": text, "thought": "Next.", "response": "r", "state": state})
    return json.dumps({"environment": "s-1", "trajectory": trajectory, "history": []}).encode()


def copilot_cli(steps: Sequence[Step]) -> bytes:
    """Copilot CLI's events."""
    start = {"sessionId": "s-1", "copilotVersion": "1.0.2", "context": {"cwd": CWD, "branch": "main"}}
    out: list[dict[str, Any]] = []

    def add(at: int, kind: str, data: dict[str, Any]) -> None:
        out.append({"type": kind, "id": f"e{len(out)}", "timestamp": _iso(at), "data": data})

    add(0, "session.start", start)
    for at, step in enumerate(steps):
        match step:
            case Says(text, how):
                if how == "interruption":
                    add(at, "abort", {"reason": "user initiated"})
                add(at, "user.message", {"content": text, "attachments": []})
            case Answers(text):
                add(at, "assistant.message", {"messageId": f"m{at}", "content": text, "toolRequests": []})
            case _:
                name, given, text, success = _copilot_call(step)
                request = {"toolCallId": step.id, "name": name, "arguments": given}
                add(at, "assistant.message", {"messageId": f"m{at}", "content": "", "toolRequests": [request]})
                start_of = {"toolCallId": step.id, "toolName": name, "arguments": given}
                add(at, "tool.execution_start", start_of)
                done: dict[str, Any] = {"toolCallId": step.id, "success": success, "result": {"content": text}}
                if isinstance(step, Runs) and step.refused:
                    error = {"code": "rejected", "message": f"The user rejected this with feedback: {step.refused}"}
                    done = {"toolCallId": step.id, "success": False, "error": error}
                add(at, "tool.execution_complete", done)
    return _lines(out)


def _copilot_call(step: Call) -> tuple[str, dict[str, Any], str, bool]:
    match step:
        case Runs():
            text = f"{step.output}\n<exited with exit code {step.exit}>"
            return "bash", {"command": step.command, "description": "d"}, text, True
        case Edits():
            given = {"path": _full(step.path), "old_str": step.old, "new_str": step.new}
            return "edit", given, step.error or f"File {step.path} updated with changes.", not step.error
        case Reads():
            return "view", {"path": _full(step.path)}, step.error or step.text, not step.error


WRITERS = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
    "gemini-cli": gemini_cli,
    "pi": pi,
    "copilot-cli": copilot_cli,
    "mini-swe-agent": mini_swe_agent,
    "swe-agent": swe_agent,
}
SPOKEN = ("claude-code", "codex", "opencode", "gemini-cli", "pi", "copilot-cli")
"""The agents that people talk to; the other two are given tasks by programs."""


def call_ids(agent: str, steps: Sequence[Step]) -> dict[str, str]:
    """Id of each call in the script → its id in that agent's file: the trajectories know calls by their place."""
    calls = [step for step in steps if not isinstance(step, Says | Answers)]
    if agent == "mini-swe-agent":
        return {call.id: str(2 + 2 * at) for at, call in enumerate(calls)}
    if agent == "swe-agent":
        return {call.id: str(at) for at, call in enumerate(calls)}
    return {call.id: call.id for call in calls}
