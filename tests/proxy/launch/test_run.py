"""`spanlore run` becomes the agent. The daemon here is a lock and a file; no request is made."""

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

import spanlore
from spanlore.memory.memory import Kind, Memory, Source, Status, memory_to_json
from spanlore.settings import Paths, Settings
from spanlore_proxy.launch.agents import Via
from spanlore_proxy.launch.daemon import ChildState, Daemon, DaemonLock, settings_digest, write_daemon
from spanlore_proxy.launch.run import prepare, warnings

DAEMON = Daemon(os.getpid(), spanlore.__version__, 1, 7717, 7718, 7719, settings_digest(Settings()))


@pytest.fixture
def paths(tmp_path: Path) -> Iterator[Paths]:
    """A state directory in which a daemon seems to run."""
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    with DaemonLock(paths):
        write_daemon(paths, DAEMON)
        yield paths


def environment(paths: Paths, **more: str) -> dict[str, str]:
    """A clean environment with this state directory."""
    return {
        "PATH": os.defpath,
        "HOME": str(paths.state_dir),
        "SPANLORE_CONFIG_DIR": str(paths.config_dir),
        "SPANLORE_STATE_DIR": str(paths.state_dir),
        **more,
    }


def _unblock_signals() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def run(paths: Paths, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs the command as a terminal would: with no signal blocked. (chDB, once opened by another test in this process,
    blocks SIGPIPE for good, and a child inherits that.)"""
    command = [sys.executable, "-m", "spanlore", "run", *words]
    return subprocess.run(
        command,
        env=environment(paths, **more),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        preexec_fn=_unblock_signals,
    )


def only_run(paths: Paths) -> Mapping[str, object]:
    (file,) = paths.runs_dir.glob("run-*.json")
    data: Mapping[str, object] = json.loads(file.read_text())
    return data


def test_the_process_is_the_agent(paths: Paths) -> None:
    """Same pid, exit code untouched, output untouched, its own credentials in the proxy URL."""
    done = run(paths, "--", "sh", "-c", "echo $$ $HTTPS_PROXY; exit 7")

    made = only_run(paths)
    assert done.returncode == 7
    assert done.stderr == ""
    assert done.stdout == f"{made['pid']} http://{made['run_id']}:{made['token']}@127.0.0.1:7717\n"
    assert made["cwd"] == str(Path.cwd())


def test_the_agents_flags_are_its_own(paths: Paths) -> None:
    """With and without `--`, options behind the agent's name go to the agent."""
    assert run(paths, "sh", "-c", 'echo "$@"', "sh", "--require", "-x", "--help").stdout == "--require -x --help\n"


def test_by_base_url(paths: Paths) -> None:
    """No proxy and no CA: the API's address is ours, with the run's credentials; a gateway of the user's is kept."""
    shown = 'echo "$ANTHROPIC_BASE_URL|$OPENAI_BASE_URL|$HTTPS_PROXY|$SSL_CERT_FILE|$NO_PROXY"'
    done = run(paths, "--via", "base-url", "--", "sh", "-c", shown, OPENAI_BASE_URL="https://gw.example/v1")

    made = only_run(paths)
    origin = f"http://127.0.0.1:7717/r/{made['run_id']}:{made['token']}"
    assert done.stdout == f"{origin}/anthropic|{origin}/OPENAI_BASE_URL/v1|||localhost,127.0.0.1,::1\n"
    assert made["upstreams"] == {"OPENAI_BASE_URL": "https://gw.example"}
    assert "https://gw.example/v1" in done.stderr


@pytest.mark.parametrize("around", ["run", "shell"])
def test_within_another_by_base_url(paths: Paths, around: str) -> None:
    """An agent that an agent starts by `spanlore run` is a run of its own, also where the one around it, or the shell,
    has our base URLs: they would lead it past its own proxy variable, in the other's name. Its gateway stays."""
    shown = 'echo "$ANTHROPIC_BASE_URL|$OPENAI_BASE_URL"'
    outer = f"{around}-00000000cccc"
    (paths.runs_dir).mkdir(parents=True, exist_ok=True)
    upstreams = {"OPENAI_BASE_URL": "https://gw.example"}
    (paths.runs_dir / f"{outer}.json").write_text(json.dumps({"token": "t0", "upstreams": upstreams}))
    ours = f"http://127.0.0.1:7717/r/{outer}:t0"
    variables = {"ANTHROPIC_BASE_URL": f"{ours}/anthropic", "OPENAI_BASE_URL": f"{ours}/OPENAI_BASE_URL/v1"}
    done = run(paths, "--", "sh", "-c", shown, **variables)

    (made,) = [json.loads(file.read_text()) for file in paths.runs_dir.glob("run-*.json") if file.stem != outer]
    origin = f"http://127.0.0.1:7717/r/{made['run_id']}:{made['token']}"
    assert done.stdout == f"{origin}/anthropic|{origin}/OPENAI_BASE_URL/v1\n"
    assert made["upstreams"] == upstreams


def test_by_base_url_the_proxy_places_the_block(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from its own host Claude Code signs nothing, so nothing is handed to it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(tmp_path)
    paths.snapshot_file.write_text(snapshot(f"path:{tmp_path.resolve()}"))

    launch = prepare(["claude"], "/bin/claude", DAEMON, Settings(), paths, {}, via=Via.BASE_URL)

    assert launch.argv == ("claude",)
    assert set(launch.environment) == {
        "ANTHROPIC_BASE_URL",
        "NO_PROXY",
        "no_proxy",
        "SPANLORE_RUN",
        "SPANLORE_RUN_AGENT",
    }


def test_signals_are_the_agents(paths: Paths) -> None:
    """A signal that ends the agent ends the process that the shell waits for."""
    assert run(paths, "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM


ON_A_TERMINAL = """
import os, signal, sys
for name in ("SIGINT", "SIGTSTP", "SIGWINCH"):
    # Written at once: `print` raises where the next signal comes before it has returned.
    signal.signal(getattr(signal, name), lambda number, _: os.write(1, signal.Signals(number).name.encode() + b"\\n"))
print(all(os.isatty(number) for number in (0, 1, 2)), os.get_terminal_size(), flush=True)
sys.stdin.readline()
sys.exit(7)
"""
PATIENCE_S = 120.0


def test_the_terminal_is_the_agents(paths: Paths) -> None:
    """It has the very terminal, of that size, hears Ctrl-C, Ctrl-Z and a new size from it, and its exit code is the
    command's."""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (33, 77))

    def take_the_terminal() -> None:
        _unblock_signals()
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    command = [sys.executable, "-m", "spanlore", "run", "--", sys.executable, "-c", ON_A_TERMINAL]
    agent = subprocess.Popen(
        command,
        stdin=its,
        stdout=its,
        stderr=its,
        env=environment(paths),
        preexec_fn=take_the_terminal,  # noqa: PLW1509  # nowhere else can it be taken
    )
    os.close(its)
    heard = b""

    def until(words: bytes) -> None:
        nonlocal heard
        while words not in heard:
            assert select.select([ours], [], [], PATIENCE_S)[0], heard
            heard += os.read(ours, 4096)

    try:
        until(b"True os.terminal_size(columns=77, lines=33)")
        os.write(ours, b"\x03")
        until(b"SIGINT")
        os.write(ours, b"\x1a")
        until(b"SIGTSTP")
        termios.tcsetwinsize(ours, (20, 60))
        until(b"SIGWINCH")
        os.write(ours, b"go on\n")
        assert agent.wait(PATIENCE_S) == 7
    finally:
        agent.kill()
        agent.wait()
        os.close(ours)


def test_broken_pipes_end_programs_as_ever(paths: Paths) -> None:
    """Python ignores SIGPIPE; the agent's commands must not inherit that."""
    assert run(paths, "--", "bash", "-c", "set -o pipefail; yes | head -n 1").returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("agent", ["no-such-agent", "./no-such-agent"])
def test_unknown_agent(paths: Paths, agent: str) -> None:
    """Exit code 127 as in a shell, and a message that helps."""
    done = run(paths, "--", agent)

    assert done.returncode == 127
    assert f"{agent}: no such command" in done.stderr


def test_what_cannot_be_executed(paths: Paths, tmp_path: Path) -> None:
    """A file without the right and a directory are 126 and told as what they are, as in a shell."""
    (tmp_path / "agent").write_text("text")
    plain, folder = run(paths, "--", str(tmp_path / "agent")), run(paths, "--", str(tmp_path))

    assert (plain.returncode, folder.returncode) == (126, 126)
    assert "is not executable" in plain.stderr
    assert "is a directory" in folder.stderr


def test_directory_that_is_gone(paths: Paths, tmp_path: Path) -> None:
    """The agent runs there all the same, and the user is told why nothing is captured."""
    gone = tmp_path / "gone"
    script = f"mkdir {gone}; cd {gone}; rmdir {gone}; {sys.executable} -P -m spanlore run -- echo ran"
    done = subprocess.run(
        ["sh", "-c", script], env=environment(paths), capture_output=True, text=True, check=False, timeout=300
    )

    assert (done.returncode, done.stdout) == (0, "ran\n")
    assert "the working directory does not exist any more" in done.stderr


def test_without_daemon_the_agent_runs_all_the_same(tmp_path: Path) -> None:
    """The daemon can't be started: the agent runs without proxy, and the user is told plainly; `--require` refuses."""
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.config_dir.mkdir()
    (tmp_path / "state").write_text("not a directory")

    done = run(paths, "--", "sh", "-c", "echo agent $HTTPS_PROXY; exit 5")

    assert (done.returncode, done.stdout) == (5, "agent\n")
    assert "WITHOUT the proxy" in done.stderr
    refused = run(paths, "--require", "--", "sh", "-c", "echo agent")
    assert (refused.returncode, refused.stdout) == (3, "")
    assert refused.stderr.startswith("spanlore: ")


def test_a_ca_that_the_proxy_does_not_have_costs_no_agent(paths: Paths) -> None:
    """Somebody removed the CA while the daemon ran: the agent would trust the new one and fail at every request."""
    write_daemon(paths, replace(DAEMON, processes=(ChildState("proxy", 7, 0, 0),)))
    paths.proxy_status_file.write_text('{"pid": 7, "ca": "another"}')

    done = run(paths, "--", "sh", "-c", "echo agent $HTTPS_PROXY")
    refused = run(paths, "--require", "--", "sh", "-c", "echo agent")

    assert (done.returncode, done.stdout) == (0, "agent\n")
    assert "WITHOUT the proxy" in done.stderr and "doctor --fix" in done.stderr
    assert (refused.returncode, refused.stdout) == (3, "")


def test_wrong_settings_cost_no_agent(paths: Paths) -> None:
    """A configuration error is the user's to mend, so they are told; the agent runs, unless the proxy is required."""
    done = run(paths, "--", "sh", "-c", "echo agent", SPANLORE_PROXY_PORT="many")
    refused = run(paths, "--require", "--", "sh", "-c", "echo agent", SPANLORE_PROXY_PORT="many")

    assert (done.returncode, done.stdout) == (0, "agent\n")
    assert "SPANLORE_PROXY_PORT" in done.stderr and "goes on with the settings" in done.stderr
    assert "with other settings" not in done.stderr
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "SPANLORE_PROXY_PORT" in refused.stderr


def snapshot(scope: str) -> str:
    memory = Memory(
        id="mem-1",
        kind=Kind.EXPLICIT,
        source=Source.EXPLICIT,
        scope=scope,
        subject="tests",
        slot="how",
        value="make check",
        text="Tests are run with make check.",
        status=Status.ACTIVE,
        created_at_ns=1,
        updated_at_ns=1,
    )
    return json.dumps({"memories": [memory_to_json(memory)]})


def test_subscription_client_is_handed_the_block(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code without a key gets the memories of this repository as a flag; with one, the proxy places them."""
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(tmp_path / "repo")
    paths.snapshot_file.write_text(snapshot(f"path:{(tmp_path / 'repo').resolve()}"))
    settings = Settings.model_validate({"injection": {"withhold_share": 0}})

    launch = prepare(["claude", "-p", "x"], "/bin/claude", DAEMON, settings, paths, {})

    assert launch.argv[:2] == ("claude", "--append-system-prompt")
    assert "Tests are run with make check." in launch.argv[2]
    assert launch.argv[3:] == ("-p", "x")
    for other, environ in [
        (settings, {"ANTHROPIC_API_KEY": "k"}),
        (Settings.model_validate({"injection": {"attested": "rewrite"}}), {}),
        (Settings.model_validate({"injection": {"enabled": False}}), {}),
        (Settings.model_validate({"capture": {"off_repositories": [str(tmp_path / "repo")]}}), {}),
    ]:
        assert prepare(["claude"], "/bin/claude", DAEMON, other, paths, environ).argv == ("claude",)
    paths.kill_file.touch()
    assert prepare(["claude"], "/bin/claude", DAEMON, settings, paths, {}).argv == ("claude",)


def test_broken_snapshot_costs_no_start(paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent starts without memories, and the user is told."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(tmp_path)
    paths.snapshot_file.write_text("{")
    said: list[str] = []

    launch = prepare(["claude"], "/bin/claude", DAEMON, Settings(), paths, {}, said.append)

    assert launch.argv == ("claude",)
    assert said[0].startswith("no memory is given")


def test_the_callers_proxy_is_written_into_the_run(paths: Paths) -> None:
    """With its credentials, the caller's exceptions and the roots that its variables name; the agent sees ours alone.
    One that ours can't go through is told, without what is secret."""
    ours = paths.ca_dir / "company.pem"
    ours.parent.mkdir(parents=True, exist_ok=True)
    ours.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    company = {"HTTPS_PROXY": "http://me:secret@proxy.corp.example:3128", "NO_PROXY": "gw.corp.example"}
    shown = 'echo "$HTTPS_PROXY"'
    done = run(paths, "--", "sh", "-c", shown, NODE_EXTRA_CA_CERTS=str(ours), **company)

    made = only_run(paths)
    outer = made["outer"]
    assert isinstance(outer, dict)
    assert (outer["proxy"], outer["exempt"]) == (company["HTTPS_PROXY"], company["NO_PROXY"])
    assert "AAAA" in Path(outer["roots"]).read_text()
    assert done.stdout == f"http://{made['run_id']}:{made['token']}@127.0.0.1:7717\n"
    assert done.stderr == ""
    told = run(paths, "--", "true", HTTPS_PROXY="socks5://me:secret@proxy.corp.example:1080").stderr
    assert "proxy.corp.example:1080" in told and "secret" not in told


@pytest.mark.parametrize(
    ("environ", "settings", "words"),
    [
        ({}, {}, ""),
        ({}, {"upstreams": {"a.example": "http://127.0.0.1:1"}}, "other settings"),
        ({"NO_PROXY": "*"}, {}, "nothing will be captured"),
    ],
)
def test_warnings(environ: Mapping[str, str], settings: Mapping[str, object], words: str) -> None:
    """What would make a user wonder is said beforehand."""
    found = warnings(DAEMON, Settings.model_validate(settings), environ)

    assert len(found) == bool(words)
    assert words in "".join(found)
