"""Which agent a command line starts."""

import pytest

from spanlore_proxy.launch.agents import agent_position, harness_of, takes_client_block, with_client_block


@pytest.mark.parametrize(
    ("line", "harness"),
    [
        ("claude", "claude-code"),
        ("claude -p hello --model x", "claude-code"),
        ("/opt/agents/node_modules/.bin/claude", "claude-code"),
        ("bin/claude.exe", "claude-code"),
        ("npx -y @anthropic-ai/claude-code@2.1.332 -p x", "claude-code"),
        ("node lib/node_modules/@anthropic-ai/claude-code/cli.js", "claude-code"),
        ("env X=1 nice -n 5 claude", "claude-code"),
        ("timeout 60s codex exec", "codex"),
        ("bunx @openai/codex", "codex"),
        ("opencode run", "opencode"),
        ("gemini -p x", "gemini-cli"),
        ("pi -p x", "pi"),
        ("uvx --from mini-swe-agent mini", "mini-swe-agent"),
        ("python -m aider", "aider"),
        ("qwen", "qwen-code"),
        ("make claude", "unknown"),
        ("bash -c claude-wrapper", "unknown"),
        ("ls", "unknown"),
        ("", "unknown"),
    ],
)
def test_harness(line: str, harness: str) -> None:
    """Known programs are seen through wrappers; anything else is unknown, never guessed."""
    assert harness_of(line.split()) == harness


@pytest.mark.parametrize(
    ("line", "position"),
    [
        ("codex exec", 0),
        ("env X=1 codex codex", 2),
        ("npx -p @openai/codex codex exec", 3),
        ("npx -y @openai/codex exec", 2),
        ("ls codex", None),
        ("", None),
    ],
)
def test_which_word_is_the_agent(line: str, position: int | None) -> None:
    """What stands behind it are the agent's own words; a package is followed by its program where npx is told so."""
    assert agent_position(line.split()) == position


@pytest.mark.parametrize("line", ["claude", "claude -p x", "bin/claude --resume", "claude fix the mcp server"])
def test_subscription_client_takes_the_block(line: str) -> None:
    """Claude Code without a key signs its requests, so the block is handed to it."""
    assert takes_client_block(line.split(), {})


@pytest.mark.parametrize(
    ("line", "environ"),
    [
        ("claude", {"ANTHROPIC_API_KEY": "k"}),
        ("claude", {"ANTHROPIC_AUTH_TOKEN": "k"}),
        ("claude", {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}),
        ("claude", {"CLAUDE_CODE_USE_BEDROCK": "1"}),
        ("claude --append-system-prompt mine", {}),
        ("claude --append-system-prompt=mine", {}),
        ("claude -p x --append-system-prompt-file f", {}),
        ("claude --system-prompt mine", {}),
        ("claude mcp list", {}),
        ("claude update", {}),
        ("codex", {}),
        ("npx @anthropic-ai/claude-code", {}),
        ("", {}),
    ],
)
def test_no_block_for_others(line: str, environ: dict[str, str]) -> None:
    """Not with a key or another upstream, not over the user's own prompt, not for sub-commands or other agents."""
    assert not takes_client_block(line.split(), environ)


def test_block_goes_before_the_users_words() -> None:
    """The flag stands right behind the program; without a block the command line is untouched."""
    assert with_client_block(["claude", "-p", "x"], "text") == ["claude", "--append-system-prompt", "text", "-p", "x"]
    assert with_client_block(["claude", "-p", "x"], "") == ["claude", "-p", "x"]
