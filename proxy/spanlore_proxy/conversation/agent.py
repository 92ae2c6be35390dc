"""Who sent a request, in which session, and what the call was for: from its headers and body alone.

Facts: shared research, wire behaviour of real agents (§2-§6). Claude Code is read completely (`claude_code`); other
agents by their user agent, the headers or body fields they name their session with, and the rule that held for every
agent with tools: a main call offers tools, a title or summary call does not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Final, TypeGuard

from spanlore.genai.inference import CallClass, Dialect
from spanlore_proxy.conversation import claude_code, codex, gemini_cli
from spanlore_proxy.wire.dialect import Endpoint, Kind
from spanlore_proxy.wire.exchange import Exchange
from spanlore_proxy.wire.request import WireRequest


@dataclass(frozen=True, slots=True)
class Identity:
    """What a request says about itself."""

    session_id: str | None = None
    """As the client sent it; None when it names no session."""
    agent_key: str = ""
    """The client's id of a sub-agent; '' for the main agent, and where the client sends none."""
    agent_kind: str = ""
    """The client's name of the sub-agent's type, or of the agent where it has one, '' where unknown."""
    harness: str = "unknown"
    harness_version: str = ""
    call_class: CallClass = CallClass.UNKNOWN
    prompt_id: str | None = None
    """The client's id of the user prompt that this call serves; sub-agents carry their parent's."""
    previous_message_id: str | None = None
    """Response id of the call that this one continues, where the client says so."""
    is_attested: bool = False
    """The body carries the client's own checksum and a subscription credential: DESIGN.md, Attested."""
    credential: str = "none"
    """api_key, bearer or none."""
    cwd_hint: str = ""
    """Working directory as the request's text states it; '' where it does not."""
    is_compacted: bool = False
    """The client says that it has just replaced its history by a summary."""
    dialect: Dialect = Dialect.ANTHROPIC_MESSAGES
    provider: str = ""
    """gen_ai.provider.name of the endpoint."""
    operation: str = "chat"
    """gen_ai.operation.name of the endpoint."""


HARNESSES: Final[tuple[tuple[str, re.Pattern[str]], ...]] = (
    ("claude-code", re.compile(r"\bclaude-cli/(\S+)")),
    ("codex", re.compile(r"\bcodex[\w-]*/(\S+)")),
    ("opencode", re.compile(r"\bopencode/(\S+)")),
    ("gemini-cli", re.compile(r"\bGeminiCLI[\w-]*/([^/\s]+)")),
    ("qwen-code", re.compile(r"\bQwenCode/(\S+)")),
    ("aider", re.compile(r"\baider/(\S+)", re.I)),
    ("mini-swe-agent", re.compile(r"\bmini-?swe-?agent/(\S+)", re.I)),
    ("kimi-code", re.compile(r"\bkimi-code-cli/(\S+)")),
    ("kimi-cli", re.compile(r"\bKimiCLI/(\S+)")),
    ("mistral-vibe", re.compile(r"\bMistral-Vibe/(\S+)")),
    ("pi", re.compile(r"(?:^|\s)pi(?:-coding-agent)?/(\S+)")),
)
"""Agent and what tells it in a user agent; group 1 is the version."""

_SYSTEM_MARKS: Final = (
    ("opencode", "You are OpenCode"),
    ("opencode", "You are opencode"),
    ("pi", "operating inside pi, a coding agent harness"),
    ("aider", "SEARCH/REPLACE block"),
    ("aider", "concise, one-line Git commit messages"),
    ("aider", "*Briefly* summarize this partial conversation about programming"),
    ("mini-swe-agent", "You are a helpful assistant that can interact with a computer."),
    ("mini-swe-agent", "You are a helpful assistant that can interact multiple times with a computer shell"),
    ("claude-code", "You are Claude Code, Anthropic's official CLI"),
    ("openclaw", "You are a personal assistant running inside OpenClaw."),
    ("cline", "You are Cline, "),
    ("continue", "You are an agent in the Continue CLI."),
    ("gptme", "You are gptme"),
    ("copilot-cli", "You are the GitHub Copilot CLI"),
    ("kimi-code", "You are Kimi Code CLI"),
    ("grok-cli", "You are Grok CLI"),
)
"""For clients whose user agent is that of their SDK."""
_SESSION_HEADERS: Final = ("x-claude-code-session-id", "x-session-id", "session-id", "session_id")
_SESSION_FIELDS: Final = ("sessionId", "session_id")
"""Of the body's `metadata`: Qwen Code's, Mistral Vibe's."""
_CACHE_KEY: Final = re.compile(r"ses(?:s|sion)?[_-]\S{8,128}")
"""A `prompt_cache_key` that calls itself a session's (Kimi Code's: `session_` and a UUID). Any other may be shared."""
_CWD = re.compile(
    r"(?:Primary working directory|Working directory|Current working directory|<cwd>):? ?(?P<path>[^\n<]{1,1024})"
)
_SUMMARISERS: Final = (
    "context summarization agent",
    "context summarization assistant",
    "*Briefly* summarize this partial conversation",
)
"""OpenCode's, pi's and aider's system prompts of a compaction, which offers no tools."""
_AIDER_SIDE: Final = "concise, one-line Git commit messages"
_SUMMARISE: Final = (
    "You are the component that summarizes a conversation when its context window",
    "First, reason in your <analysis> block.",
)
"""Start of the last message of Qwen Code's compactions: one with the conversation's tools, and a second try without."""
_QWEN_MEMORY: Final = "Managed memory has TWO directories."
"""Start of the last message of the call that keeps its own memory, which has tools."""
_QWEN_AGENT: Final = "You are a general-purpose subagent working for a parent agent."
_TITLE_STARTS: Final = ("You are a title generator", "Generate a short title", "Generate a concise title")


