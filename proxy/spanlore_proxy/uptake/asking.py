"""Asks the model through the real proxy, and keeps each answer as a line of JSON, so that a run can be resumed.

The proxy runs in this process with a state of its own, its snapshot written before it starts; no collector is there,
as after one that went down, and the proxy keeps the memories it has. That it inserted, or did not, is checked after
every request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import aiohttp

from spanlore.memory.memory import memory_to_json
from spanlore.settings import Paths, Settings
from spanlore_proxy.bench.targets import free_port
from spanlore_proxy.capture import counters
from spanlore_proxy.capture.master import listen
from spanlore_proxy.capture.service import ProxyService, serving
from spanlore_proxy.injection.wording import Wording
from spanlore_proxy.uptake.arms import ARMS, Arm, Moment, body, memory_of, placebo_of, run_id_of, said, scope_of
from spanlore_proxy.uptake.lessons import Lesson
from spanlore_proxy.uptake.wordings import FIX_FIRST

API_HOST: Final = "api.openai.com"
"""Whose place the model's server takes; nothing is sent there."""
TOKEN: Final = "uptake"
TIMEOUT_S: Final = 600.0
HARNESS: Final = "mini-swe-agent"
USER_AGENT: Final = "mini-swe-agent/2.4.6"


class UptakeError(RuntimeError):
    """The model could not be asked. The message says what came instead."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One request's outcome."""

    lesson: int
    wording: str
    """'' in the arm without a memory."""
    arm: str
    moment: str
    answer: str
    is_named: bool
    """It names the lesson's command or path."""
    is_misled: bool
    """It names the placebo's."""
    is_repeated: bool
    """It names the failing command, and not the lesson's."""
    prompt_tokens: int
    """By the model's own tokenizer; 0 where the server does not count."""
    seconds: float

    @property
    def key(self) -> tuple[int, str, str, str]:
        """What was asked."""
        return self.lesson, self.wording, self.arm, self.moment


@dataclass(frozen=True, slots=True)
class Question:
    """The model that is asked, and how."""

    url: str
    """Of its server; the API's path comes behind."""
    model: str
    max_tokens: int


def score(lesson: Lesson, placebo: Lesson, text: str) -> tuple[bool, bool, bool]:
    """(named, misled, repeated) of an answer. A made-up word is named or it is not; case is no matter."""
    flat = " ".join(text.lower().split())
    is_named = lesson.word in flat
    return is_named, placebo.word in flat, not is_named and lesson.wrong.lower() in flat


class Book:
    """The answers so far, in a file of JSON lines; the first line says what they are answers to."""

    def __init__(self, path: Path, about: Mapping[str, Any], *, is_resumed: bool) -> None:
        """
        Raises:
            UptakeError: the file exists and is not to be resumed, or its answers are about something else.
            OSError: the file can't be used.
        """
        self._path = path
        self.answers: dict[tuple[int, str, str, str], Answer] = {}
        if path.exists() and path.stat().st_size:
            if not is_resumed:
                raise UptakeError(f"{path} holds answers already: --resume goes on with them, or name another file")
            self._read(dict(about))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(dict(about)) + "\n")

    def add(self, answer: Answer) -> None:
        """Keeps one, on disk too."""
        self.answers[answer.key] = answer
        with self._path.open("a") as file:
            file.write(json.dumps(asdict(answer)) + "\n")

    def _read(self, about: dict[str, Any]) -> None:
        first, *lines = self._path.read_text().splitlines()
        try:
            if json.loads(first) != about:
                raise UptakeError(f"{self._path} is about {first}, not about {json.dumps(about)}: name another file")
            for line in lines:
                answer = Answer(**json.loads(line))
                self.answers[answer.key] = answer
        except (ValueError, TypeError) as error:
            raise UptakeError(f"{self._path} can't be read: {error}; delete its broken last line") from None


