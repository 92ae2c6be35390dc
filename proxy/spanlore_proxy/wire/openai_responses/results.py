"""What a client answered to a call → ToolResult, with an exit code or status where the item has one of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spanlore.genai.messages import ToolResult, canonical_json
from spanlore_proxy.wire.openai_chat.parts import string
from spanlore_proxy.wire.openai_responses.kinds import kind_of


def decode_result(item: dict[str, Any]) -> ToolResult:
    """The result that an `…_output` item is. `is_error` where the wire has a flag: shell outcomes, patch status."""
    id_ = string(item.get("call_id")) or string(item.get("id"))
    output = item.get("output")
    match kind_of(item):
        case "shell_call_output":
            return _shell(id_, output)
        case "apply_patch_call_output":
            status = item.get("status")
            flag = status == "failed" if status in ("failed", "completed") else None
            return ToolResult(id_, output_text(output), flag)
        case "tool_search_output":
            return ToolResult(id_, "\n".join(_tool_names(item.get("tools"))), is_error=False)
        case _:
            return ToolResult(id_, output_text(output))


def output_text(output: Any) -> str:
    """An output as text; parts that are not text appear as `[image]`-like marks."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(_marks(output))
    if isinstance(output, dict) and output.get("type") == "computer_screenshot":
        return "[image]"
    return "" if output is None else canonical_json(output)


def _marks(parts: list[Any]) -> Iterator[str]:
    for part in parts:
        if not isinstance(part, dict):
            yield string(part)
        elif isinstance(text := part.get("text"), str):
            yield text
        else:
            type_ = string(part.get("type"))
            yield f"[{type_.removeprefix('input_') or 'part'}]"


def _shell(id_: str, output: Any) -> ToolResult:
    """Several commands run one after the other; the first that failed tells how the call ended."""
    runs = [run for run in output if isinstance(run, dict)] if isinstance(output, list) else []
    texts, failed, has_outcome = [], "", False
    for run in runs:
        outcome = run.get("outcome")
        outcome = outcome if isinstance(outcome, dict) else {}
        has_outcome = has_outcome or bool(outcome)
        code = outcome.get("exit_code")
        if not failed and outcome.get("type") == "timeout":
            failed = "Command timed out after its limit\n"
        elif not failed and isinstance(code, int) and code != 0:
            failed = f"Exit code {code}\n"
        texts += [string(run.get("stdout")), string(run.get("stderr"))]
    text = "\n".join(text for text in texts if text)
    return ToolResult(id_, failed + text, bool(failed) if has_outcome else None)


def _tool_names(tools: Any) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict):
            yield string(tool.get("name")) or string(tool.get("type"))
