from pathlib import Path

from spanlore_proxy.demo.drivers import LOCAL_CLAUDE, ClaudeCode, ScriptedAgent, find_claude


def test_claude_resumes_a_session_it_started() -> None:
    """The first prompt names the session, later ones resume it; the key is none and other traffic is off."""
    claude = ClaudeCode(Path("claude"))

    assert "--session-id" in claude.command("s1", "hi", is_first=True)
    assert "--resume" in claude.command("s1", "more", is_first=False)
    assert claude.environment["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == "1"


def test_scripted_agent_needs_nothing() -> None:
    """The small agent runs with this interpreter."""
    command = ScriptedAgent().command("s1", "hi", is_first=True)

    assert command[1:4] == ["-m", "spanlore_proxy.demo.agent", "hi"]


def test_local_binary_is_found(tmp_path: Path) -> None:
    """Where no claude is on PATH, the one that the tests installed below the checkout is taken."""
    binary = tmp_path / LOCAL_CLAUDE
    binary.parent.mkdir(parents=True)
    binary.touch()

    assert find_claude(tmp_path) is not None
