"""Whether agents trust the proxy, and what leads them past it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from spanlore_proxy.doctor import agents
from spanlore_proxy.doctor.finding import Severity
from spanlore_proxy.doctor.scene import Scene
from spanlore_proxy.launch.ca import ensure_trust, system_bundle

type Make = Callable[..., Scene]


def path_with(folder: Path, *programs: str) -> str:
    """A directory with such programs, for a PATH."""
    folder.mkdir(exist_ok=True)
    for name in programs:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_installed_agents_trust_the_proxy(running: Scene, tmp_path: Path) -> None:
    """A handshake with each agent's own trust file; nothing goes upstream."""
    environ = {**running.environ, "PATH": path_with(tmp_path / "bin", "claude", "codex")}
    found = list(agents.trust(replace(running, environ=environ)))

    assert [finding.severity for finding in found] == [Severity.OK, Severity.OK]
    assert "NODE_EXTRA_CA_CERTS" in found[0].says
    assert "CODEX_CA_CERTIFICATE" in found[1].says


def test_a_file_without_our_ca_is_refused(running: Scene) -> None:
    """The system's roots alone do not do, and a port where nobody listens is told, too."""
    assert running.daemon is not None
    roots = system_bundle()
    assert roots is not None

    assert "CERTIFICATE_VERIFY_FAILED" in agents.handshake(running.daemon.proxy_port, "api.anthropic.com", roots)
    assert "refused" in agents.handshake(1, "api.anthropic.com", roots)


def test_no_agent_is_a_note(scene: Make) -> None:
    """Others work too."""
    (finding,) = agents.trust(scene())

    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        (".claude/settings.json", json.dumps({"env": {"HTTPS_PROXY": "http://x"}}), "Claude Code goes past"),
        (".gemini/settings.json", json.dumps({"proxy": "http://x"}), "Gemini CLI goes past"),
        (".codex/config.toml", '[model_providers.o]\nbase_url = "http://127.0.0.1:11434/v1"\n', "provider o"),
    ],
)
def test_agents_own_files(scene: Make, tmp_path: Path, name: str, text: str, word: str) -> None:
    """What wins over the environment is told; a HOME without such files is silent."""
    assert list(agents.own_files(scene())) == []
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(text)
    (finding,) = agents.own_files(scene())

    assert word in finding.says


def test_a_shell_that_leads_nowhere(scene: Make) -> None:
    """A proxy variable left behind is an error: nothing can be reached from such a shell."""
    (dead,) = agents.shell(scene(environ={"HTTPS_PROXY": "http://run:secret@127.0.0.1:1"}))
    (plain,) = agents.shell(scene())
    (other,) = agents.shell(scene(environ={"https_proxy": "http://proxy.example.com:3128"}))

    assert (dead.severity, "secret" in dead.says) == (Severity.ERROR, False)
    assert (plain.severity, other.severity) == (Severity.OK, Severity.NOTE)


def test_a_shell_that_leads_here(running: Scene) -> None:
    """With the trust files it is well, without them agents would refuse; NO_PROXY must not name LLM hosts."""
    assert running.daemon is not None
    here = {"HTTPS_PROXY": f"http://127.0.0.1:{running.daemon.proxy_port}"}
    bundle = str(ensure_trust(running.paths, {}).bundle)
    names = ("NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CODEX_CA_CERTIFICATE", "REQUESTS_CA_BUNDLE")
    (half,) = agents.shell(replace(running, environ=here))
    (whole,) = agents.shell(replace(running, environ={**here, **dict.fromkeys(names, bundle)}))
    bypass, _ = agents.shell(replace(running, environ={**here, "NO_PROXY": "*"}))

    assert (half.severity, whole.severity) == (Severity.ERROR, Severity.OK)
    assert (bypass.severity, "NO_PROXY" in bypass.says) == (Severity.ERROR, True)
