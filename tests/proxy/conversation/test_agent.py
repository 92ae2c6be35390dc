"""Who sent a request."""

from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore_proxy.conversation.agent import Identity, at_workplace, identify, system_texts, texts_of
from spanlore_proxy.wire.anthropic import parse_request
from spanlore_proxy.wire.codecs import CODECS
from spanlore_proxy.wire.dialect import recognise
from spanlore_proxy.wire.exchange import End, Exchange

TOOL = {"name": "bash", "input_schema": {}}


def identity(headers: dict[str, str], path: str = "/v1/messages", **document: Any) -> Identity:
    """Of a request with these headers and fields."""
    body = orjson.dumps(
        {"model": "m", "max_tokens": 9_000, "messages": [{"role": "user", "content": "hi"}], **document}
    )
    named = tuple(headers.items())
    exchange = Exchange(
        "0" * 16, "POST", "https", "api.anthropic.com", 443, path, named, (), body, b"", 200, 1, None, 2, End.COMPLETE
    )
    endpoint = recognise("POST", "api.anthropic.com", path)
    assert endpoint is not None
    return identify(exchange, parse_request(body), endpoint)


@pytest.mark.parametrize(
    ("user_agent", "harness", "version"),
    [
        ("claude-cli/2.1.332 (external, sdk-cli)", "claude-code", "2.1.332"),
        ("codex_exec/0.171.0 (Linux)", "codex", "0.171.0"),
        ("opencode/1.18.33 ai-sdk/5", "opencode", "1.18.33"),
        ("GeminiCLI/0.61.0/gemini-3 (linux)", "gemini-cli", "0.61.0"),
        ("QwenCode/0.24.4 (linux; x64)", "qwen-code", "0.24.4"),
        ("kimi-code-cli/2.1.0", "kimi-code", "2.1.0"),
        ("mistral-client-python/Mistral-Vibe/3.0.2", "mistral-vibe", "3.0.2"),
        ("OpenAI/Python 2.20.0", "unknown", ""),
    ],
)
def test_the_harness_is_told_by_its_user_agent(user_agent: str, harness: str, version: str) -> None:
    """With its version."""
    found = identity({"user-agent": user_agent}, tools=[TOOL])

    assert (found.harness, found.harness_version) == (harness, version)


def test_a_harness_with_its_sdks_user_agent_is_told_by_its_prompt() -> None:
    """Its first words name it."""
    assert identity({}, system=[{"type": "text", "text": "You are OpenCode, the best"}]).harness == "opencode"


@pytest.mark.parametrize(
    ("headers", "document", "expected"),
    [
        ({"x-session-id": "ses_1"}, {}, "ses_1"),
        ({"session_id": "0199"}, {}, "0199"),
        ({}, {"metadata": {"sessionId": "q-1"}}, "q-1"),
        ({}, {"metadata": {"session_id": "v-1"}}, "v-1"),
        ({}, {"metadata": {"session_id": 3}}, None),
        ({}, {"metadata": "v-1"}, None),
        # Kimi Code's; another key may be shared by sessions
        (
            {},
            {"prompt_cache_key": "session_9990ea53-ffcc-472d-a4a6-f44a6246d79a"},
            "session_9990ea53-ffcc-472d-a4a6-f44a6246d79a",
        ),
        ({}, {"prompt_cache_key": "d59d771fad73c29040eeb6a63b07bee2"}, None),
        ({}, {"prompt_cache_key": "session prompts of my app"}, None),
        ({}, {"prompt_cache_key": ["session_1234567890"]}, None),
        ({}, {}, None),
    ],
)
def test_sessions_of_other_agents(headers: dict[str, str], document: dict[str, Any], expected: str | None) -> None:
    """Named in a header, in the body, or not at all."""
    assert identity(headers, **document).session_id == expected


@pytest.mark.parametrize(
    ("document", "path", "expected"),
    [
        ({"tools": [TOOL]}, "/v1/messages", CallClass.MAIN),
        ({"system": "You are a title generator. You output ONLY a title."}, "/v1/messages", CallClass.TITLE),
        ({"max_tokens": 1}, "/v1/messages", CallClass.PROBE),
        ({}, "/v1/messages", CallClass.UNKNOWN),
        ({"tools": [TOOL]}, "/v1/messages/count_tokens", CallClass.COUNT_TOKENS),
    ],
)
def test_a_main_call_offers_tools(document: dict[str, Any], path: str, expected: CallClass) -> None:
    """The rule that held for every agent that has tools."""
    assert identity({}, path, **document).call_class is expected


@pytest.mark.parametrize(
    ("headers", "credential"),
    [
        ({"x-api-key": "[credential:x-api-key]"}, "api_key"),
        ({"authorization": "[credential:bearer]"}, "bearer"),
        ({}, "none"),
    ],
)
def test_attested_is_a_checksum_with_a_subscription(headers: dict[str, str], credential: str) -> None:
    """A checksum alone, with an API key, does not make a request untouchable."""
    system = [{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.332; cch=0a1b2;"}]
    found = identity({"user-agent": "claude-cli/2.1.332", **headers}, system=system, tools=[TOOL])

    assert found.credential == credential
    assert found.is_attested is (credential == "bearer")
    assert not identity({"user-agent": "claude-cli/2.1.332", **headers}, tools=[TOOL]).is_attested


@pytest.mark.parametrize(
    "document",
    [
        {"system": "# Environment\n - Primary working directory: /home/a/p\n"},
        {"system": [{"type": "text", "text": "Working directory: /home/a/p\nx"}]},
        {"messages": [{"role": "user", "content": "<cwd>/home/a/p</cwd>"}]},
        {
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "system", "content": "Current working directory: /home/a/p"},
            ]
        },
    ],
)
def test_the_working_directory_as_the_text_states_it(document: dict[str, Any]) -> None:
    """In the system prompt or in the first messages."""
    assert identity({}, **document).cwd_hint == "/home/a/p"


