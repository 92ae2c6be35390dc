"""What agents are told in base-URL mode."""

import json
import tomllib
from pathlib import Path

import pytest

from spanlore_proxy.launch.base_urls import (
    VARIABLES,
    addresses_for,
    base_url_environment,
    codex_setting,
    notes,
    origin_url,
    upstreams_of,
    with_base_url,
)

ORIGIN = "http://127.0.0.1:7717/r/run-ab:t0"
EXEMPT = "localhost,127.0.0.1,::1"


def told(harness: str, folder: Path, **environ: str) -> dict[str, str]:
    """The variables of an agent, without NO_PROXY."""
    found = base_url_environment(addresses_for(harness, environ, folder), ORIGIN, environ)
    assert found.pop("NO_PROXY") == found.pop("no_proxy") == EXEMPT
    return found


def codex_home(folder: Path, config: str = "", auth: object = None) -> dict[str, str]:
    (folder / "config.toml").write_text(config)
    (folder / "auth.json").write_text(json.dumps(auth))
    return {"CODEX_HOME": str(folder), "HOME": str(folder)}


def test_origin() -> None:
    """The run's credentials stand in the path, since no header carries them."""
    assert origin_url(7717, "run-ab", "t0") == ORIGIN


@pytest.mark.parametrize(
    ("harness", "variables"),
    [
        ("claude-code", {"ANTHROPIC_BASE_URL": "/anthropic"}),
        ("opencode", {"ANTHROPIC_BASE_URL": "/anthropic/v1", "OPENAI_BASE_URL": "/openai/v1"}),
        ("gemini-cli", {"GOOGLE_GEMINI_BASE_URL": "/gemini", "CODE_ASSIST_ENDPOINT": "/code-assist"}),
        ("qwen-code", {"OPENAI_BASE_URL": "/openai/v1"}),
        ("codex", {}),
        ("pi", {}),
        (
            "aider",
            {
                "OPENAI_BASE_URL": "/openai/v1",
                "OPENAI_API_BASE": "/openai/v1",
                "ANTHROPIC_BASE_URL": "/anthropic",
                "ANTHROPIC_API_BASE": "/anthropic",
                "OPENROUTER_API_BASE": "/openrouter/api/v1",
            },
        ),
        (
            "unknown",
            {
                "ANTHROPIC_BASE_URL": "/anthropic",
                "OPENAI_BASE_URL": "/openai/v1",
                "OPENAI_API_BASE": "/openai/v1",
                "GOOGLE_GEMINI_BASE_URL": "/gemini",
            },
        ),
    ],
)
def test_each_agents_own_variables(harness: str, variables: dict[str, str], tmp_path: Path) -> None:
    """Each reads its own, and expects its own ending; none gets HTTPS_PROXY or a CA."""
    assert told(harness, tmp_path) == {name: ORIGIN + path for name, path in variables.items()}
    assert VARIABLES["mini-swe-agent"] == VARIABLES["aider"]


@pytest.mark.parametrize(
    ("own", "base_url", "upstream"),
    [
        ("https://gw.example/openai/v1", f"{ORIGIN}/OPENAI_BASE_URL/v1", "https://gw.example/openai"),
        ("http://localhost:4000/", f"{ORIGIN}/OPENAI_BASE_URL", "http://localhost:4000"),
        ("localhost:4000", f"{ORIGIN}/openai/v1", None),
        ("", f"{ORIGIN}/openai/v1", None),
    ],
)
def test_the_users_gateway_stays(own: str, base_url: str, upstream: str | None, tmp_path: Path) -> None:
    """A base URL of the user's own is where requests go on to; whole, whichever ending it has."""
    addresses = addresses_for("qwen-code", {"OPENAI_BASE_URL": own}, tmp_path)

    assert told("qwen-code", tmp_path, OPENAI_BASE_URL=own) == {"OPENAI_BASE_URL": base_url}
    assert upstreams_of(addresses) == ({"OPENAI_BASE_URL": upstream} if upstream else {})


def test_our_own_is_no_gateway(tmp_path: Path) -> None:
    """In a shell that has our base URLs already, they are replaced; a gateway behind them is kept."""
    (tmp_path / "shell-1.json").write_text(json.dumps({"upstreams": {"OPENAI_BASE_URL": "https://gw.example"}}))
    ours = "http://127.0.0.1:7717/r/shell-1:t0"

    assert addresses_for("qwen-code", {"OPENAI_BASE_URL": f"{ours}/openai/v1"}, tmp_path).own == {}
    assert addresses_for("qwen-code", {"OPENAI_BASE_URL": f"{ours}/OPENAI_BASE_URL/v1"}, tmp_path).own == {
        "OPENAI_BASE_URL": "https://gw.example/v1"
    }
    assert addresses_for("qwen-code", {"OPENAI_BASE_URL": "http://127.0.0.1:1/r/run-9:t/openai"}, tmp_path).own == {}