def identify(exchange: Exchange, request: WireRequest | None, endpoint: Endpoint) -> Identity:
    """The identity of a request; `request` is None when its body could not be parsed. Never raises."""
    system = system_texts(request)
    harness, version = _harness(exchange.header("user-agent") or "", system)
    if harness == "unknown" and request is not None:
        harness, version = _by_metadata(request)
    if harness == "claude-code" or exchange.header("x-claude-code-session-id"):
        facts = claude_code.read_facts(exchange.request_headers, request, system)
        return Identity(
            session_id=facts.session_id or _session_id(exchange, request),
            agent_key=facts.agent_key,
            agent_kind=facts.agent_kind,
            harness="claude-code",
            harness_version=version,
            call_class=CallClass.COUNT_TOKENS if endpoint.kind == Kind.COUNT_TOKENS else facts.call_class,
            prompt_id=facts.prompt_id,
            previous_message_id=facts.previous_message_id,
            is_attested=facts.has_checksum and _credential(exchange) == "bearer",
            credential=_credential(exchange),
            cwd_hint=_cwd_hint(request, system),
            is_compacted=facts.is_compacted,
            dialect=endpoint.dialect,
            provider=endpoint.provider,
            operation=endpoint.operation,
        )
    if harness == "codex" or exchange.header("x-codex-turn-metadata"):
        return _of_codex(exchange, request, endpoint, version, system)
    session_id, parent = _session_id(exchange, request), exchange.header("x-parent-session-id")  # OpenCode's sub-agents
    call_class = _call_class(request, system, endpoint, harness)
    return Identity(
        session_id=parent or session_id,
        agent_key=session_id or "" if parent else "",
        harness=harness,
        harness_version=version,
        call_class=CallClass.SUBAGENT if parent and call_class is CallClass.MAIN else call_class,
        prompt_id=_prompt_id(request),
        previous_message_id=_previous_response_id(request),
        credential=_credential(exchange),
        cwd_hint=_cwd_hint(request, system),
        dialect=endpoint.dialect,
        provider=endpoint.provider,
        operation=endpoint.operation,
    )


def at_workplace(identity: Identity, workplace_harness: str) -> Identity:
    """The identity with what the process tells, where the request itself does not say which agent sent it."""
    if identity.harness != "unknown" or not workplace_harness:
        return identity
    is_aider = workplace_harness == "aider" and identity.call_class is CallClass.UNKNOWN
    call_class = CallClass.MAIN if is_aider else identity.call_class
    return replace(identity, harness=workplace_harness, call_class=call_class)


def _of_codex(
    exchange: Exchange, request: WireRequest | None, endpoint: Endpoint, version: str, system: tuple[str, ...]
) -> Identity:
    facts = codex.read_facts(exchange.request_headers, request, exchange.path)
    return Identity(
        session_id=facts.session_id,
        agent_key=facts.agent_key,
        agent_kind=facts.agent_kind,
        harness="codex",
        harness_version=version,
        call_class=CallClass.COUNT_TOKENS if endpoint.kind == Kind.COUNT_TOKENS else facts.call_class,
        prompt_id=facts.prompt_id,
        previous_message_id=_previous_response_id(request),
        credential=_credential(exchange),
        cwd_hint=_cwd_hint(request, system) or facts.cwd,
        is_compacted=facts.is_compacted,
        dialect=endpoint.dialect,
        provider=endpoint.provider,
        operation=endpoint.operation,
    )


def system_texts(request: WireRequest | None) -> tuple[str, ...]:
    """The system prompt's text blocks, whatever its shape."""
    if request is None:
        return ()
    raw = request.raw_system
    if isinstance(raw, str):
        return (raw,)
    return texts_of(raw)


def texts_of(content: Any) -> tuple[str, ...]:
    """Text of a string or of the text blocks of a list; () for anything else."""
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list):
        return ()
    return tuple(block["text"] for block in content if isinstance(block, dict) and isinstance(block.get("text"), str))