def test_odd_shapes_have_no_texts() -> None:
    """Nothing raises on a body of another shape."""
    assert texts_of(5) == () and texts_of([{"type": "image"}, 7]) == () and system_texts(None) == ()


def openai(headers: dict[str, str], path: str = "/v1/chat/completions", **document: Any) -> Identity:
    """Of a request in one of OpenAI's dialects."""
    said = [{"role": "user", "content": "hi"}]
    body = orjson.dumps({"model": "m", "messages" if path.endswith("completions") else "input": said, **document})
    named = tuple(headers.items())
    exchange = Exchange(
        "0" * 16, "POST", "https", "api.openai.com", 443, path, named, (), body, b"", 200, 1, None, 2, End.COMPLETE
    )
    endpoint = recognise("POST", "api.openai.com", path)
    assert endpoint is not None
    return identify(exchange, CODECS[endpoint.dialect].parse_request(body), endpoint)


SYSTEM_TOOL = {"type": "function", "function": {"name": "bash"}}


def test_opencodes_sub_agents_belong_to_their_parents_session() -> None:
    """Their own id is the agent's key."""
    headers = {"user-agent": "opencode/1.18.33", "x-session-id": "ses_b", "x-parent-session-id": "ses_a"}
    found = openai(headers, tools=[SYSTEM_TOOL])

    assert (found.session_id, found.agent_key, found.call_class) == ("ses_a", "ses_b", CallClass.SUBAGENT)
    alone = openai({"user-agent": "opencode/1.18.33", "x-session-id": "ses_a"}, tools=[SYSTEM_TOOL])
    assert (alone.session_id, alone.agent_key, alone.call_class) == ("ses_a", "", CallClass.MAIN)


@pytest.mark.parametrize(
    ("system", "harness", "expected"),
    [
        ("Act as an expert developer. Use a *SEARCH/REPLACE block*", "aider", CallClass.MAIN),
        (
            "You are an expert software engineer that generates concise, one-line Git commit messages",
            "aider",
            CallClass.SIDE,
        ),
        ("*Briefly* summarize this partial conversation about programming.", "aider", CallClass.COMPACTION),
        ("You are a helpful assistant that can interact with a computer.", "mini-swe-agent", CallClass.UNKNOWN),
        ("You are a context summarization assistant.", "unknown", CallClass.COMPACTION),
        ("You are a title generator.", "unknown", CallClass.TITLE),
        ("You are Cline, an AI coding agent.", "cline", CallClass.UNKNOWN),
        ("You are an agent in the Continue CLI. Given", "continue", CallClass.UNKNOWN),
        ("You are gptme v0.35.1, a general-purpose AI assistant", "gptme", CallClass.UNKNOWN),
    ],
)
def test_agents_that_only_their_prompts_tell(system: str, harness: str, expected: CallClass) -> None:
    """aider has no tools, so its prompt tells the main call from the side call."""
    found = openai(
        {"user-agent": "OpenAI/Python 2.20.0"},
        messages=[{"role": "system", "content": system}, {"role": "user", "content": "x"}],
    )

    assert (found.harness, found.call_class) == (harness, expected)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"client_name": "vibe_programmatic", "client_version": "3.0.2"}, ("mistral-vibe", "3.0.2")),
        ({"client_name": "vibe_programmatic", "client_version": 3}, ("mistral-vibe", "")),
        ({"client_name": "other"}, ("unknown", "")),
        ("vibe", ("unknown", "")),
    ],
)
def test_agents_that_their_metadata_tells(metadata: Any, expected: tuple[str, str]) -> None:
    """Mistral Vibe, whose user agent is its SDK's."""
    found = openai({"user-agent": "mistral-client-python/2.6.0"}, metadata=metadata)

    assert (found.harness, found.harness_version) == expected


def test_codex_over_http() -> None:
    """Read by its own rules, the working directory from the request's text."""
    where = {"role": "user", "content": "<environment_context><cwd>/w/app</cwd></environment_context>"}
    headers = {"user-agent": "codex_exec/0.171.0 (Linux)", "session-id": "s", "thread-id": "t", "authorization": "x"}
    found = openai(headers, "/v1/responses", input=[where], previous_response_id="resp_1")

    assert (found.harness, found.harness_version, found.session_id) == ("codex", "0.171.0", "s")
    assert (found.cwd_hint, found.credential, found.previous_message_id) == ("/w/app", "bearer", "resp_1")


def test_qwens_prompt() -> None:
    """Session and prompt stand in the body."""
    found = openai(
        {"user-agent": "QwenCode/0.24.4"}, metadata={"sessionId": "q", "promptId": "q########1"}, tools=[SYSTEM_TOOL]
    )

    assert (found.harness, found.session_id, found.prompt_id) == ("qwen-code", "q", "q########1")


def test_what_the_process_tells() -> None:
    """Where the request does not say which agent sent it; never against what it says."""
    unknown = openai({})

    assert at_workplace(unknown, "mini-swe-agent").harness == "mini-swe-agent"
    assert at_workplace(unknown, "aider").call_class is CallClass.MAIN
    assert at_workplace(unknown, "") is unknown
    known = openai({"user-agent": "opencode/1.0"})
    assert at_workplace(known, "aider") is known
