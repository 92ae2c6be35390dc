"""A judge's model, scripted: a real server that answers as told, well or badly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson

from spanlore.redaction.redact import Redactor
from spanlore_extractor.judge.asking import Model
from spanlore_extractor.judge.instructions import Prompts, packaged
from spanlore_extractor.judge.judging import Judge
from spanlore_extractor.judge.spending import Caps
from support.model_server import Answer, ModelServer, ReceivedRequest, Reply, UseTool

CAPS = Caps(day_tokens=100_000, session_tokens=20_000, day_usd=1.0, session_usd=0.5)


def document(request: ReceivedRequest) -> Any:
    """The question that was asked."""
    content = orjson.loads(request.body)["messages"][0]["content"]
    return orjson.loads(content if isinstance(content, str) else content[0]["text"])


def answering(**verdict: Any) -> Reply:
    """An answer with that verdict."""
    return Reply((UseTool("verdict", {"refutation": "It may be chance.", "reason": "It is shown twice.", **verdict}),))


def fair(request: ReceivedRequest) -> Answer:
    """Keeps everything, with all the evidence there is."""
    spans = [item["span_id"] for item in document(request)["evidence"]]
    return answering(verdict="keep", evidence=spans, durable=True)


@contextmanager
def model_at(server: ModelServer, timeout_s: float = 10) -> Iterator[Model]:
    """The model that the server plays."""
    model = Model("sk-test", server.url, "claude-haiku-4-5", timeout_s)
    try:
        yield model
    finally:
        model.close()


def judge_with(model: Model, now_ns: int, caps: Caps = CAPS, added: Mapping[str, str] | None = None) -> Judge:
    """A judge with that model, and what is added to the prompt for an agent."""
    return Judge(model, Prompts(packaged("judge"), added or {}), caps, Redactor(()), now_ns)
