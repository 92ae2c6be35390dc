"""Whatever a client and its user do in a conversation, what the proxy added before stays, byte for byte.

Random walks of what happens in real sessions and of what rarely does. What is compared here is found out from the
bodies alone, by other code than the proxy's own alarms: as far as two bodies of the client are equal, part by part
(tools, blocks of the system prompt, messages up to the model's newest), what was forwarded has to be equal, too.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from spanlore.genai.inference import CallClass
from spanlore.memory.memory import Kind, Memory
from spanlore.recall.snapshot import Snapshot
from spanlore.settings.settings import InjectionSettings
from spanlore_proxy.conversation.agent import Identity
from spanlore_proxy.injection.rewrite import without_insertions
from support.injecting import WORKPLACE, Rig, Talk, failure_trigger, log_of, make_memory, who

STEPS = 70
OUTPUTS = [f"Exit code 1\nValueError: {word}" for word in ("alpha", "beta", "gamma")]
MEMORIES = [
    *(make_memory(f"make {n}", trigger=failure_trigger("make x", out, 1)) for n, out in enumerate(OUTPUTS)),
    make_memory("alembic", text="`alembic upgrade` fails here; `make migrate` works.", value="make migrate"),
    make_memory("terraform", text="`terraform plan` fails here; `make plan` works.", value="make plan"),
    make_memory("rule", kind=Kind.CORRECTION, text="The user said: the schema is frozen until May.", value=""),
]
PROMPTS = ["Apply the alembic migrations to the database.", "What would terraform plan change in the staging area?"]


def parts_of(body: bytes) -> dict[str, list[bytes]]:
    """The parts of a body in the order that a provider's cache reads them; marks of the cache do not count."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: bare(one) for key, one in value.items() if key != "cache_control"}
        return [bare(one) for one in value] if isinstance(value, list) else value

    document = bare(orjson.loads(body))
    return {name: [orjson.dumps(one) for one in document.get(name, [])] for name in ("tools", "system", "messages")}


def answered(messages: list[bytes]) -> int:
    """Messages up to the model's newest, it included."""
    return max((at + 1 for at, one in enumerate(messages) if orjson.loads(one)["role"] == "assistant"), default=0)


def changed_by_us(client: tuple[bytes, bytes], sent: tuple[bytes, bytes]) -> str:
    """What of the prefix differs in two forwarded bodies although the client's do not; '' when nothing does."""
    (one, other), (first, second) = map(parts_of, client), map(parts_of, sent)
    if one["tools"] != other["tools"]:
        return "" if first["tools"] == one["tools"] and second["tools"] == other["tools"] else "tools"
    if one["system"] != other["system"]:
        # The block is the last; what the client changed before it is its own doing.
        ours = [after["system"][len(before["system"]) :] for before, after in ((one, first), (other, second))]
        return "" if ours[0] == ours[1] else "system"
    if first["system"] != second["system"]:
        return "system"
    pairs = zip(one["messages"], other["messages"], strict=False)
    common = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one["messages"]), len(other["messages"])))
    # A request that is sent again may get at its end what the first attempt did not.
    until = min(common, answered(one["messages"]) if common == len(other["messages"]) else len(one["messages"]))
    return "" if first["messages"][:until] == second["messages"][:until] else "messages"


class Answered:
    """What the model has answered so far, and how each message was sent: by the client's messages up to it."""

    def __init__(self) -> None:
        self._answered: set[bytes] = set()
        self._sent: dict[bytes, set[bytes]] = {}

    def late(self, client: bytes, sent: bytes) -> int | None:
        """Index of a message that was answered before, and never sent as it is now; None when there is none."""
        own, forwarded = parts_of(client)["messages"], parts_of(sent)["messages"]
        known = [(b"".join(own[: at + 1]), as_sent) for at, as_sent in enumerate(forwarded)]
        late = [
            at for at, (one, as_sent) in enumerate(known) if one in self._answered and as_sent not in self._sent[one]
        ]
        self._answered.update(one for one, _ in known[: answered(own)])
        for one, as_sent in known:
            self._sent.setdefault(one, set()).add(as_sent)
        return late[0] if late else None


