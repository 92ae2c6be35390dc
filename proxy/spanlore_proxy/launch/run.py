"""`spanlore run`: this process becomes the agent, with the environment that leads it through the proxy.

The agent is exec'ed, not spawned: exit code, signals, terminal, process group and job control are its own because it
is the process. Without a daemon the agent runs all the same, unproxied, and the user is told (the first promise: any
trouble of ours means pass-through); `--require` makes that an error. So it is with a configuration that is wrong.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import spanlore
from spanlore.harness.caller import run_marks
from spanlore.harness.programs import harness_of
from spanlore.settings import Paths, Settings, SettingsError, child_environment
from spanlore.spans.place import Workplace
from spanlore_proxy.launch import base_urls
from spanlore_proxy.launch.agents import Via, takes_client_block, with_client_block
from spanlore_proxy.launch.ca import Trust, ensure_trust
from spanlore_proxy.launch.daemon import Daemon, running_daemon, settings_digest
from spanlore_proxy.launch.environment import (
    agent_environment,
    bypassed,
    other_proxy,
    proxy_url,
    without_credentials,
)
from spanlore_proxy.launch.outer import UnusableError, outer_of
from spanlore_proxy.launch.runs import Outer, Run, new_run, shell_run, write_run
from spanlore_proxy.launch.start import DaemonStartError, ensure_daemon
from spanlore_proxy.launch.status import has_other_ca, proxy_status

log = logging.getLogger(__name__)

NOT_FOUND = 127
"""What shells exit with when a command is not found."""
NOT_EXECUTABLE = 126

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Launch:
    """What will be exec'ed."""

    program: str
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    """Set over the caller's own."""


def run_agent(
    argv: Sequence[str],
    settings: Settings | None,
    paths: Paths,
    say: Say,
    *,
    require: bool = False,
    via: Via = Via.PROXY,
) -> int:
    """Becomes the agent; returns only if that is not possible, with an exit code. `settings` are None where they can't
    be read: nothing is handed to the client then, since they might be against it.

    Raises:
        DaemonStartError: with `require`, when there is no daemon.
    """
    environ = child_environment({})
    program = shutil.which(argv[0], path=environ.get("PATH"))
    if program is None:
        return _not_started(argv[0], say)
    try:
        daemon = ensure_daemon(paths, tell=say)
        if has_other_ca(daemon, proxy_status(paths), paths):
            raise DaemonStartError("the CA on disk is not the running proxy's; `spanlore doctor --fix` mends that")
        launch = prepare(argv, program, daemon, settings, paths, environ, say, via)
    except (DaemonStartError, OSError) as error:
        if require:
            raise DaemonStartError(str(error)) from error
        return run_unproxied(argv, str(error), say)
    return become(launch, say)


def run_with_wrong_settings(argv: Sequence[str], error: SettingsError, paths: Paths, say: Say, via: Via) -> int:
    """Becomes the agent although the configuration can't be read: no agent may fail for a typo in ours.

    Through the daemon, if one runs: its settings are those it was started with. Else without the proxy.
    """
    if running_daemon(paths) is None:
        return run_unproxied(argv, str(error), say)
    say(f"{error}\nUntil that is mended the running daemon goes on with the settings it was started with.")
    return run_agent(argv, None, paths, say, via=via)


def run_unproxied(argv: Sequence[str], trouble: str, say: Say) -> int:
    """Becomes the agent as if spanlore were not there, and says why. Returns as `run_agent`."""
    program = shutil.which(argv[0], path=child_environment({}).get("PATH"))
    if program is None:
        return _not_started(argv[0], say)
    say(f"{trouble}\n{argv[0]} runs WITHOUT the proxy: nothing is captured and no memory is given.")
    return become(Launch(program, tuple(argv), {}), say)


def prepare(
    argv: Sequence[str],
    program: str,
    daemon: Daemon,
    settings: Settings | None,
    paths: Paths,
    environ: Mapping[str, str],
    say: Say = lambda text: None,
    via: Via = Via.PROXY,
) -> Launch:
    """Writes the run file and puts together what is exec'ed."""
    if base_urls.leads_here(harness_of(argv), environ):
        via = Via.BASE_URL  # the agent would go there anyway, in the name of the run or shell around it
    for text in (*warnings(daemon, settings, environ, via), *_over_budget(daemon, settings, paths, environ)):
        say(text)
    if via is Via.BASE_URL:
        return _by_base_url(argv, program, daemon, paths, environ, say)
    trust = ensure_trust(paths, environ)
    outer = _outer(daemon, paths, environ, trust, say)
    run = new_run(harness_of(argv), _working_directory(), os.getpid(), time.time_ns(), outer=outer)
    write_run(paths, run)
    url = proxy_url(daemon.proxy_port, run.run_id, run.token)
    words = list(argv)
    if settings is not None and takes_client_block(argv, environ):
        words = with_client_block(argv, _client_block(run, settings, paths, say))
    variables = agent_environment(url, trust, environ, run.harness)
    return Launch(program, tuple(words), variables | run_marks(run.run_id, argv))