def _harness(user_agent: str, system: tuple[str, ...]) -> tuple[str, str]:
    for name, pattern in HARNESSES:
        found = pattern.search(user_agent)
        if found:
            return name, found[1].rstrip(",;)")
    head = "\n".join(text[:4000] for text in system[:2])
    return next((name for name, mark in _SYSTEM_MARKS if mark in head), "unknown"), ""


def _by_metadata(request: WireRequest) -> tuple[str, str]:
    """Mistral Vibe's `client_name` and `client_version` (3.0)."""
    metadata = request.document.get("metadata")
    client = metadata.get("client_name") if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(client, str) or not client.startswith("vibe"):
        return "unknown", ""
    version = metadata.get("client_version")
    return "mistral-vibe", version if isinstance(version, str) else ""


def _session_id(exchange: Exchange, request: WireRequest | None) -> str | None:
    for name in _SESSION_HEADERS:
        value = exchange.header(name)
        if value:
            return value
    if request is None:
        return None
    if _is_gemini(request):
        return gemini_cli.read_envelope(request).session_id
    metadata = request.document.get("metadata")
    told = [metadata.get(name) for name in _SESSION_FIELDS] if isinstance(metadata, dict) else []
    if named := next((session for session in told if isinstance(session, str) and session), None):
        return named
    key = request.document.get("prompt_cache_key")
    return key if isinstance(key, str) and _CACHE_KEY.fullmatch(key) else None


def _prompt_id(request: WireRequest | None) -> str | None:
    if request is None:
        return None
    if _is_gemini(request):
        return gemini_cli.read_envelope(request).prompt_id
    metadata = request.document.get("metadata")
    prompt = metadata.get("promptId") if isinstance(metadata, dict) else None  # qwen-code
    return prompt if isinstance(prompt, str) and prompt else None


def _previous_response_id(request: WireRequest | None) -> str | None:
    value = request.document.get("previous_response_id") if request is not None else None
    return value if isinstance(value, str) and value else None


def _is_gemini(request: WireRequest | None) -> TypeGuard[WireRequest]:
    return request is not None and request.dialect is Dialect.GEMINI


def _call_class(request: WireRequest | None, system: tuple[str, ...], endpoint: Endpoint, harness: str) -> CallClass:
    if endpoint.kind == Kind.COUNT_TOKENS:
        return CallClass.COUNT_TOKENS
    if request is None:
        return CallClass.UNKNOWN
    if _is_gemini(request) and (found := gemini_cli.call_class(request, system, harness)) is not None:
        return found
    if harness == "qwen-code" and (found := _qwen_class(request, system)) is not None:
        return found
    if request.raw_tools:
        return CallClass.MAIN
    if any(mark in text[:2000] for text in system for mark in _SUMMARISERS):
        return CallClass.COMPACTION
    if harness == "aider":  # has no tools
        return CallClass.SIDE if any(_AIDER_SIDE in text[:2000] for text in system) else CallClass.MAIN
    if any(text.lstrip().startswith(_TITLE_STARTS) for text in system):
        return CallClass.TITLE
    if request.parameters.max_tokens == 1:
        return CallClass.PROBE
    return CallClass.UNKNOWN


def _qwen_class(request: WireRequest, system: tuple[str, ...]) -> CallClass | None:
    """What a call of Qwen Code is for, where its words tell; None where the generic rules do."""
    last = request.raw_messages[-1] if request.raw_messages else {}
    said = texts_of(last.get("content"))[-1:] if last.get("role") == "user" else ()
    if any(text.lstrip().startswith(_SUMMARISE) for text in said):
        return CallClass.COMPACTION
    if any(text.lstrip().startswith(_QWEN_MEMORY) for text in said):
        return CallClass.SIDE
    return CallClass.SUBAGENT if any(text.lstrip().startswith(_QWEN_AGENT) for text in system) else None


def _credential(exchange: Exchange) -> str:
    if exchange.header("x-api-key") or exchange.header("api-key") or exchange.header("x-goog-api-key"):
        return "api_key"
    if "[credential:query]" in exchange.path:
        return "api_key"
    return "bearer" if exchange.header("authorization") else "none"


def _cwd_hint(request: WireRequest | None, system: tuple[str, ...]) -> str:
    """From the system prompt, else from the first messages, where newer agents put their environment; after a
    compaction it comes behind the summary."""
    for text in system:
        if path := _stated_cwd(text):
            return path
    for raw in request.raw_messages[:4] if request is not None else ():
        for text in texts_of(raw.get("content")):
            if path := _stated_cwd(text[:65_536]):
                return path
    return ""


def _stated_cwd(text: str) -> str:
    if "orking directory" not in text and "<cwd>" not in text:  # far cheaper than the pattern on a long prompt
        return gemini_cli.stated_cwd(text)
    found = _CWD.search(text)
    return found["path"].strip() if found else ""