class Walk:
    """One conversation in which anything may happen."""

    def __init__(self, seed: int, identity: Identity) -> None:
        self.chance = random.Random(seed)
        self.identity = identity
        self.rig, self.talk = Rig(MEMORIES), Talk()
        self.last: tuple[bytes, bytes] | None = None
        self.answered = Answered()
        self.done: list[str] = []
        self.kinds: set[str] = set()
        self.model, self.tools = "claude-x", [{"name": "Bash"}]
        self.workplace = WORKPLACE
        self.is_known = False
        """An answered request went out with something of ours: a resume can be told by it."""

    def send(self, why: str) -> None:
        """One request; what it brings is compared with the one before."""
        body = self.body()
        prepared = self.rig.send(body, self.identity, workplace=self.workplace)
        self.done.append(why)
        shown = [item["kind"] for item in log_of(prepared) if item["state"] == "shown"]
        self.kinds.update(shown)
        self.is_known = self.is_known or (bool(shown) and len(self.talk.messages) > 1)
        assert without_insertions(prepared.body, prepared.insertions) == body, self.done
        late = self.answered.late(body, prepared.body)
        assert late is None or not self.identity.session_id or self.rig.is_killed, (late, self.done)
        if self.rig.is_killed:
            assert prepared.body == body, self.done
            return
        if self.last is not None:
            changed = changed_by_us((self.last[0], body), (self.last[1], prepared.body))
            assert changed == "", (changed, self.done)
        self.last = body, prepared.body

    def body(self) -> bytes:
        """The client's, with the model and tools of now."""
        return orjson.dumps({**orjson.loads(self.talk.body()), "model": self.model, "tools": self.tools})

    def steps(self) -> Iterator[str]:
        """Names of what happens."""
        names = [name.removeprefix("do_") for name in dir(self) if name.startswith("do_")]
        for _ in range(STEPS):
            yield self.chance.choice([*names, "fail", "run", "ask"])

    def walk(self) -> None:
        self.talk.ask(self.chance.choice(PROMPTS))
        self.send("begin")
        self.do_fail()
        self.send("fail")
        for name in self.steps():
            if getattr(self, f"do_{name}")() is not False:
                self.send(name)

    def do_run(self) -> None:
        self.talk.run("ok", command=f"ls {self.chance.random()}")

    def do_fail(self) -> None:
        self.talk.fail(self.chance.choice(OUTPUTS), command="make x")

    def do_ask(self) -> None:
        self.talk.say("done")
        self.talk.ask(f"{self.chance.choice(PROMPTS)} Part {len(self.done)}.")

    def do_resend(self) -> None:
        """After a 529, the same body."""

    def do_resend_with_another_tail(self) -> None:
        """After a 529, with something typed meanwhile."""
        self.talk.messages[-1]["content"].append({"type": "text", "text": "and hurry up"})

    def do_edit(self) -> None:
        """The client clears an old result, or the user edits a prompt."""
        message = self.chance.choice(self.talk.messages)
        if isinstance(message["content"], list) and "content" in message["content"][0]:
            message["content"][0]["content"] = "[cleared]"

    def do_go_back(self) -> None:
        """The user rewinds, to what stands at the end again as it was answered before."""
        if len(self.talk.messages) > 4:
            del self.talk.messages[2 * self.chance.randrange(1, len(self.talk.messages) // 2) + 1 :]

    def do_move_marks(self) -> None:
        for message in self.talk.messages:
            for block in message["content"]:
                block.pop("cache_control", None)
        self.talk.messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        self.talk.system[0]["cache_control"] = {"type": "ephemeral", "ttl": self.chance.choice(("5m", "1h"))}

    def do_midnight(self) -> None:
        """The date in the system prompt."""
        self.talk.system[0] = {"type": "text", "text": f"You are an agent. Today is {self.chance.randrange(31)} May."}

    def do_another_form(self) -> None:
        """A message of one text as a string."""
        content = self.talk.messages[0]["content"]
        if isinstance(content, list) and len(content) == 1:
            self.talk.messages[0] = {"role": "user", "content": [dict(content[0])]}

    def do_forget(self) -> bool:
        self._memories(self.chance.sample(MEMORIES, self.chance.randrange(len(MEMORIES))))
        return False

    def do_edit_memories(self) -> bool:
        self._memories([dataclasses.replace(one, text=f"{one.text} Edited.", version=2) for one in MEMORIES])
        return False

    def _memories(self, memories: list[Memory]) -> None:
        self.rig.snapshot = Snapshot.of(memories)

    def do_kill_file(self) -> bool:
        """It is there for a request or two."""
        self.rig.is_killed = True
        for _ in range(self.chance.randrange(1, 3)):
            self.chance.choice((self.do_run, self.do_fail, self.do_ask))()
            self.send("killed")
        self.rig.is_killed = False
        return False

    def do_go_back_after_a_restart(self) -> None:
        """The first that the proxy hears of the conversation; or of what it left alone, with the kill file there."""
        self.chance.choice((self.do_fail, self.do_ask))()
        self.send("fail or ask")
        self.chance.choice((self.do_restart, self.do_kill_file))()
        self.do_go_back()

    def do_other_model(self) -> None:
        self.model = self.chance.choice(("claude-x", "claude-y"))

    def do_other_tools(self) -> None:
        """An MCP server comes or goes."""
        self.tools = [{"name": "Bash"}, *({"name": f"mcp__{n}"} for n in range(self.chance.randrange(3)))]

    def do_resume(self) -> None:
        """By another process; of an agent that names its session in another directory, too."""
        if self.is_known:
            run_id = f"run-{self.chance.randrange(16**12):012x}"
            cwd = self.chance.choice((WORKPLACE.cwd, "/home/u/shop-2")) if self.identity.session_id else WORKPLACE.cwd
            self.workplace = dataclasses.replace(self.workplace, run_id=run_id, cwd=cwd)

    def do_reload(self) -> bool:
        """Other settings, and a proxy that starts anew with them."""
        self.rig.injection = InjectionSettings(
            withhold_share=self.chance.choice((0, 0.5, 1)),
            session_block_tokens=self.chance.choice((0, 200, 500)),
            task_hint_tokens=self.chance.choice((0, 250)),
            family_hint=self.chance.random() < 0.5,
        )
        self.rig.restart()
        return False

    def do_restart(self) -> bool:
        self.rig.restart()
        return False

    def do_clock_jump(self) -> bool:
        self.rig.now_ns += self.chance.choice((-1, 1)) * 400 * 86_400 * 10**9
        return False

    def do_subagent(self) -> bool:
        """One with the very same prompt, in between."""
        other = dataclasses.replace(self.identity, call_class=CallClass.SUBAGENT, agent_key=f"a{len(self.done)}")
        talk = Talk()
        talk.ask(orjson.loads(orjson.dumps(self.talk.messages[0]))["content"][0]["text"])
        self.rig.send(talk.fail(OUTPUTS[0], command="make x"), other)
        return False

    def do_another_session(self) -> bool:
        """With the same prompt, at the same time."""
        talk = Talk()
        talk.ask(orjson.loads(orjson.dumps(self.talk.messages[0]))["content"][0]["text"])
        self.rig.send(talk.body(), dataclasses.replace(self.identity, session_id=f"other-{len(self.done)}"))
        return False

    def do_second_proxy(self) -> bool:
        """It has the same ledger."""
        first = self.rig.injector
        self.rig.restart()
        self.rig.send(self.body(), self.identity, workplace=self.workplace)
        self.rig.injector = first
        return False

    def do_side_call(self) -> bool:
        self.rig.send(self.talk.body(), dataclasses.replace(self.identity, call_class=CallClass.TITLE))
        return False


@pytest.mark.parametrize("session_id", ["s-1", None], ids=["named", "derived"])
@pytest.mark.parametrize("seed", range(12))
def test_no_prefix_changes_by_our_doing(seed: int, session_id: str | None) -> None:
    """And the proxy's own alarms say the same."""
    walk = Walk(seed, who(session_id=session_id))
    walk.walk()

    assert {"session_block", "failure_hint"} <= walk.kinds
    assert walk.rig.changed == []


def test_the_walk_would_see_a_late_hint() -> None:
    """In a message that a rewind has made the last one again; not one that stood there before."""
    client = Talk()
    client.ask("go")
    client.fail()
    first = client.body()
    client.run("ok")
    second = client.body()
    hinted = orjson.loads(first)
    hinted["messages"][2]["content"].append({"type": "text", "text": "hint"})
    late, replayed = Answered(), Answered()
    both = orjson.loads(second)
    both["messages"][2] = hinted["messages"][2]

    assert [late.late(first, first), late.late(second, second), late.late(first, orjson.dumps(hinted))] == [
        None
    ] * 2 + [2]
    as_sent = [(first, orjson.dumps(hinted)), (second, orjson.dumps(both)), (first, orjson.dumps(hinted))]
    assert [replayed.late(*one) for one in as_sent] == [None] * 3


def test_the_walk_would_see_a_change() -> None:
    """A block that goes, a hint that goes, a hint that comes late."""
    client = Talk(system=[{"type": "text", "text": "x"}])
    client.ask("go")
    client.fail()
    first = client.body()
    client.run("ok")
    second = client.body()
    hinted, blocked = orjson.loads(first), orjson.loads(first)
    hinted["messages"][2]["content"].append({"type": "text", "text": "hint"})
    blocked["system"].append({"type": "text", "text": "block"})
    late = orjson.loads(second)
    late["messages"][2]["content"].append({"type": "text", "text": "hint"})

    assert changed_by_us((first, second), (first, second)) == ""
    assert changed_by_us((first, second), (orjson.dumps(blocked), second)) == "system"
    assert changed_by_us((first, second), (orjson.dumps(hinted), second)) == "messages"
    assert changed_by_us((first, second), (first, orjson.dumps(late))) == "messages"
