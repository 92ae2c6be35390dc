"""All checks together."""

from collections.abc import Callable, Iterator

import pytest

from spanlore_proxy.doctor import examine as module
from spanlore_proxy.doctor.examine import examine
from spanlore_proxy.doctor.finding import Finding, Severity
from spanlore_proxy.doctor.scene import Scene


def test_a_running_installation_has_no_errors(running: Scene) -> None:
    """Every check has something to say of it, and none fails."""
    found = examine(running)
    checks = {finding.check for finding in found}

    assert [finding.says for finding in found if finding.severity is Severity.ERROR] == []
    assert {"permissions", "daemon", "ports", "ca", "agents", "shell", "store", "spool", "completeness"} <= checks
    assert {"disk", "activity", "injection", "prefix alarm"} <= checks


def test_a_check_that_fails_hides_nothing(scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is a finding itself; those after it are made."""

    def broken(scene: Scene) -> Iterator[Finding]:
        raise KeyError("unforeseen")
        yield

    def well(scene: Scene) -> Iterator[Finding]:
        yield Finding("well", Severity.OK, "fine")

    monkeypatch.setattr(module, "CHECKS", (broken, well))
    first, second = examine(scene())

    assert (first.check, first.severity, "KeyError" in first.says) == ("broken", Severity.ERROR, True)
    assert second.check == "well"
