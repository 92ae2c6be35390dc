"""The real agents of the matrix: how each is started without anybody at the keyboard, and how it tells what happened.

Pinned in tools/agents, installed by tools/agents.sh below .cache/agents. The facts were measured on these versions.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from spanlore.genai.inference import Dialect
from support.model_server import Reply, Say, UseTool

INSTALLED = Path(__file__).parents[2] / ".cache" / "agents"
FAILING = "cat no-such-file-here; exit 3"
WORKING = "echo it-works"
DONE = "All done."

type Tool = Callable[[str], UseTool]
"""A shell command as the agent's own tool."""


def _shell(name: str, key: str = "command", **more: Any) -> Tool:
    return lambda command: UseTool(name, {key: command} | more)


@dataclass(frozen=True, slots=True)
class RealAgent:
    """One agent, speaking one dialect."""

    name: str
    harness: str
    dialect: Dialect
    program: str
    """Below .cache/agents."""
    arguments: tuple[str, ...]
    """`{prompt}` is put in."""
    environment: Mapping[str, str]
    tool: Tool | None
    """None when it has no tools."""
    package: str = ""
    """Folder in tools/agents that pins it; '' is claude-code's."""
    trusts: str = "NODE_EXTRA_CA_CERTS"
    """The one variable that is enough for it to trust the proxy."""
    failure: str = "failure"
    """What the failing command's outcome has to be: `unknown` where the agent does not say."""
    exit_code: int | None = 3
    home: Mapping[str, str] = field(default_factory=dict)
    """Files that it needs in its HOME."""
    is_socket: bool = False
    """It speaks over a WebSocket."""
    last: UseTool | None = None
    """What ends the session, where words do not."""
    own_names: frozenset[str] = frozenset()
    """Hosts of its maker that it asks without the proxy; no model answers there."""
    node: int = 0
    """The least version of Node it runs on, when that of the machine may be older."""

    def command(self, prompt: str) -> list[str]:
        words = [word.format(prompt=prompt) for word in self.arguments]
        return [*_node(self.node, self.program), str(INSTALLED / self.program), *words]

    def missing(self) -> str:
        """Why it cannot run here; '' when it can."""
        if not (INSTALLED / self.program).exists():
            return f"{self.name} is not installed: `make test-agents` installs it, see tools/agents.sh"
        if self.node and not _node(self.node, self.program):
            return f"{self.name} needs Node {self.node}, and neither this machine nor the registry's package has it"
        return ""

    def furnish(self, home: Path) -> None:
        """Writes its files into a fresh HOME."""
        for name, text in self.home.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def answer(self, results: int) -> Reply:
        """The scripted model: a command that fails, one that works, the end."""
        if self.tool is None:
            return Reply((Say(DONE),))
        match results:
            case 0:
                return Reply((Say("I try it."), self.tool(FAILING)))
            case 1:
                return Reply((Say("That failed; another way."), self.tool(WORKING)))
            case 2 if self.last:
                return Reply((self.last,))
            case _:
                return Reply((Say(DONE),))


@cache
def _node(least: int, program: str) -> tuple[str, ...]:
    """The Node to run it with; () for the machine's own, and when there is none new enough."""
    if not least:
        return ()
    packaged = (INSTALLED / program).parent / "node"
    for candidate in (packaged, Path(shutil.which("node") or packaged)):
        if candidate.exists():
            told = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
            if told.startswith("v") and int(told[1:].split(".")[0]) >= least:
                return (str(candidate),)
    return ()


def _bin(package: str, name: str) -> str:
    return f"{package}/node_modules/.bin/{name}"


ANTHROPIC_KEY = {"ANTHROPIC_API_KEY": "sk-ant-api03-not-a-key"}
OPENAI_KEY = {"OPENAI_API_KEY": "sk-not-a-key"}
NO_PRICES = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Not fetched from the network, three times in vain."""
GEMINI_KEY = {"GEMINI_API_KEY": "AIza-not-a-key"}
CODEX = ("exec", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")
CODEX_HOME = {".codex/auth.json": json.dumps(OPENAI_KEY)}
PLAIN = (
    'model_providers.plain={{name="plain", base_url="https://api.openai.com/v1", env_key="OPENAI_API_KEY", '
    'wire_api="responses"}}'
)
GEMINI_SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
}

QUIET_OPENCODE = {
    f"OPENCODE_DISABLE_{what}": "1" for what in ("AUTOUPDATE", "LSP_DOWNLOAD", "MODELS_FETCH", "DEFAULT_PLUGINS")
}


def _exec(command: str) -> UseTool:
    """Codex' code mode: JavaScript that calls its tools and prints what it likes."""
    code = f"const r = await tools.exec_command({{cmd: {json.dumps(command)}}}); text(JSON.stringify(r));"
    return UseTool("exec", {"input": code})


def _pi(provider: str, model: str, dialect: Dialect, key: Mapping[str, str]) -> RealAgent:
    return RealAgent(
        name=f"pi-{provider}",
        package="pi",
        harness="pi",
        dialect=dialect,
        program=_bin("pi", "pi"),
        arguments=("-p", "{prompt}", "--provider", provider, "--model", model),
        environment=key,
        tool=_shell("bash"),
    )


