"""The shell's part: a function for each agent, so that typing its name runs it through the proxy.

Functions and no exported variables: a shell whose HTTPS_PROXY leads to a daemon that is down can reach nothing, while
`spanlore run` starts the daemon or runs the agent without it. `command claude` is the agent as it was. The functions
are in a file of ours; the shell's own start file gets one marked block that reads it, and taking the block out again
gives the file its old bytes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

_BEGIN: Final = "# >>> spanlore{} >>>"
_END: Final = "# <<< spanlore <<<"
_NEW: Final = " (the file is ours)"
_JOINED: Final = " (the file had no last line break)"
_BLOCK: Final = re.compile(r"(\n?)# >>> spanlore([^\n>]*) >>>\n.*?# <<< spanlore <<<\n", re.DOTALL)


_COMPLETION: Final = """\
    if [ -n "${{BASH_VERSION:-}}" ]; then
        _spanlore_complete() {{
            local IFS='
'
            COMPREPLY=( $(env COMP_WORDS="${{COMP_WORDS[*]}}" COMP_CWORD="$COMP_CWORD" \\
                _SPANLORE_COMPLETE=complete_bash {0} 2>/dev/null) )
        }}
        complete -o default -F _spanlore_complete spanlore
    elif [ -n "${{ZSH_VERSION:-}}" ] && command -v compdef >/dev/null; then
        _spanlore_complete() {{
            eval "$(env _TYPER_COMPLETE_ARGS="${{words[1,$CURRENT]}}" _SPANLORE_COMPLETE=complete_zsh {0} 2>/dev/null)"
        }}
        compdef _spanlore_complete spanlore
    fi"""
"""Words of `spanlore` for the tab key, by typer's protocol. Of zsh it needs `compinit`, which whoever completes has."""
_FISH_COMPLETION: Final = """\
    function _spanlore_complete
        env _SPANLORE_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \\
            _TYPER_COMPLETE_ARGS=(commandline -cp) {0} 2>/dev/null
    end
    complete --command spanlore --no-files --arguments '(_spanlore_complete get-args)' \\
        --condition '_spanlore_complete is-args'"""


class Shell(StrEnum):
    """A shell that can be set up."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def functions(agents: Sequence[str], executable: str, shell: Shell) -> str:
    """The file of functions, and of what completes `spanlore`. Where the executable has gone, all is as it was."""
    if shell is Shell.FISH:
        # In fish's single quotes only \\ and \' are special.
        program = "'{}'".format(executable.replace("\\", "\\\\").replace("'", "\\'"))
        lines = [f"    function {name}; {program} run -- {name} $argv; end" for name in agents]
        begin, end = f"if test -x {program}", "end"
        lines.append(_FISH_COMPLETION.format(program))
    else:
        program = shlex.quote(executable)
        lines = [f'    {name}() {{ {program} run -- {name} "$@"; }}' for name in agents]
        begin, end = f"if [ -x {program} ]; then", "fi"
        lines.append(_COMPLETION.format(program))
    told = "# Agents go through spanlore's proxy. Made by `spanlore install`; `command AGENT` is the agent without it."
    return "\n".join([told, begin, *lines, end, ""])


def start_file(shell: Shell, home: Path, zdotdir: str = "") -> Path:
    """The file the shell reads when it starts; fish has a directory for others' files and needs no block."""
    match shell:
        case Shell.BASH:
            return home / ".bashrc"
        case Shell.ZSH:
            return (Path(zdotdir) if zdotdir else home) / ".zshrc"
        case Shell.FISH:
            return home / ".config" / "fish" / "conf.d" / "spanlore.fish"


def with_block(text: str | None, source: Path) -> str:
    """The start file with the block that reads `source`; None is a file that does not exist. Twice is once."""
    before = without_block(text or "") if text is not None else None
    note = _NEW if before is None else _JOINED if before and not before.endswith("\n") else ""
    name = shlex.quote(str(source))
    block = "\n".join([_BEGIN.format(note), f"[ -r {name} ] && . {name}", _END, ""])
    return (before or "") + ("\n" if note == _JOINED else "") + block


def without_block(text: str) -> str | None:
    """The start file as it was before; None when there was none. A text without a block is left as it is."""
    found = _BLOCK.search(text)
    if found is None:
        return text
    newline = "" if found[2] == _JOINED else found[1]
    rest = text[: found.start()] + newline + text[found.end() :]
    return None if found[2] == _NEW and not rest else rest