def shell_environment(
    daemon: Daemon, settings: Settings, paths: Paths, environ: Mapping[str, str], say: Say, via: Via = Via.PROXY
) -> dict[str, str]:
    """The same for a shell, whose agents and directories are not known yet."""
    for text in warnings(daemon, settings, environ, via):
        say(text)
    trust = ensure_trust(paths, environ)
    outer = _outer(daemon, paths, environ, trust, say)
    if via is Via.PROXY:
        url = proxy_url(daemon.proxy_port)
        if outer != Outer():
            run = shell_run(paths, {}, outer)
            write_run(paths, run)
            url = proxy_url(daemon.proxy_port, run.run_id, run.token)
        return agent_environment(url, trust, environ)
    any_agent, codex = (base_urls.addresses_for(name, environ, paths.runs_dir) for name in ("unknown", "codex"))
    for text in base_urls.notes((), any_agent, environ):
        say(text)
    run = shell_run(paths, base_urls.upstreams_of(any_agent) | base_urls.upstreams_of(codex), outer)
    write_run(paths, run)
    origin = base_urls.origin_url(daemon.proxy_port, run.run_id, run.token)
    if shutil.which("codex", path=environ.get("PATH")):
        say(f"codex reads no variable; start it so: codex -c '{base_urls.codex_setting(codex, origin)}'")
    return base_urls.base_url_environment(any_agent, origin, environ)


def _by_base_url(
    argv: Sequence[str], program: str, daemon: Daemon, paths: Paths, environ: Mapping[str, str], say: Say
) -> Launch:
    """No client block: away from its own host Claude Code signs nothing, so the proxy places it."""
    addresses = base_urls.addresses_for(harness_of(argv), environ, paths.runs_dir)
    for text in base_urls.notes(argv, addresses, environ):
        say(text)
    upstreams = base_urls.upstreams_of(addresses)
    outer = _outer(daemon, paths, environ, ensure_trust(paths, environ), say)
    run = new_run(addresses.harness, _working_directory(), os.getpid(), time.time_ns(), upstreams, outer)
    write_run(paths, run)
    origin = base_urls.origin_url(daemon.proxy_port, run.run_id, run.token)
    words = base_urls.with_base_url(argv, addresses, origin)
    variables = base_urls.base_url_environment(addresses, origin, environ)
    return Launch(program, tuple(words), variables | run_marks(run.run_id, argv))


def warnings(daemon: Daemon, settings: Settings | None, environ: Mapping[str, str], via: Via = Via.PROXY) -> list[str]:
    """What the user would otherwise wonder about."""
    out = []
    if daemon.version != spanlore.__version__:
        out.append(f"the running daemon is {daemon.version}, this is {spanlore.__version__}; `spanlore down` ends it.")
    elif settings is not None and daemon.settings_digest not in ("", settings_digest(settings)):
        out.append(
            "the running daemon was started with other settings; `spanlore down` and start again to apply these."
        )
    if via is Via.PROXY and bypassed("api.anthropic.com", environ):
        out.append("NO_PROXY keeps LLM API hosts away from every proxy, spanlore's too: nothing will be captured.")
    return out


def _outer(daemon: Daemon, paths: Paths, environ: Mapping[str, str], trust: Trust, say: Say) -> Outer:
    """The caller's own way to the API; told, where ours can't take it."""
    roots = "" if trust.is_usual else str(trust.bundle)
    try:
        return replace(outer_of(environ, paths, daemon.proxy_port), roots=roots)
    except UnusableError as error:
        name = without_credentials(other_proxy(environ))
        say(f"the proxy {name} {error}; spanlore's goes to the API directly, not through that one.")
        return Outer(roots=roots)


def _over_budget(daemon: Daemon, settings: Settings | None, paths: Paths, environ: Mapping[str, str]) -> list[str]:
    """What has cost more than the user wants to spend; asked only where a budget is set."""
    if settings is None or not (settings.budget.usd_per_day or settings.budget.usd_per_session):
        return []
    from spanlore_proxy.doctor.budget import budget
    from spanlore_proxy.doctor.finding import Severity
    from spanlore_proxy.doctor.scene import Scene

    try:
        found = list(budget(Scene(paths, settings, environ, time.time_ns(), daemon)))
    except Exception as error:
        # Whatever it is: a budget that can't be looked at must not keep the agent from starting.
        return [f"the budget can't be checked: {error}"]
    return [f"{finding.says}; {finding.do}" for finding in found if finding.severity >= Severity.WARNING]


def become(launch: Launch, say: Say) -> int:
    """exec. Returns an exit code if the system refuses."""
    # Python ignores these two, and what is ignored stays ignored across exec: `agent | head` would not end.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execve(launch.program, launch.argv, child_environment(launch.environment))  # noqa: S606 - the agent itself
    except OSError as error:
        say(f"{launch.program}: {error.strerror}")
        return NOT_EXECUTABLE


def _not_started(word: str, say: Say) -> int:
    """What a shell says and exits with."""
    if "/" in word and Path(word).exists():
        say(f"{word}: {'is a directory' if Path(word).is_dir() else 'is not executable; `chmod +x` makes it so'}.")
        return NOT_EXECUTABLE
    say(f"{word}: no such command. Is the agent installed, and its directory in PATH?")
    return NOT_FOUND


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise FileNotFoundError("the working directory does not exist any more") from None


def _client_block(run: Run, settings: Settings, paths: Paths, say: Say) -> str:
    """The session block for a client that signs what it sends; '' when there is nothing to say."""
    # Only a subscription's run needs them.
    from spanlore_proxy.capture.snapshot import read_snapshot
    from spanlore_proxy.injection.injector import client_block, is_off

    workplace = Workplace(repository=run.repository, cwd=run.cwd)
    is_excluded = is_off(workplace, settings.capture.off_repositories, settings.capture.only_repositories)
    if paths.kill_file.exists() or is_excluded or not paths.snapshot_file.exists():
        return ""
    try:
        snapshot = read_snapshot(paths.snapshot_file)
        return client_block(snapshot, run.repository, run.harness, settings.injection, run.run_id, run.created_at_ns)
    except Exception as error:
        # A process shell: whatever is wrong with the snapshot must not keep the agent from starting.
        say(f"no memory is given: {error}")
        return ""
