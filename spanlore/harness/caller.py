"""Who runs a command: a person in a terminal, or an agent in its shell.

What an agent says may have been put into its mouth by a file or a web page, so its word is not its user's. This tells
the ordinary case, an agent that does as it was told or as it read. It is no wall: an agent that takes pains to look
like a person can write the user's files as well.

- What `spanlore run` started, unless that was a shell or an editor, is an agent, known or not (`RUN_AGENT`).
- So is whatever has an agent's program among its ancestors.
- The variables that agents set for their shells count where nobody sits at a terminal: an editor or a tmux server that
  an agent has started hands them on to its person's terminals.
- Everything else is a person, or a person's script; that no terminal is there says nothing (cron, pipes, tests).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from spanlore.harness.programs import harness_of, program_of, started_program

RUN: Final = "SPANLORE_RUN"
"""The run's id, in the environment of what `spanlore run` starts."""
RUN_AGENT: Final = "SPANLORE_RUN_AGENT"
"""The agent's name there; not set where a person works in what was started."""

# fmt: off
_PERSONAL: Final = frozenset([
    "bash", "zsh", "sh", "dash", "fish", "ksh", "tcsh", "csh", "nu", "xonsh", "pwsh", "elvish", "login", "su",
    "sudo", "ssh",
    "tmux", "screen", "zellij", "byobu", "script", "watch",
    "code", "codium", "code-insiders", "cursor", "windsurf", "zed", "vim", "nvim", "vi", "emacs", "emacsclient", "hx",
    "nano", "micro", "idea", "pycharm", "goland", "webstorm", "clion", "rustrover", "subl",
    "alacritty", "kitty", "wezterm", "ghostty", "gnome-terminal", "konsole", "xterm",
])
"""Shells, multiplexers, editors and terminals: a person works in them, and may start an agent there."""
_OTHERS: Final = frozenset([
    "cursor-agent", "copilot", "goose", "amp", "crush", "auggie", "droid", "kimi", "cline", "openhands", "kiro-cli",
    "mini-extra", "qwen-code", "gemini-cli", "claude-code",
])
"""Agents that no harness of ours is named after."""
_MARKS: Final = {
    "CLAUDECODE": "claude-code", "CLAUDE_CODE_ENTRYPOINT": "claude-code",
    "CODEX_SANDBOX": "codex", "CODEX_SANDBOX_NETWORK_DISABLED": "codex", "CODEX_THREAD_ID": "codex",
    "CODEX_CI": "codex",
    "OPENCODE": "opencode", "GEMINI_CLI": "gemini-cli", "QWEN_CODE": "qwen-code", "PI_CODING_AGENT": "pi",
    "OPENCLAW_SHELL": "openclaw", "CURSOR_AGENT": "cursor", "CLINE_ACTIVE": "cline", "GOOSE_TERMINAL": "goose",
    "AUGMENT_AGENT": "augment", "AMP_THREAD_ID": "amp", "ANTIGRAVITY_AGENT": "antigravity", "AI_AGENT": "an agent",
}
"""Set by agents for what they run, each in its own program's text or documentation."""
# fmt: on


def calling_agent(environ: Mapping[str, str], ancestors: Iterable[Sequence[str]], *, has_terminal: bool) -> str:
    """The agent's name; '' for a person. `ancestors`: the command lines of parent, grandparent and so on;
    `has_terminal`: somebody can read or type there."""
    if run_by := environ.get(RUN_AGENT, ""):
        return run_by
    for argv in ancestors:
        if found := agent_of(argv):
            return found
    if has_terminal:
        return ""
    return next((name for mark, name in _MARKS.items() if environ.get(mark, "") not in ("", "0", "false")), "")


def agent_of(argv: Sequence[str]) -> str:
    """The agent that a process with this command line is; '' for any other."""
    harness = harness_of(argv)
    if harness != "unknown":
        return harness
    program = started_program(argv)
    return program if program in _OTHERS else ""


def run_marks(run_id: str, argv: Sequence[str]) -> dict[str, str]:
    """The variables by which what `spanlore run` starts is known."""
    program = agent_of(argv) or started_program(argv) or program_of(argv[0])
    return {RUN: run_id} if program in _PERSONAL else {RUN: run_id, RUN_AGENT: program}
