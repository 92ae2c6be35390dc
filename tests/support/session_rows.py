"""Rows of the typed tables as the views read them, for tests that need no store."""

from typing import Any

SECOND_NS = 1_000_000_000


def turn_row(span_id: str = "aa00000000000000", **changes: Any) -> dict[str, Any]:
    """A turn of a main conversation, ten seconds long."""
    row = {
        "span_id": span_id,
        "parent_span_id": "",
        "trace_id": "f" * 32,
        "conversation": "c1",
        "parent_conversation": "",
        "turn_index": 0,
        "prompt": "Run the tests.",
        "inferences": 2,
        "tool_calls": 1,
        "failures": 1,
        "end": "completed",
        "call_class": "main",
        "start_time_ns": 0,
        "end_time_ns": 10 * SECOND_NS,
        "duration_ns": 10 * SECOND_NS,
    }
    return row | changes


def inference_row(span_id: str = "bb00000000000000", **changes: Any) -> dict[str, Any]:
    """A completed model call of that turn."""
    row = {
        "span_id": span_id,
        "parent_span_id": "aa00000000000000",
        "trace_id": "f" * 32,
        "conversation": "c1",
        "parent_conversation": "",
        "turn_index": 0,
        "step_index": 0,
        "attempt": 1,
        "call_class": "main",
        "request_model": "claude-sonnet-4-5",
        "response_model": "claude-sonnet-4-5",
        "start_time_ns": 0,
        "end_time_ns": SECOND_NS,
        "duration_ns": SECOND_NS,
        "ttft_ns": SECOND_NS // 2,
        "status_code": 200,
        "error_type": "",
        "is_complete": True,
        "finish_reason": "tool_use",
        "input_tokens": 12_345,
        "output_tokens": 67,
        "cache_read_tokens": 12_000,
        "cache_write_tokens": 0,
        "cost_usd": 0.0123,
        "injected_memory_ids": [],
        "injected_bytes": 0,
        "injected_placements": "",
        "injection_skipped": "nothing",
        "compacted": False,
        "overhead_ns": 100_000,
    }
    return row | changes


def tool_row(span_id: str = "cc00000000000000", **changes: Any) -> dict[str, Any]:
    """A shell command that failed."""
    row = {
        "span_id": span_id,
        "parent_span_id": "aa00000000000000",
        "trace_id": "f" * 32,
        "conversation": "c1",
        "tool_call_id": "toolu_1",
        "tool_name": "Bash",
        "turn_index": 0,
        "step_index": 0,
        "start_time_ns": SECOND_NS,
        "end_time_ns": 2 * SECOND_NS,
        "duration_ns": SECOND_NS,
        "outcome": "failure",
        "outcome_reason": "exit_code",
        "exit_code": 1,
        "program": "python3",
        "command": "python3 -m unittest discover -s tests",
        "signature": "0" * 16,
        "error_class": "ModuleNotFoundError",
        "error_line": "ModuleNotFoundError: No module named 'tally'",
    }
    return row | changes


def session_row(session_id: str = "5e551011-0000-4000-8000-000000000000", **changes: Any) -> dict[str, Any]:
    """The session of those rows."""
    row = {
        "session_id": session_id,
        "harness": "claude-code",
        "repository": "github.com/example/tally",
        "branch": "main",
        "start_time_ns": 0,
        "end_time_ns": 10 * SECOND_NS,
        "inferences": 2,
        "tool_calls": 1,
        "failures": 1,
        "turns": 1,
        "input_tokens": 12_345,
        "output_tokens": 67,
        "cache_read_tokens": 12_000,
        "cost_usd": 0.0123,
        "title": "Run the tests.",
    }
    return row | changes
