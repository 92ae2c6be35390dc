"""Pictures of the web page for the README: plays the demonstration in a directory of its own and photographs its pages.

    .venv/bin/python tools/screenshots.py [DIR]      # docs/web-session.png and docs/web-memory.png

With a directory every page is photographed into it, too: light and dark, at 1280 and at 400 pixels.
Needs Chromium (`make chromium`). No network, no key; nothing of the user's is touched.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from spanlore.settings import child_environment

ROOT = Path(__file__).parents[1]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
PORTS = ("PROXY", "COLLECTOR", "COLLECTOR_CLICKHOUSE", "WEB")


def main() -> int:
    """Makes the pictures."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        sys.stderr.write("there is no chromium on PATH: `make chromium` installs Debian's where it can\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder) / "demo"
        environment = child_environment(
            {
                "HOME": folder,
                "PATH": os.defpath,
                "SPANLORE_STATE_DIR": str(base / "state"),
                "SPANLORE_CONFIG_DIR": str(base / "config"),
                **{f"SPANLORE_{name}_PORT": "0" for name in PORTS},
            },
            ("SPANLORE_", "HTTP", "http"),
        )

        def spanlore(*words: str) -> str:
            command = [str(Path(sys.executable).with_name("spanlore")), *words]
            return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

        spanlore("demo", "--keep", str(base))
        told = re.search(r"http://\S+/login\?token=\w+", spanlore("up", "--detach"))
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=binary, args=FLAGS)
                assert told is not None, "`up` tells the page's URL"
                _photograph(browser, spanlore, told[0], Path(sys.argv[1]) if len(sys.argv) > 1 else None)
                browser.close()
        finally:
            spanlore("down")
    return 0


def _photograph(browser: Browser, spanlore: Callable[..., str], login: str, folder: Path | None) -> None:
    origin = login.partition("/login")[0]
    sessions = json.loads(spanlore("sessions", "--json"))
    memories = json.loads(spanlore("memories", "--all", "--json"))
    pages = _pages(sessions, memories, spanlore)
    for name in ("session", "memory"):
        _shoot(browser, login, origin + pages[name], ROOT / "docs" / f"web-{name}.png", 1320, 820, is_dark=False)
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in pages.items():
        for width, height in ((1280, 900), (400, 800)):
            for is_dark in (False, True):
                target = folder / f"{name}-{width}-{'dark' if is_dark else 'light'}.png"
                _shoot(browser, login, origin + path, target, width, height, is_dark=is_dark)


def _pages(sessions: Any, memories: Any, spanlore: Callable[..., str]) -> dict[str, str]:
    """The session that shows most of what there is to see, and the memory that has most evidence."""
    rows = sessions["sessions"] if isinstance(sessions, dict) else sessions
    known = memories["memories"] if isinstance(memories, dict) else memories
    told = {row["session_id"]: spanlore("session", row["session_id"], "--json") for row in rows}
    placed = {session_id: len(re.findall(r"\bm-[0-9a-f]{12}\b", text)) for session_id, text in told.items()}
    failed = {row["session_id"]: int(row["failures"]) for row in rows}
    session = max(told, key=lambda session_id: (bool(placed[session_id]), failed[session_id], placed[session_id]))
    memory = max(known, key=lambda item: len(item.get("evidence") or ()))["id"]
    return {
        "sessions": "/sessions",
        "session": f"/sessions/{session}",
        "conversation": f"/sessions/{session}?view=conversation",
        "memories": "/memories",
        "review": "/memories?view=review",
        "memory": f"/memories/{memory}",
        "search": "/search?q=test",
        "cost": "/cost",
        "health": "/health",
    }


def _shoot(browser: Browser, login: str, url: str, target: Path, width: int, height: int, *, is_dark: bool) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if is_dark else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(login)
    page.goto(url)
    page.wait_for_timeout(500)
    page.screenshot(path=target)
    context.close()


if __name__ == "__main__":
    sys.exit(main())
