"""A real daemon for the checks that need one, and scenes that need none."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from spanlore.settings import Paths, Settings, load_settings
from spanlore_proxy.demo.replies import Reply, Say
from spanlore_proxy.demo.stage import Stage
from spanlore_proxy.doctor.scene import Scene, look
from support.model_server import ModelServer

NOW_NS = 1_796_000_000 * 10**9


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = Paths(config_dir=tmp_path / "config", state_dir=tmp_path / "state")
    paths.ensure()
    return paths


@pytest.fixture
def scene(paths: Paths, tmp_path: Path) -> Callable[..., Scene]:
    """A scene without a daemon; keyword arguments change it."""

    def make(**changes: Any) -> Scene:
        fields: dict[str, Any] = {
            "paths": paths,
            "settings": Settings(),
            "environ": {"HOME": str(tmp_path), "PATH": ""},
            "now_ns": NOW_NS,
        }
        return Scene(**(fields | changes))

    return make


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """A daemon whose LLM hosts all lead to a scripted server."""
    with ModelServer(lambda request: Reply((Say("Hello."),))) as server:
        hosts = ("api.anthropic.com", "api.openai.com", "generativelanguage.googleapis.com")
        upstreams = ",".join(f"{host}={server.url}" for host in hosts)
        with Stage(server.url, settings={"SPANLORE_UPSTREAMS": upstreams}) as stage:
            stage.up()
            yield stage


@pytest.fixture
def running(stage: Stage) -> Scene:
    """The scene of that daemon, as it is now."""
    import time

    settings = load_settings(stage.environment, stage.paths)
    return look(stage.paths, settings, stage.environment, time.time_ns())
