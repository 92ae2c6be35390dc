"""Tool calls answered by a request → ToolExecutions.

A tool ran from the end of the response that asked until the start of the request that answered: the wire shows no more,
and no less. A call that is answered by a request whose asking was never seen has no duration, and says so by having
none. Each call is told once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from spanlore.genai.messages import ToolCall, ToolResult
from spanlore.harness.outcome import judge
from spanlore.harness.printed import read_printed
from spanlore.signature.command import tool_program
from spanlore.signature.failure import signature_of
from spanlore.spans.place import Outcome, ToolExecution
from spanlore_proxy.conversation.state import PendingTool
from spanlore_proxy.conversation.view import View

UNANSWERED = "unanswered"
"""Outcome reason of a call that the history went on without answering."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Where and when a tool was asked for."""

    start_time_ns: int
    turn_index: int
    step_index: int
    trace_id: bytes
    turn_span_id: bytes


def asked(pending: PendingTool) -> Asked:
    """Of a call that the tracker saw being asked."""
    return Asked(pending.start_time_ns, pending.turn_index, pending.step_index, pending.trace_id, pending.turn_span_id)


def results_from(view: View, first: int) -> Iterator[tuple[int, ToolResult]]:
    """(index of the message, result) of every tool result from message `first` on."""
    for index in range(first, len(view)):
        if not view.is_assistant(index):
            for part in view.message(index).parts:
                if isinstance(part, ToolResult):
                    yield index, part


def execution(
    call: ToolCall,
    result: ToolResult,
    where: Asked,
    end_time_ns: int,
    harness: str,
    behind: ToolCall | None = None,
) -> ToolExecution:
    """The execution of an answered call. `behind`: the earlier call whose command this result tells about."""
    judged = behind or call
    verdict = judge(judged, result, harness)
    program, command = tool_program(judged)
    failed = verdict.outcome is Outcome.FAILURE
    output = read_printed(result.response, harness).output if failed else ""
    signature = signature_of(judged, output, verdict.exit_code) if failed else None
    return ToolExecution(
        call=call,
        result=result,
        start_time_ns=min(where.start_time_ns, end_time_ns),
        end_time_ns=end_time_ns,
        outcome=verdict.outcome,
        outcome_reason=verdict.reason,
        exit_code=verdict.exit_code,
        program=program,
        command=command,
        signature=signature.hash if signature else "",
        error_class=signature.error_class if signature else "",
        error_line=signature.error_line if signature else "",
        step_index=where.step_index,
        turn_index=where.turn_index,
        trace_id=where.trace_id,
        turn_span_id=where.turn_span_id,
    )


def unanswered(call: ToolCall, where: Asked, end_time_ns: int) -> ToolExecution:
    """The execution of a call that nobody will answer any more."""
    program, command = tool_program(call)
    return ToolExecution(
        call=call,
        result=None,
        start_time_ns=min(where.start_time_ns, end_time_ns),
        end_time_ns=end_time_ns,
        outcome=Outcome.UNKNOWN,
        outcome_reason=UNANSWERED,
        program=program,
        command=command,
        step_index=where.step_index,
        turn_index=where.turn_index,
        trace_id=where.trace_id,
        turn_span_id=where.turn_span_id,
    )


def left_over(
    view: View, pending: Mapping[str, PendingTool], settled: frozenset[str], end_time_ns: int
) -> Iterator[ToolExecution]:
    """Pending calls that stand in the history but were passed over. Those the client dropped leave no span."""
    for id_, waiting in pending.items():
        if id_ in settled:
            continue
        at = view.position_of_call(frozenset({id_}))
        if 0 <= at < len(view) - 1:
            call = view.tool_calls_before(at + 1)[1].get(id_)
            if call is not None:
                yield unanswered(call, asked(waiting), end_time_ns)
