"""The extractor as a process: mines every `mining.interval_s`, and sooner when a session has just gone idle.

It holds nothing between runs, so it may be killed at any moment; the collector going away and coming back only means
that a run fails, is counted, and is tried again.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from types import FrameType

from spanlore.settings import Paths, Settings, SettingsError, child_environment, load_settings
from spanlore_collector.store.api_client import MemoryClient, VersionConflictError, connect
from spanlore_collector.store.client import StoreUnavailableError
from spanlore_collector.store.reader import Reader
from spanlore_extractor.effect.apply import apply_effects
from spanlore_extractor.judge.appointing import judge_of
from spanlore_extractor.judge.instructions import PromptError
from spanlore_extractor.notes.folder import NotesPlaceError, sync
from spanlore_extractor.notes.recent import recent_notes
from spanlore_extractor.run import Report, Rules, mine

log = logging.getLogger("spanlore.extractor")

FIRST_RUN_S = 5.0
SESSION_NOTES = 20
"""Of so many of the last sessions there are notes, where notes are switched on."""
LOOK_S = 15.0
"""How soon it looks again while a session is waiting to go idle; such a look is one query over new rows."""
DOWN_S = 2.0
"""How soon it tries again while the collector is away."""


def wait_after(report: Report | None, interval_s: float, idle_s: float) -> float:
    """Seconds until the next run: few after a failed one (`report` None), and while sessions wait to be over."""
    if report is None:
        return min(DOWN_S, interval_s)
    return min(interval_s, max(1.0, min(LOOK_S, idle_s / 2))) if report.waiting else interval_s


def run_once(settings: Settings, paths: Paths, rules: Rules, *, is_checkpoint: bool = False) -> Report | None:
    """One run against the daemon as it is now; None when it failed, which is logged. A checkpoint mines sessions that
    still run, too; they are mined whole again once there is more of them."""
    try:
        reader, client = connect(settings, paths)
    except StoreUnavailableError as error:
        log.info("waiting for the collector: %s", error)
        return None
    try:
        report = _mine(reader, client, settings, paths, rules, is_checkpoint)
        for operation in apply_effects(reader, client, time.time_ns()) if report.sessions else ():
            log.info("%s is %s: %s", operation.memory.id, operation.memory.status.value, operation.reason)
        if settings.notes.enabled:
            _mirror(reader, client, settings, paths)
        return report
    except StoreUnavailableError as error:
        log.warning("the collector went away: %s", error)
    except VersionConflictError as error:
        log.info("a memory was changed meanwhile, next run: %s", error)
    except Exception:
        # The process's own shell: one session that can't be mined must not end mining for good.
        log.exception("mining failed")
    finally:
        reader.close()
        client.close()
    return None


def _mine(
    reader: Reader, client: MemoryClient, settings: Settings, paths: Paths, rules: Rules, active_too: bool
) -> Report:
    now_ns = time.time_ns()
    try:
        with judge_of(settings, paths, now_ns) as judge:
            return mine(reader, client, rules, now_ns, active_too=active_too, judge=judge)
    except PromptError as error:
        log.error("%s Until then no model is asked.", error)
        return mine(reader, client, rules, now_ns, active_too=active_too)


def _mirror(reader: Reader, client: MemoryClient, settings: Settings, paths: Paths) -> None:
    """The notes, after mining. Trouble with files is no trouble of mining."""
    try:
        plan = sync(client, settings, paths, time.time_ns(), sessions=recent_notes(reader, client, SESSION_NOTES))
    except (NotesPlaceError, OSError) as error:
        log.error("the notes are not in step: %s", error)
        return
    for file in plan.conflicts:
        log.warning("the note %s was changed on both sides; compare it with its .conflict file", file)
    for file, problem in plan.problems:
        log.warning("the note %s is not read: %s", file, problem)


def main() -> int:
    """Runs until SIGTERM or SIGINT."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    paths = Paths.from_environ(child_environment({}))
    try:
        settings = load_settings(paths=paths)
    except SettingsError as error:
        log.error("%s", error)
        return 2
    stop = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    rules = Rules.of(settings)
    wait_s = min(FIRST_RUN_S, settings.mining.interval_s)
    every_s, last_s = settings.mining.checkpoint_s, time.monotonic()
    while not stop.wait(wait_s):
        is_checkpoint = every_s > 0 and time.monotonic() - last_s >= every_s
        report = run_once(settings, paths, rules, is_checkpoint=is_checkpoint)
        if is_checkpoint and report is not None:
            last_s = time.monotonic()
        if report is not None and report.sessions:
            log.info("mined %d sessions: %d operations", report.sessions, len(report.operations))
        wait_s = wait_after(report, settings.mining.interval_s, settings.mining.idle_s)
        wait_s = min(wait_s, every_s) if every_s else wait_s
    return 0


if __name__ == "__main__":
    sys.exit(main())
