"""Terminal captures for the README: plays the demonstration in a directory of its own, runs the commands on what it
left, and writes each one's output as SVG (for people) and as text (for a diff) to docs/captures.

    .venv/bin/python tools/captures.py

No network, no key; nothing of the user's is touched. Ids and times are those of the run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from spanlore.settings import child_environment

ROOT = Path(__file__).parents[1]
AGENTS = ROOT / ".cache" / "agents"
TARGET = ROOT / "docs" / "captures"
WIDTH = 80
INK, RED, GREEN, BROWN = (40, 44, 52), (178, 40, 40), (38, 120, 60), (150, 100, 0)
BLUE, PURPLE, TEAL, GREY = (40, 90, 170), (140, 60, 150), (0, 120, 130), (90, 90, 90)
COLORS = [INK, RED, GREEN, BROWN, BLUE, PURPLE, TEAL, GREY]
THEME = TerminalTheme((250, 250, 247), INK, COLORS, COLORS)
SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
<rect width="100%" height="100%" rx="6" fill="#fafaf7"/>
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's own format without the window, and without its fonts, which it would fetch from the network."""


def main() -> int:
    """Writes the captures."""
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "demo"
        environment = child_environment(
            {
                "HOME": folder,
                "PATH": f"{AGENTS}/node_modules/.bin:{AGENTS}/codex/node_modules/.bin:{os.defpath}",
                "COLUMNS": str(WIDTH),
                "FORCE_COLOR": "1",
                "SPANLORE_STATE_DIR": str(base / "state"),
                "SPANLORE_CONFIG_DIR": str(base / "config"),
                **{f"SPANLORE_{name}_PORT": "0" for name in ("PROXY", "COLLECTOR", "COLLECTOR_CLICKHOUSE", "WEB")},
            },
            ("SPANLORE_", "HTTP", "http"),
        )

        def spanlore(*words: str, cwd: Path = base) -> str:
            command = [sys.executable, "-m", "spanlore", *words]
            done = subprocess.run(
                command, env=environment, cwd=cwd, capture_output=True, text=True, timeout=300, check=False
            )
            if done.returncode not in (0, 4):
                raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}\n{done.stdout[-2000:]}")
            return done.stdout

        spanlore("demo", "--keep", str(base), cwd=Path(folder))
        spanlore("up", "--detach")
        try:
            _capture_all(spanlore)
        finally:
            spanlore("down", "--force")
    return 0


def _capture_all(spanlore: Callable[..., str]) -> None:
    sessions = json.loads(spanlore("sessions", "--json"))
    failed = next(row["session_id"] for row in sessions if int(row["failures"]))
    memories = json.loads(spanlore("memories", "--all", "--json"))["memories"]
    shown = next(memory["id"] for memory in memories if memory["status"] in ("active", "trial"))
    for name, words in (
        ("sessions", ("sessions",)),
        ("session", ("session", failed[:8])),
        ("memories", ("memories", "--all")),
        ("why", ("why", shown)),
        ("search", ("search", "unittest", "--limit", "3")),
        ("doctor", ("doctor",)),
    ):
        _write(name, f"$ spanlore {' '.join(words)}", spanlore(*words))


def _write(name: str, typed: str, output: str) -> None:
    # Where the demonstration played says nothing, and is another place each time.
    told = re.sub(r"/[^\s]*?/demo/state", "~/.local/state/spanlore", output)
    text = Text.from_ansi(f"{typed}\n{told.rstrip()}\n")
    with Path("/dev/null").open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(text, soft_wrap=False)
    svg = console.export_svg(title=name, theme=THEME, code_format=SVG, unique_id=f"capture-{name}")
    (TARGET / f"{name}.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")
    plain = "\n".join(line.rstrip() for line in text.plain.splitlines())
    (TARGET / f"{name}.txt").write_text(plain.rstrip() + "\n")


if __name__ == "__main__":
    sys.exit(main())
