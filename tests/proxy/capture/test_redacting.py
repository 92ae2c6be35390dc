from dataclasses import replace
from typing import Any

from spanlore.genai.inference import Dialect, Inference, InferenceError
from spanlore.genai.messages import (
    Blob,
    Generic,
    Message,
    Reasoning,
    Role,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolDefinition,
    ToolResult,
    Uri,
)
from spanlore.redaction.redact import Redacted, Redactor
from spanlore.spans.place import Channel, HumanMessage, Observation, Outcome, Place, ToolExecution, Turn, Workplace
from spanlore_proxy.capture.redacting import (
    MAX_TEXT_CHARS,
    redact_inference,
    redact_observation,
    redact_with,
)

SECRET = "hunter2"
KEY = "AKIA" + "Z7QXW2VNB4KLM3PR"


def redact(text: str) -> tuple[str, int]:
    return text.replace(SECRET, "[gone]"), text.count(SECRET)


PARTS = (
    Text(SECRET),
    Reasoning(SECRET, "signature"),
    ToolCall("id", "Bash", {"command": f"login {SECRET}", "n": 1, "more": [SECRET, None]}),
    ToolResult("id", SECRET, is_error=True),
    Blob("image", "image/png", "00", 1),
    Uri("image", f"https://h/?{SECRET}"),
    ServerToolCall("id", "search", {"q": SECRET}),
    ServerToolResult("id", [SECRET]),
    Generic("new", SECRET),
)
INFERENCE = Inference(
    dialect=Dialect.ANTHROPIC_MESSAGES,
    provider="anthropic",
    operation="chat",
    request_model="m",
    start_time_ns=1,
    end_time_ns=2,
    system=(Text(SECRET),),
    tools=(ToolDefinition("Bash", SECRET, {"description": SECRET}),),
    new_messages=(Message(Role.USER, PARTS),),
    output=(Message(Role.ASSISTANT, (Text(SECRET),), "stop"),),
    error=InferenceError("api_error", SECRET, 500),
)
PLACE = Place("s", False, "c" * 16, b"t" * 16, b"s" * 8, 0, 0)
SAID = (HumanMessage(Channel.USER_MESSAGE, SECRET),)
TURN = Turn(b"t" * 16, b"s" * 8, 0, 1, 2, human=SAID)
TOOL = ToolExecution(
    ToolCall("id", "Bash", {"command": SECRET}),
    ToolResult("id", SECRET),
    1,
    2,
    Outcome.FAILURE,
    command=SECRET,
    error_line=SECRET,
)


def test_no_text_of_an_inference_keeps_a_secret() -> None:
    """Every text from outside is redacted, and every secret is counted."""
    clean, count = redact_inference(INFERENCE, redact)

    assert SECRET not in repr(clean)
    assert count == repr(INFERENCE).count(SECRET)
    assert repr(clean).replace("[gone]", SECRET) == repr(INFERENCE)


def test_no_text_of_an_observation_keeps_a_secret() -> None:
    """The same for what a person typed, for tools and for turns; a call without an answer stays one."""
    observation = Observation(PLACE, Workplace(), human=SAID, tools=(TOOL, replace(TOOL, result=None)), turns=(TURN,))
    clean, count = redact_observation(observation, redact)

    assert SECRET not in repr(clean)
    assert count == repr(observation).count(SECRET)


def test_arguments_are_told_by_their_names() -> None:
    """A tool's argument that its name gives away is redacted in the call and in its execution."""
    call = ToolCall("id", "deploy", {"password": "Tr0ub4dor&3", "env": [{"name": "DB_PASSWORD", "value": "hunter22"}]})
    real = redact_with(Redactor())
    inference, _ = redact_inference(replace(INFERENCE, output=(Message(Role.ASSISTANT, (call,)),)), real)
    observation = Observation(PLACE, Workplace(), tools=(replace(TOOL, call=call),))

    assert "Tr0ub" not in repr(inference)
    assert not any(word in repr(redact_observation(observation, real)) for word in ("Tr0ub", "hunter22"))


def test_the_real_redactor_fits() -> None:
    """What the redaction package makes is what this module takes."""
    assert redact_with(Redactor(("hunter[0-9]",)))("nothing here") == ("nothing here", 0)


def test_what_was_redacted_before_is_redacted_alike() -> None:
    """Texts are remembered, with their secrets' number; long ones are not, and come to the same."""
    redact, plain = redact_with(Redactor()), Redactor()
    for size in (0, MAX_TEXT_CHARS, 2 * MAX_TEXT_CHARS):
        for text in (f"{'word ' * (size // 5)}{KEY}", "word " * (size // 5), KEY):
            once = plain.redact(text)
            assert redact(text) == redact(text) == (once.text, once.count)


def test_what_is_remembered_is_bounded() -> None:
    """However many texts come, and a text that came just before is not searched again."""

    class Counting(Redactor):
        searched = 0

        def redact(self, text: str) -> Redacted:
            self.searched += 1
            return super().redact(text)

    redactor, held = Counting(), 0
    redact: Any = redact_with(redactor, max_chars=50_000)
    for number in range(2_000):
        text = f"{number} {'word ' * (number % 400)}"
        assert redact(text) == redact(text[:]) == (text, 0)
        held = max(held, sum(len(one) for one in (*redact._young, *redact._old)))

    assert redactor.searched == 2_000
    assert 20_000 < held <= 50_000


def test_what_has_no_secret_is_not_copied() -> None:
    """And what has one is, its neighbours are not."""
    clean, dirty = Message(Role.USER, (Text("hello"),)), Message(Role.USER, (Text("hello"), Text(KEY)))
    inference = Inference(Dialect.ANTHROPIC_MESSAGES, "anthropic", "chat", "m", 0, 1, new_messages=(clean, dirty))
    done, count = redact_inference(inference, redact_with(Redactor()))

    assert count == 1
    assert done.new_messages[0] is clean
    assert done.new_messages[1].parts[0] is dirty.parts[0]
    assert KEY not in repr(done)
