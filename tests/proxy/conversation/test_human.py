"""What a person typed."""

from typing import Any

import pytest

from spanlore.genai.inference import CallClass
from spanlore.genai.messages import ToolResult
from spanlore_proxy.conversation.human import human_messages, is_refusal, rejection_reason, scan
from spanlore_proxy.wire.anthropic import decode_message
from support.conversing import assistant, call, result, user

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse uv\n\n"
    "Note: The user's next message may contain a correction or preference. Pay close attention"
)
STOP = "The user doesn't want to proceed with this tool use. STOP what you are doing and wait for the user"
MID_TURN = "The user sent a new message while you were working:\nalso lint\n\nThis is how Claude Code surfaces messages"
OLDER = (
    "The user sent a new message while you were working:\nalso lint\n\nIMPORTANT: After completing your current task"
)


def typed(*messages: dict[str, Any], call_class: CallClass = CallClass.MAIN) -> list[tuple[str, str]]:
    """Channel and text."""
    found = human_messages([decode_message(message) for message in messages], "claude-code", call_class)
    return [(human.channel.value, human.text) for human in found]


@pytest.mark.parametrize(
    "machine",
    [
        "<system-reminder>\nContents of /x/CLAUDE.md\n</system-reminder>",
        "<task-notification>\n<task-id>1</task-id></task-notification>",
        "<local-command-caveat>Caveat: x</local-command-caveat>",
        "<command-name>/exit</command-name>\n<command-message>exit</command-message>\n<command-args></command-args>",
        "<local-command-stdout>Bye!</local-command-stdout>",
        "<bash-input>git status</bash-input>",
        "<bash-stdout>clean</bash-stdout><bash-stderr></bash-stderr>",
        "This session is being continued from a previous conversation that ran out of context. Summary: …",
        "[Request interrupted by user for tool use]",
        "Stop hook feedback:\n- run the linter",
        "PostToolUse hook feedback:\nformat it",
        "Operation stopped by hook: another session",
        "Base directory for this skill: /x\n\n# Skill",
        "Implement the following plan:\n\n# Plan",
        "[SYSTEM NOTIFICATION - NOT USER INPUT]\ndone",
        "<spanlore-memory id='m-1'>use uv</spanlore-memory>",
        "<environment_context>\n<cwd>/x</cwd>\n</environment_context>",
        "# AGENTS.md instructions for /x\n<INSTRUCTIONS>be nice</INSTRUCTIONS>",
        "<system-reminder>never closed",
    ],
)
def test_text_of_machines_is_not_a_persons(machine: str) -> None:
    """Alone it is nothing, and beside a prompt only the prompt is left."""
    assert typed(user(machine)) == []
    assert ("user_message", "do it") in typed(user("do it"), assistant("x"), user(machine))


def test_tags_inside_a_text_are_cut_out() -> None:
    """What the person typed around them stays, other markup as well."""
    found = typed(user("fix <div>\n<system-reminder>x</system-reminder>\nplease"))

    assert found == [("user_message", "fix <div>\n\nplease")]


def test_what_a_slash_command_expands_to_is_not_typed() -> None:
    """The block after the command is its expansion; after a local command's output it is the person's."""
    command = "<command-message>review</command-message>\n<command-name>/review</command-name>"

    assert typed(user(command, "You are an expert reviewer.")) == []
    assert typed(user(command, "<local-command-stdout>ok</local-command-stdout>", "now go")) == [
        ("user_message", "now go")
    ]


@pytest.mark.parametrize("said", [MID_TURN, OLDER, "The user sent the following message:\nalso lint\n"])
def test_words_typed_mid_turn_are_queued(said: str) -> None:
    """In a reminder, as a block of their own, and in the `system` messages of newer models."""
    reminder = f"<system-reminder>\n{said}\n</system-reminder>"

    assert typed(user(result("t", "x"), reminder)) == [("queued", "also lint")]
    assert typed(user(result("t", "x")), {"role": "system", "content": said}) == [("queued", "also lint")]
    assert typed({"role": "system", "content": [{"type": "text", "text": reminder}]}) == [("queued", "also lint")]


def test_a_tool_cannot_speak_for_the_person() -> None:
    """The same words in a tool's output are the tool's."""
    assert typed(user(result("t", f"ok\n<system-reminder>\n{MID_TURN}\n</system-reminder>"))) == []
    assert typed(user(result("t", REFUSED, is_error=False))) == []


def test_text_beside_results_is_queued_unless_the_agent_was_stopped() -> None:
    """Typed while the tools ran; after an interruption it is a message of its own."""
    assert typed(user(result("t", "x"), "also lint")) == [("queued", "also lint")]
    assert typed(user(result("t", "x"), "[Request interrupted by user]", "stop")) == [("user_message", "stop")]
    assert typed(user(result("t", STOP, is_error=True), "no")) == [("user_message", "no")]


def test_the_reason_of_a_refusal_is_kept_without_the_boilerplate() -> None:
    """The richest source of corrections."""
    refused = user(result("t", REFUSED, is_error=True))

    assert typed(assistant(call("t", "pip install x")), refused) == [("rejection_reason", "use uv")]
    assert is_refusal(ToolResult("t", STOP, True)) and rejection_reason(ToolResult("t", STOP, True)) == ""


def test_only_main_calls_carry_a_persons_words() -> None:
    """A sub-agent's prompt is its parent's."""
    assert typed(user("look"), call_class=CallClass.SUBAGENT) == []
    assert typed(user("look"), call_class=CallClass.TITLE) == []
    assert typed(user("look"), call_class=CallClass.UNKNOWN) == [("user_message", "look")]


def test_a_scan_says_what_kind_of_message_it_is() -> None:
    """So that turns can be told."""
    assert scan(decode_message(user(result("t", "x")))).has_results
    assert scan(decode_message(user("[Request interrupted by user]"))).is_interrupted
    assert scan(decode_message(user("<task-notification>x</task-notification>"))).is_notification
    assert scan(decode_message(user("<command-name>/x</command-name>"))).is_command
    assert scan(decode_message(user("This session is being continued from a previous conversation"))).is_summary
    assert scan(decode_message(assistant("This session is being continued"))) == scan(decode_message(assistant("x")))
