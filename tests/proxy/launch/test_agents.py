"""What an agent is told on its command line."""

import pytest

from spanlore_proxy.launch.agents import takes_client_block, with_client_block


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