async def ask_all(
    folder: Path,
    lessons: Sequence[Lesson],
    wordings: Mapping[str, Wording],
    question: Question,
    book: Book,
    tell: Callable[[str], None],
    arms: Sequence[Arm] = ARMS,
    moments: Collection[Moment] = tuple(Moment),
) -> None:
    """Asks whatever the book does not hold yet, wording by wording. `folder` gets the proxies' states.

    Raises:
        UptakeError: no answer, or the proxy did not do what the arm is about.
    """
    for name, words in wordings.items():
        due = [
            (lesson, arm)
            for lesson in lessons
            for arm in arms
            if any(_key(lesson, arm, name, moment) not in book.answers for moment in arm.moments if moment in moments)
        ]
        if not due:
            continue
        settings = Settings.model_validate(
            {
                "upstreams": {API_HOST: question.url},
                # A free port at which nobody will listen: the collector is away.
                "collector": {"port": free_port()},
                "injection": {"withhold_share": 0, "task_hint_tokens": 0, "deadline_ms": 5000},
                "proxy": {"wire_log_max_bytes": 0},
            }
        )
        paths = Paths(config_dir=folder / name / "config", state_dir=folder / name / "state")
        paths.ensure()
        _give(paths, due, lessons, is_fix_first=name == FIX_FIRST)
        listening = listen(0)
        port = listening.getsockname()[1]
        async with serving(settings, paths, listening, words=words) as service:
            timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
            async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
                asking = _Asking(session, port, service, question, lessons, moments)
                for number, (lesson, arm) in enumerate(due, 1):
                    for answer in await asking.converse(lesson, arm, name):
                        if answer.key not in book.answers:
                            book.add(answer)
                    if number % len(arms) == 0 or number == len(due):
                        tell(f"{name}: {number} of {len(due)} conversations")


@dataclass(slots=True)
class _Asking:
    """One proxy's conversations."""

    session: aiohttp.ClientSession
    port: int
    service: ProxyService
    question: Question
    lessons: Sequence[Lesson]
    moments: Collection[Moment]

    async def converse(self, lesson: Lesson, arm: Arm, wording: str) -> list[Answer]:
        """All of the arm's requests: the session block of the first stands in the second as well. An opening whose
        answer is not wanted is sent all the same, for a single token."""
        wanted = {moment for moment in arm.moments if moment in self.moments}
        answers = [
            (moment, await self._ask(lesson, arm, wording, moment, self.question.max_tokens if moment in wanted else 1))
            for moment in arm.moments[: 1 + max(map(arm.moments.index, wanted))]
            if moment in wanted or arm.is_shown
        ]
        return [answer for moment, answer in answers if moment in wanted]

    async def _ask(self, lesson: Lesson, arm: Arm, wording: str, moment: Moment, max_tokens: int) -> Answer:
        data = body(lesson, moment, self.question.model, max_tokens)
        url = f"http://127.0.0.1:{self.port}/r/{run_id_of(lesson, arm)}:{TOKEN}/openai/v1/chat/completions"
        headers = {
            "content-type": "application/json",
            "authorization": "Bearer none",
            "user-agent": USER_AGENT,
            "x-session-id": run_id_of(lesson, arm),
        }
        before, began = self.service.counts.count(counters.INJECTED), time.monotonic()
        try:
            async with self.session.post(url, data=data, headers=headers) as response:
                text = await response.text()
        except (aiohttp.ClientError, TimeoutError) as error:
            raise UptakeError(f"no answer from {self.question.url}: {error or type(error).__name__}") from error
        if response.status != 200:
            raise UptakeError(f"{self.question.url} answered {response.status}: {text[:300]}")
        if (self.service.counts.count(counters.INJECTED) > before) is not arm.is_shown:
            raise UptakeError(f"the proxy did not do what arm {arm.name} is about, lesson {lesson.number}")
        try:
            document = json.loads(text)
            answer = said(document)
        except ValueError as error:
            raise UptakeError(f"{self.question.url}: {error}") from None
        named, misled, repeated = score(lesson, placebo_of(lesson, self.lessons), answer)
        tokens = (document.get("usage") or {}).get("prompt_tokens") or 0
        key = _key(lesson, arm, wording, moment)
        return Answer(*key, answer, named, misled, repeated, tokens, round(time.monotonic() - began, 3))


def _key(lesson: Lesson, arm: Arm, wording: str, moment: Moment) -> tuple[int, str, str, str]:
    return lesson.number, wording if arm.is_shown else "", arm.name, moment.value


def _give(paths: Paths, due: Iterable[tuple[Lesson, Arm]], lessons: Sequence[Lesson], *, is_fix_first: bool) -> None:
    """The proxy's snapshot, and a run for each conversation."""
    memories = []
    for lesson, arm in due:
        memory = memory_of(lesson, arm, lessons, is_fix_first=is_fix_first)
        if memory is not None:
            memories.append(memory_to_json(memory))
        run_id = run_id_of(lesson, arm)
        run = {
            "run_id": run_id, "token": TOKEN, "created_at_ns": time.time_ns(), "pid": 0,
            "harness": HARNESS, "harness_version": "", "sub_path": "", "branch": "main",
            "repository": scope_of(lesson, arm),
            # Of its own: in one directory the same history is a fork of the first, and keeps what was placed there.
            "cwd": f"/home/dev/{run_id}",
        }  # fmt: skip
        (paths.runs_dir / f"{run['run_id']}.json").write_text(json.dumps(run))
    paths.snapshot_file.write_text(json.dumps({"memories": memories}))