def _opencode(model: str, dialect: Dialect, key: Mapping[str, str]) -> RealAgent:
    provider = model.partition("/")[0]
    return RealAgent(
        name=f"opencode-{provider}",
        package="opencode",
        harness="opencode",
        dialect=dialect,
        program=_bin("opencode", "opencode"),
        arguments=("run", "-m", model, "{prompt}"),
        environment={**key, **QUIET_OPENCODE},
        tool=_shell("bash", description="Run it"),
        failure="unknown",
        exit_code=None,
    )


CONTINUE_CONFIG = """name: tally
version: 1.0.0
schema: v1
models:
  - {name: Claude, provider: anthropic, model: claude-sonnet-4-5, apiKey: sk-ant-api03-not-a-key, roles: [chat, edit]}
"""


def _cline(provider: str, model: str, dialect: Dialect) -> RealAgent:
    return RealAgent(
        name=f"cline-{provider}",
        package="cline",
        harness="cline",
        dialect=dialect,
        program=_bin("cline", "cline"),
        arguments=("-P", provider, "-k", "sk-not-a-key", "-m", model, "{prompt}"),
        environment={},
        tool=lambda command: UseTool("run_commands", {"commands": [command]}),
    )


def _copilot(provider: str, model: str, dialect: Dialect, **more: str) -> RealAgent:
    """With a key of one's own, and nothing of GitHub's."""
    return RealAgent(
        name=f"copilot-{provider}",
        package="copilot-cli",
        harness="copilot-cli",
        dialect=dialect,
        program=_bin("copilot-cli", "copilot"),
        arguments=("-p", "{prompt}", "--allow-all-tools", "--no-color"),
        environment={
            "COPILOT_PROVIDER_API_KEY": "sk-not-a-key",
            "COPILOT_MODEL": model,
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
            **more,
        },
        tool=_shell("bash", description="Run it"),
    )