@pytest.mark.parametrize(
    ("line", "before"),
    [
        ("codex exec x", "codex"),
        ("npx -y @openai/codex exec", "npx -y @openai/codex"),
        ("npx -p @openai/codex codex exec", "npx -p @openai/codex codex"),
        ("timeout 60s codex", "timeout 60s codex"),
    ],
)
def test_codex_is_told_by_a_flag(line: str, before: str, tmp_path: Path) -> None:
    """codex ignores variables; its setting goes behind the program, before the words of the user."""
    argv = with_base_url(line.split(), addresses_for("codex", codex_home(tmp_path), tmp_path), ORIGIN)

    place = len(before.split())
    assert argv[:place] == before.split()
    assert argv[place] == "-c"
    assert tomllib.loads(argv[place + 1]) == {"openai_base_url": f"{ORIGIN}/openai/v1"}
    assert argv[place + 2 :] == line.split()[place:]


def test_codex_with_a_setting_of_the_users(tmp_path: Path) -> None:
    """On the command line it stands, and the user is told; from the configuration it becomes the upstream."""
    line = ["codex", "-c", 'openai_base_url = "https://gw.example/v1"', "exec"]
    environ = codex_home(tmp_path, 'openai_base_url = "https://gw.example/v1"')
    addresses = addresses_for("codex", environ, tmp_path)

    assert with_base_url(line, addresses, ORIGIN) == line
    assert "nothing is captured" in notes(line, addresses, environ)[-1]
    assert codex_setting(addresses, ORIGIN) == f'openai_base_url="{ORIGIN}/openai_base_url/v1"'
    assert upstreams_of(addresses) == {"openai_base_url": "https://gw.example"}


@pytest.mark.parametrize(
    ("auth", "environ", "ending"),
    [
        ({"OPENAI_API_KEY": None, "tokens": {"access_token": "x"}}, {}, "/chatgpt/backend-api/codex"),
        ({"OPENAI_API_KEY": "k", "tokens": None}, {}, "/openai/v1"),
        ({"OPENAI_API_KEY": None, "tokens": {"access_token": "x"}}, {"CODEX_API_KEY": "k"}, "/openai/v1"),
        ([], {}, "/openai/v1"),
    ],
)
def test_codex_with_a_login_asks_another_api(
    auth: object, environ: dict[str, str], ending: str, tmp_path: Path
) -> None:
    """A ChatGPT login is worth nothing at api.openai.com: its own API is named then."""
    addresses = addresses_for("codex", codex_home(tmp_path, auth=auth) | environ, tmp_path)

    assert codex_setting(addresses, ORIGIN) == f'openai_base_url="{ORIGIN}{ending}"'


@pytest.mark.parametrize("line", ["claude -p x", "opencode run", "ls codex"])
def test_other_command_lines_stay(line: str, tmp_path: Path) -> None:
    """Only codex needs a flag."""
    harness = "unknown" if line.startswith("ls") else "claude-code"

    assert with_base_url(line.split(), addresses_for(harness, {}, tmp_path), ORIGIN) == line.split()


@pytest.mark.parametrize(
    ("harness", "environ", "words"),
    [
        ("claude-code", {"ANTHROPIC_API_KEY": "k"}, ""),
        ("claude-code", {}, "subscription"),
        (
            "claude-code",
            {"ANTHROPIC_AUTH_TOKEN": "t", "ANTHROPIC_BASE_URL": "https://me:secret@gw.example/x"},
            "https://gw.example/x",
        ),
        ("claude-code", {"CLAUDE_CODE_USE_BEDROCK": "1"}, "Bedrock"),
        ("pi", {}, "pi reads no base URL"),
        ("gemini-cli", {}, "selectedType"),
        ("codex", {}, ""),
    ],
)
def test_notes(harness: str, environ: dict[str, str], words: str, tmp_path: Path) -> None:
    """What would make a user wonder is said beforehand, without credentials."""
    environ = {"HOME": str(tmp_path), **environ}
    found = notes((), addresses_for(harness, environ, tmp_path), environ)

    assert len(found) == bool(words)
    assert words in "".join(found)
    assert "secret" not in "".join(found)


def test_notes_of_codex_and_gemini_files(tmp_path: Path) -> None:
    """codex with a provider of its own is not led here; gemini with a login selected needs no note."""
    environ = codex_home(tmp_path, 'model_provider = "mine"')
    (tmp_path / ".gemini").mkdir()
    selected = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (tmp_path / ".gemini" / "settings.json").write_text(json.dumps(selected))

    assert "model_provider" in notes((), addresses_for("codex", environ, tmp_path), environ)[0]
    assert notes((), addresses_for("gemini-cli", environ, tmp_path), environ) == []
