from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from spanlore_proxy.demo.drivers import ScriptedAgent
from spanlore_proxy.demo.scenario import CORRECTION, QUESTION, TASK
from spanlore_proxy.demo.stage import Stage, StageError
from spanlore_proxy.demo.story import Cast, Story
from support.model_server import ModelServer


def test_cast_are_sessions_of_their_own() -> None:
    """Each session has an id; the open one gets the task in its second turn."""
    cast = Cast()

    assert len({session.id for session in cast}) == 4
    assert cast.open.task_turn == 1


class Failing(Stage):
    """A stage on which every command fails, so that only what was tried is seen."""

    def spanlore(self, *arguments: str, check: bool = True, changes: Any = None) -> Any:
        self.tried: Sequence[str] = arguments
        raise StageError("out of order")


def test_story_stops_where_a_command_fails(tmp_path: Path) -> None:
    """The first failing command ends the story with its message."""
    with ModelServer(lambda _: None) as server:
        stage = Failing(server.url, keep=tmp_path)
        with pytest.raises(StageError, match="out of order"):
            Story(stage, server, ScriptedAgent(), lambda line: None).play()

    assert stage.tried == ("up", "--detach")
    assert len({TASK, CORRECTION, QUESTION}) == 3