AGENTS = (
    RealAgent(
        name="claude-code",
        harness="claude-code",
        dialect=Dialect.ANTHROPIC_MESSAGES,
        program="node_modules/.bin/claude",
        arguments=("-p", "{prompt}", "--dangerously-skip-permissions", "--model", "claude-sonnet-4-5"),
        environment=ANTHROPIC_KEY | {"IS_SANDBOX": "1", "DISABLE_AUTOUPDATER": "1"},
        tool=_shell("Bash", description="Run it"),
    ),
    RealAgent(
        name="codex",
        package="codex",
        trusts="CODEX_CA_CERTIFICATE",
        harness="codex",
        dialect=Dialect.OPENAI_RESPONSES,
        program=_bin("codex", "codex"),
        arguments=(*CODEX, "-m", "gpt-5.1-codex", "{prompt}"),
        environment=OPENAI_KEY,
        home=CODEX_HOME,
        tool=_shell("exec_command", "cmd"),
        is_socket=True,
    ),
    RealAgent(
        name="codex-code-mode",
        package="codex",
        trusts="CODEX_CA_CERTIFICATE",
        harness="codex",
        dialect=Dialect.OPENAI_RESPONSES,
        program=_bin("codex", "codex"),
        arguments=(*CODEX, "-m", "gpt-6.2-sol", "{prompt}"),
        environment=OPENAI_KEY,
        home=CODEX_HOME,
        tool=_exec,
        is_socket=True,
    ),
    RealAgent(
        name="codex-http",
        package="codex",
        trusts="CODEX_CA_CERTIFICATE",
        harness="codex",
        dialect=Dialect.OPENAI_RESPONSES,
        program=_bin("codex", "codex"),
        # A provider of one's own is spoken to without WebSocket.
        arguments=(*CODEX, "-m", "gpt-5.1-codex", "-c", 'model_provider="plain"', "-c", PLAIN, "{prompt}"),
        environment=OPENAI_KEY,
        home=CODEX_HOME,
        tool=_shell("exec_command", "cmd"),
    ),
    _opencode("anthropic/claude-sonnet-4-5", Dialect.ANTHROPIC_MESSAGES, ANTHROPIC_KEY),
    _opencode("openai/gpt-5.4", Dialect.OPENAI_RESPONSES, OPENAI_KEY),
    RealAgent(
        name="gemini-cli",
        package="gemini-cli",
        harness="gemini-cli",
        dialect=Dialect.GEMINI,
        program=_bin("gemini-cli", "gemini"),
        arguments=("-p", "{prompt}", "--yolo", "--skip-trust", "-m", "gemini-2.5-pro"),
        environment=GEMINI_KEY,
        home={".gemini/settings.json": json.dumps(GEMINI_SETTINGS)},
        tool=_shell("run_shell_command"),
    ),
    _pi("anthropic", "claude-sonnet-4-5", Dialect.ANTHROPIC_MESSAGES, ANTHROPIC_KEY),
    _pi("openai", "gpt-5.1-codex", Dialect.OPENAI_RESPONSES, OPENAI_KEY),
    _pi("google", "gemini-2.5-pro", Dialect.GEMINI, GEMINI_KEY),
    _pi("groq", "openai/gpt-oss-120b", Dialect.OPENAI_CHAT, {"GROQ_API_KEY": "gsk_not-a-key"}),
    RealAgent(
        name="qwen-code",
        package="qwen-code",
        harness="qwen-code",
        dialect=Dialect.OPENAI_CHAT,
        program=_bin("qwen-code", "qwen"),
        arguments=("-p", "{prompt}", "--yolo", "--auth-type", "openai"),
        environment=OPENAI_KEY
        | {"OPENAI_BASE_URL": "https://api.openai.com/v1", "OPENAI_MODEL": "gpt-4.1", "QWEN_SANDBOX": "false"},
        tool=_shell("run_shell_command", is_background=False),
        node=22,
    ),
    RealAgent(
        name="openclaw",
        package="openclaw",
        harness="openclaw",
        dialect=Dialect.ANTHROPIC_MESSAGES,
        program=_bin("openclaw", "openclaw"),
        arguments=("agent", "exec", "{prompt}", "--model", "anthropic/claude-sonnet-4-6"),
        environment=ANTHROPIC_KEY,
        tool=_shell("exec"),
        node=24,
    ),
    _cline("anthropic", "claude-sonnet-4-5", Dialect.ANTHROPIC_MESSAGES),
    _cline("openai", "gpt-4.1", Dialect.OPENAI_CHAT),
    RealAgent(
        name="continue",
        package="continue",
        harness="continue",
        dialect=Dialect.ANTHROPIC_MESSAGES,
        program=_bin("continue", "cn"),
        arguments=("-p", "{prompt}", "--auto"),
        environment={"CONTINUE_TELEMETRY_ENABLED": "0"},
        home={".continue/config.yaml": CONTINUE_CONFIG},
        tool=_shell("Bash"),
        own_names=frozenset({"api.continue.dev"}),
    ),
    _copilot(
        "anthropic",
        "claude-sonnet-4-5",
        Dialect.ANTHROPIC_MESSAGES,
        COPILOT_PROVIDER_BASE_URL="https://api.anthropic.com",
        COPILOT_PROVIDER_TYPE="anthropic",
    ),
    _copilot("openai", "gpt-4.1", Dialect.OPENAI_CHAT, COPILOT_PROVIDER_BASE_URL="https://api.openai.com/v1"),
    _copilot(
        "responses",
        "gpt-5.1-codex",
        Dialect.OPENAI_RESPONSES,
        COPILOT_PROVIDER_BASE_URL="https://api.openai.com/v1",
        COPILOT_PROVIDER_WIRE_API="responses",
    ),
    RealAgent(
        name="kimi-code",
        package="kimi-code",
        harness="kimi-code",
        dialect=Dialect.OPENAI_CHAT,
        program=_bin("kimi-code", "kimi"),
        arguments=("-p", "{prompt}"),
        environment={
            "KIMI_MODEL_PROVIDER_TYPE": "kimi",
            "KIMI_MODEL_BASE_URL": "https://api.moonshot.ai/v1",
            "KIMI_MODEL_API_KEY": "sk-not-a-key",
            "KIMI_MODEL_NAME": "kimi-k2-turbo-preview",
            "KIMI_CODE_NO_AUTO_UPDATE": "1",
        },
        tool=_shell("Bash", description="Run it"),
        node=22,
    ),
    RealAgent(
        name="grok-cli",
        package="grok-cli",
        harness="grok-cli",
        dialect=Dialect.OPENAI_CHAT,
        program=_bin("grok-cli", "grok"),
        arguments=("-p", "{prompt}"),
        environment={"GROK_API_KEY": "xai-not-a-key"},
        tool=_shell("bash"),
        exit_code=None,
        node=22,
    ),
    RealAgent(
        name="mini-swe-agent",
        package="mini-swe-agent",
        trusts="SSL_CERT_FILE",
        harness="mini-swe-agent",
        dialect=Dialect.OPENAI_CHAT,
        program="mini-swe-agent/bin/mini",
        arguments=("-m", "openai/gpt-4.1", "-t", "{prompt}", "-y", "--exit-immediately"),
        environment=OPENAI_KEY | {"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"} | NO_PRICES,
        tool=_shell("bash"),
        last=UseTool("bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}),
    ),
    RealAgent(
        name="aider",
        package="aider",
        trusts="SSL_CERT_FILE",
        harness="aider",
        dialect=Dialect.OPENAI_CHAT,
        program="aider/bin/aider",
        arguments=(
            "--model", "openai/gpt-4.1", "--yes-always", "--no-check-update", "--no-show-model-warnings",
            "--analytics-disable", "--no-gitignore", "--no-auto-commits", "--message", "{prompt}",
        ),
        environment=OPENAI_KEY | NO_PRICES,
        tool=None,
    ),
)  # fmt: skip
