"""Who runs a command: told from the environment, the ancestors and the terminal."""

from __future__ import annotations

import pytest

from spanlore.harness.caller import RUN, RUN_AGENT, agent_of, calling_agent, run_marks
from spanlore.harness.programs import started_program

SHELL = ["/bin/zsh", "-c", "source snapshot.sh && eval 'spanlore remember x'"]
CLAUDE = ["claude", "-p", "fix it"]


@pytest.mark.parametrize("has_terminal", [True, False])
@pytest.mark.parametrize(
    "program",
    [
        CLAUDE,
        ["node", "--no-warnings", "/usr/lib/node_modules/@openai/codex/bin/codex.js", "exec"],
        ["/opt/codex-linux/codex", "exec"],
        ["/x/venv/bin/python3.12", "/x/venv/bin/aider"],
        ["python3", "-m", "aider"],
        ["node", "/usr/lib/node_modules/@google/gemini-cli/bundle/gemini.js"],
        ["/home/u/.local/bin/cursor-agent"],
        ["goose", "session"],
    ],
)
def test_an_agent_among_the_ancestors(program: list[str], has_terminal: bool) -> None:
    """However far up, with every variable taken away, and whether or not its shell has a terminal."""
    assert calling_agent({}, [SHELL, ["make"], program, ["bash"]], has_terminal=has_terminal)


@pytest.mark.parametrize(
    "mark",
    [
        "CLAUDECODE", "CODEX_SANDBOX", "CODEX_THREAD_ID", "OPENCODE", "GEMINI_CLI", "QWEN_CODE", "PI_CODING_AGENT",
        "OPENCLAW_SHELL", "CURSOR_AGENT", "AI_AGENT",
    ],
)  # fmt: skip
def test_an_agents_mark_counts_where_nobody_sits(mark: str) -> None:
    """The agent is gone, or its process tells nothing (a sandbox); a terminal that inherited the mark is a person's."""
    assert calling_agent({mark: "1"}, [SHELL], has_terminal=False)
    assert not calling_agent({mark: "1"}, [["zsh"], ["code"]], has_terminal=True)
    assert not calling_agent({mark: "0"}, [SHELL], has_terminal=False)


@pytest.mark.parametrize("has_terminal", [True, False])
@pytest.mark.parametrize(
    "ancestors",
    [
        [],
        [["-bash"], ["sshd: u@pts/0"], ["/sbin/init"]],
        [["zsh"], ["tmux: server"]],
        [["make", "claude"], ["bash"]],
        [["vim", "codex.md"], ["bash"]],
        [["cron"]],
        [["/usr/bin/python3", "-m", "pytest"]],
        [["cursor", "--type=renderer"]],
        [[], [""]],
    ],
)
def test_everybody_else_is_a_person(ancestors: list[list[str]], has_terminal: bool) -> None:
    """In a terminal, over ssh, in tmux, in a script, in an editor's terminal. Variables that people set say nothing."""
    environ = {"CODEX_HOME": "/x", "CODEX_CA_CERTIFICATE": "/y", "ANTHROPIC_API_KEY": "k", RUN: "run-1", "CI": "true"}

    assert not calling_agent(environ, ancestors, has_terminal=has_terminal)


@pytest.mark.parametrize(
    ("line", "agent"),
    [
        ("claude -p x", "claude-code"),
        ("env X=1 nice codex exec", "codex"),
        ("my-own-agent --fast", "my-own-agent"),
        ("python my_agent.py", "my_agent.py"),
        ("npx -y @openai/codex exec", "codex"),
        ("bash my-script", "my-script"),
        ("bash -lc my-script", ""),
        ("bash", ""),
        ("env X=1 zsh -l", ""),
        ("fish", ""),
        ("tmux new", ""),
        ("code .", ""),
        ("-", "-"),
    ],
)
def test_what_run_starts(line: str, agent: str) -> None:
    """An agent, known or not, terminal or not; in a shell, a multiplexer or an editor a person works."""
    marks = run_marks("run-1", line.split())

    assert (marks[RUN], marks.get(RUN_AGENT, "")) == ("run-1", agent)
    for has_terminal in (True, False):
        assert calling_agent(marks, [SHELL, ["bash"]], has_terminal=has_terminal) == agent


def test_an_agent_in_a_shell_that_run_started() -> None:
    """`spanlore run -- bash`: what its person types is the person's; what an agent there does is the agent's."""
    marks = run_marks("run-1", ["bash"])

    assert calling_agent(marks, [["bash"]], has_terminal=True) == ""
    assert calling_agent(marks, [SHELL, CLAUDE, ["bash"]], has_terminal=False) == "claude-code"


@pytest.mark.parametrize(
    ("line", "program"),
    [("env X=1 nice -n 5 make all", "make"), ("bash -l", "bash"), ("/usr/bin/vim x", "vim"), ("", "")],
)
def test_the_program_behind_the_wrappers(line: str, program: str) -> None:
    """The first word that is none; of wrappers alone the last."""
    assert started_program(line.split()) == program
    assert agent_of(line.split()) == ""
