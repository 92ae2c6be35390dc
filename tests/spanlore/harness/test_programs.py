"""Which agent a command line starts."""

import pytest

from spanlore.harness.programs import agent_position, harness_of


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
        ("npx -y cline -P anthropic", "cline"),
        ("cn -p x", "continue"),
        ("npx @continuedev/cli", "continue"),
        ("uvx gptme x", "gptme"),
        ("vibe -p x", "mistral-vibe"),
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
