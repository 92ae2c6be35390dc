"""Whatever a client does, in whatever order: its bytes are all there, and the proxy changes nothing of the prefix."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore.recall.budget import count_tokens
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.injector import Prepared
from spanlore_proxy.injection.rewrite import without_insertions
from support.agent_talks import TALKS, AnthropicTalk, AnyTalk, ChatTalk, texts_of
from support.injecting import Rig, failure_trigger, make_memory

POOL = [
    make_memory("pytest", trigger=failure_trigger()),
    make_memory("alembic", text="`alembic upgrade` fails here; `make migrate` works.", value="make migrate"),
    make_memory("compose", text="`docker compose` fails; `docker compose --env-file x.env up` works.", slot="up"),
    *(make_memory(f"tool{number}") for number in range(8)),
]
PROMPTS = (
    "Apply the alembic migrations and tell me what changed in the schema.",
    "Bring it all up with docker compose --env-file x.env and look at the page.",
    "Run pytest for all of it now, and mend what fails.",
    "go on",
)
WALKS = 25


class Walk:
    """One client through one proxy, by chance."""

    def __init__(self, name: str, seed: int) -> None:
        self.chance = random.Random(f"{name}{seed}")
        share = self.chance.choice([0, 0.3])
        settings = InjectionSettings(withhold_share=share, family_hint=self.chance.random() < 0.5)
        self.rig = Rig(self._known(), injection=settings)
        self.talk: AnyTalk = TALKS[name]()
        self.session_id = self.chance.choice(["s-1", None])
        self.taken: list[str] = []
        self.alarms: list[str] = []
        self.sent: list[Prepared] = []

    def go(self) -> None:
        """From the opening through up to 25 things that clients do."""
        self.send(self.talk.ask(self.chance.choice(PROMPTS)))
        steps: list[Callable[[], None]] = [
            self.run, self.run, self.fail, self.fail, self.fail, self.ask, self.retry, self.rig.restart, self.learn,
            self.rewind, self.edit, self.side, self.bypass, self.compaction, self.spelled, self.later, self.other_form,
            self.go_back, self.go_back_after_a_restart,
        ]  # fmt: skip
        for _ in range(self.chance.randint(3, 25)):
            step = self.chance.choice(steps)
            self.taken.append(step.__name__)
            step()

    def send(self, body: bytes, call_class: CallClass = CallClass.MAIN, **more: Any) -> None:
        identity = Identity(session_id=self.session_id, harness=self.talk.harness, call_class=call_class)
        prepared = self.rig.send(body, identity, endpoint=self.talk.endpoint, **more)
        assert without_insertions(prepared.body, prepared.insertions) == body, self.taken
        self.alarms += [prepared.alarm] if prepared.alarm else []
        self.sent.append(prepared)

    def _known(self) -> list[Any]:
        return self.chance.sample(POOL, self.chance.randint(0, len(POOL)))

    def _history(self) -> list[dict[str, Any]]:
        inner = self.talk.talk if isinstance(self.talk, AnthropicTalk) else self.talk
        return next(getattr(inner, name) for name in ("messages", "items", "contents") if hasattr(inner, name))

    def run(self) -> None:
        self.send(self.talk.run())

    def fail(self) -> None:
        self.send(self.talk.fail())

    def ask(self) -> None:
        self.talk.say("ok")
        self.send(self.talk.ask(f"{self.chance.choice(PROMPTS)} {len(self.taken)}"))

    def retry(self) -> None:
        self.send(self.talk.body())

    def learn(self) -> None:
        self.rig.snapshot = Snapshot.of(self._known())

    def later(self) -> None:
        self.rig.now_ns += 86_400 * 10**9

    def rewind(self) -> None:
        history = self._history()
        if len(history) > 3:
            del history[self.chance.randrange(2, len(history)) :]
            self.ask()

    def go_back(self) -> None:
        """To what the model has answered before, and that is sent once more."""
        history = self._history()
        if len(history) > 3:
            del history[self.chance.randrange(2, len(history)) :]
        self.send(self.talk.body())

    def go_back_after_a_restart(self) -> None:
        self.rig.restart()
        self.learn()
        self.go_back()

    def edit(self) -> None:
        history = self._history()
        index = self.chance.randrange(len(history))
        history[index] = copy.deepcopy(history[index])
        for key in ("content", "parts"):
            blocks = history[index].get(key)
            if isinstance(blocks, list) and blocks and "text" in blocks[-1]:
                blocks[-1]["text"] += " (edited)"
        self.send(self.talk.body())

    def side(self) -> None:
        self.send(self.talk.body(), CallClass.TITLE)

    def bypass(self) -> None:
        self.send(self.talk.body(), headers=(("x-spanlore-bypass", "1"),))

    def compaction(self) -> None:
        self.send(self.talk.body(), CallClass.COMPACTION)

    def spelled(self) -> None:
        self.send(orjson.dumps(orjson.loads(self.talk.body()), option=orjson.OPT_INDENT_2))

    def other_form(self) -> None:
        """A user's text becomes the list that it stands for, or the other way round."""
        history = self._history()
        index = self.chance.randrange(len(history))
        message = dict(history[index])
        if isinstance(self.talk, AnthropicTalk | ChatTalk) and message.get("role") == "user":
            content = message["content"]
            if isinstance(content, str):
                message["content"] = [{"type": "text", "text": content}]
            elif len(content) == 1 and content[0].get("type") == "text":
                message["content"] = content[0]["text"]
            history[index] = message
        self.send(self.talk.body())


@pytest.mark.parametrize("name", TALKS)
def test_no_walk_changes_the_prefix(name: str) -> None:
    """Retries, rewinds, edits, compactions, side calls, restarts, what is learned and what is forgotten meanwhile, days
    that go by, other spellings and forms: neither the plan nor the forwarded bodies show a change of the proxy's."""
    hinted = 0
    for seed in range(WALKS):
        walk = Walk(name, seed)
        walk.go()
        assert (walk.alarms, walk.rig.changed) == ([], []), (seed, walk.taken)
        hinted += sum(len(prepared.insertions) > 1 for prepared in walk.sent)

    assert hinted > WALKS


@pytest.mark.parametrize("name", TALKS)
def test_no_walk_leaves_the_budgets(name: str) -> None:
    """Of every text of ours that was sent, in tokens counted from above."""
    for seed in range(WALKS):
        walk = Walk(name, seed)
        walk.go()
        for prepared in walk.sent[-3:]:
            for text in texts_of(orjson.loads(prepared.body)) if prepared.insertions else ():
                block, _, _ = text[max(text.find("<spanlore-memory"), 0) :].partition("</spanlore-memory>")
                assert not block.startswith("<spanlore-memory") or count_tokens(block) <= 500
                for hint in text.split("<spanlore-hint>")[1:]:
                    assert count_tokens(hint.partition("</spanlore-hint>")[0]) <= 250
