"""What is in ignored files is masked where it is told, and wherever it comes again."""

from typing import Any

import pytest

from spanlore.genai.inference import Dialect, Inference
from spanlore.genai.messages import Message, Role, Text, ToolCall, ToolResult
from spanlore.redaction.redact import Redactor
from spanlore.settings import Settings
from spanlore.spans.place import Observation, Outcome, Place, ToolExecution, Workplace
from spanlore_proxy.capture.ignored import MARK, MAX_TEXTS, IgnoredFiles, ignored_files
from spanlore_proxy.capture.redacting import redact_with

SECRET = "the colour of the door is green today\nand the dog is called Bello"
IGNORED = frozenset({"/w/.env.local", "/w/secrets/x"})
READ = ToolCall("1", "Read", {"file_path": ".env.local"})


def masked(
    call: ToolCall,
    response: str,
    hidden: IgnoredFiles | None = None,
    messages: tuple[Any, ...] = (),
    *,
    is_error: bool = False,
) -> tuple[Inference, ToolExecution]:
    """An answered call as the recorder sees it, masked: the inference, and the tool's execution."""
    result = ToolResult(call.id, response, is_error)
    outcome = Outcome.FAILURE if is_error else Outcome.SUCCESS
    command = call.arguments.get("command", "") if isinstance(call.arguments, dict) else ""
    error_line = response.partition("\n")[0] if is_error else ""
    tool = ToolExecution(call, result, 1, 2, outcome, command=command, error_line=error_line)
    inference = Inference(
        dialect=Dialect.ANTHROPIC_MESSAGES,
        provider="anthropic",
        operation="chat",
        request_model="m",
        start_time_ns=1,
        end_time_ns=2,
        new_messages=(Message(Role.ASSISTANT, (call,)), Message(Role.TOOL, (result, Text("go on")))),
    )
    place = Place("s", False, "c" * 16, b"t" * 16, b"s" * 8, 0, 0)
    observation = Observation(place, Workplace(cwd="/w"), tools=(tool,))
    inference, observation = (hidden or IgnoredFiles(IGNORED)).masked(inference, observation, messages)
    return inference, observation.tools[0]


@pytest.mark.parametrize(
    "call",
    [
        READ,
        ToolCall("1", "Bash", {"command": "cat .env.local"}),
        ToolCall("1", "Bash", {"command": "cd secrets && head x"}),
        ToolCall("1", "Edit", {"file_path": "/w/secrets/x", "old_string": SECRET, "new_string": "other"}),
    ],
)
def test_answers_are_masked_as_message_and_as_tool(call: ToolCall) -> None:
    """The file's name stays, what was in it does not; the rest of the message stays."""
    inference, tool = masked(call, SECRET)

    assert tool.result == ToolResult("1", MARK, False)
    assert inference.new_messages[1].parts == (ToolResult("1", MARK, False), Text("go on"))
    assert "green" not in str(inference) + str(tool)
    assert any(name in str(tool.call) for name in (".env.local", "secrets"))


@pytest.mark.parametrize("call", [ToolCall("1", "Read", {"file_path": "src/a.py"}), ToolCall("1", "odd", None)])
def test_other_files_are_not_copied(call: ToolCall) -> None:
    """What is not ignored comes back as the same objects."""
    inference, tool = masked(call, SECRET)

    assert tool.call is call
    assert tool.result is inference.new_messages[1].parts[0]
    assert tool.result.response == SECRET


def test_what_a_call_writes_is_masked() -> None:
    """In the arguments, in the model's own answer and in the recorded command."""
    call = ToolCall("1", "Bash", {"command": f"cat > .env.local <<'EOF'\n{SECRET}\nEOF"})

    inference, tool = masked(call, "")

    assert tool.call.arguments == {"command": f"cat > .env.local <<'EOF'\n{MARK}"}
    assert tool.command == f"cat > .env.local <<'EOF'\n{MARK}"
    assert "green" not in str(inference) + str(tool)


def test_failures_of_readers_are_kept_and_of_shells_are_not() -> None:
    """ "No such file" teaches something; what a shell printed before it failed may be the file."""
    _, read = masked(READ, "File does not exist, says the tool.", is_error=True)
    _, printed = masked(ToolCall("1", "Bash", {"command": "cat .env.local nope"}), SECRET, is_error=True)

    assert read.error_line.startswith("File does not exist")
    assert (printed.result, printed.error_line) == (ToolResult("1", MARK, True), MARK)
    assert printed.outcome is Outcome.FAILURE


def test_lines_of_a_search_are_masked_one_by_one() -> None:
    """A search over everything keeps the lines of files that are not ignored."""
    call = ToolCall("1", "Grep", {"pattern": "door", "output_mode": "content"})

    _, tool = masked(call, "src/a.py:3:the door is open\n.env.local:1:the door is green today\nend")

    assert tool.result is not None
    assert tool.result.response == f"src/a.py:3:the door is open\n.env.local: {MARK}\nend"


def test_the_same_text_is_masked_elsewhere() -> None:
    """As it reads, inside other text, and as it stands in a JSON body; in pieces when the request has it in pieces."""
    hidden = IgnoredFiles(IGNORED)
    redact = hidden.redacting(redact_with(Redactor()))
    first, second = SECRET.split("\n")
    assert redact(SECRET) == (SECRET, 0)
    message = {"role": "user", "content": [{"type": "text", "text": first}, {"type": "text", "text": second}]}

    masked(READ, SECRET, hidden, (message,))

    assert redact(SECRET) == (MARK, 1)
    assert redact(f"It says: {SECRET}!") == (f"It says: {MARK}!", 1)
    quoted = SECRET.replace("\n", "\\n")
    assert redact(f'[{{"text":"{quoted}"') == (f'[{{"text":"{MARK}"', 1)
    assert redact(first) == (MARK, 1)
    assert redact("go on")[1] == 0


def test_short_texts_are_masked_only_in_their_place() -> None:
    """A file that holds one word doesn't take that word out of everything."""
    hidden = IgnoredFiles(IGNORED)

    _, tool = masked(READ, "on", hidden)

    assert tool.result == ToolResult("1", MARK, False)
    assert hidden.redacting(redact_with(Redactor()))("this goes on and on") == ("this goes on and on", 0)


def test_remembered_texts_are_bounded() -> None:
    """The oldest are forgotten."""
    hidden = IgnoredFiles(IGNORED)
    redact = hidden.redacting(redact_with(Redactor()))
    for number in range(MAX_TEXTS + 1):
        masked(READ, f"line {number} of a file that is ignored", hidden)

    assert redact("line 0 of a file that is ignored")[1] == 0
    assert redact(f"line {MAX_TEXTS} of a file that is ignored") == (MARK, 1)


def test_names_with_stars_stand_for_files(tmp_path: Any) -> None:
    """As the shell fills them in."""
    (tmp_path / ".env.local").write_text("x")
    hidden = IgnoredFiles(frozenset({str(tmp_path / ".env.local")}))

    _, tool = masked(ToolCall("1", "Bash", {"command": f"cat {tmp_path}/.e*"}), SECRET, hidden)

    assert tool.result == ToolResult("1", MARK, False)


def test_the_setting_decides() -> None:
    """`keep` records such files like others."""
    assert ignored_files(Settings().capture) is not None
    assert ignored_files(Settings.model_validate({"capture": {"ignored_files": "keep"}}).capture) is None
