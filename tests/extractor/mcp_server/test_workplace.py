"""Where the asking agent works."""

from pathlib import Path

from spanlore_extractor.mcp_server.workplace import Workplace, run_of, workplace_of


def test_the_directory_and_the_run(tmp_path: Path) -> None:
    """Repository and branch by the checkout, the run by the proxy's URL."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@example.org:o/app.git\n')
    environ = {"HTTPS_PROXY": "http://run-0a1b:secret@127.0.0.1:7717"}

    assert workplace_of(tmp_path, environ) == Workplace("example.org/o/app", "topic", "", "run-0a1b")
    assert workplace_of(Path("/"), {}) == Workplace()


def test_other_proxies_are_no_run() -> None:
    """A user name of somebody else's proxy is none of ours."""
    assert run_of({"https_proxy": "http://alice:x@proxy.example.com"}) == ""
    assert run_of({"https_proxy": "http://run-1:x@127.0.0.1"}) == "run-1"
