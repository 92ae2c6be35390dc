import orjson
import pytest

from spanlore_extractor.judge.answer import MAX_ANSWER_BYTES, UnavailableError
from spanlore_extractor.judge.rehearsal import REHEARSAL
from spanlore_extractor.judge.verdict import WorthlessAnswerError
from support.judging import answering, fair, model_at
from support.model_server import Answer, Failure, ModelServer, Raw, Reply, Say


def test_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    """The static part first and marked for the cache, one forced tool, no proxy of the environment, once."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    with ModelServer(fair) as server, model_at(server) as model:
        answer = model.ask("static text", REHEARSAL.text)
        [request] = server.requests
    body = orjson.loads(request.body)

    assert body["system"][0] == {"type": "text", "text": "static text", "cache_control": {"type": "ephemeral"}}
    assert body["tool_choice"] == {"type": "tool", "name": "verdict"}
    assert answer.data["verdict"] == "keep"  # type: ignore[index]  # the tool's input
    assert answer.cost.input_tokens > 0 and answer.cost.output_tokens > 0
    assert answer.cost.usd is not None and answer.cost.usd > 0


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        (Reply((Say("I'm sorry, I can't help with that."),), stop_reason="refusal"), "the model refuses"),
        (Reply((Say("keep"),)), "not one call"),
        (Reply((Say("x"),), stop_reason="max_tokens"), "cut off"),
        (Raw(b"{junk"), "not a message"),
        (Raw(b'{"content": 3}'), "not a message"),
        (Raw(b'[]'), "not a message"),
        (Raw(b'{"content": [3, null], "usage": {"input_tokens": 5}}'), "not one call"),
    ],
)  # fmt: skip
def test_answers_that_are_none(reply: Answer, fault: str) -> None:
    """Refusals, plain text, cut and broken answers are told, never raised."""
    with ModelServer(lambda _: reply) as server, model_at(server) as model:
        assert fault in model.ask("p", REHEARSAL.text).fault


VERDICT = (
    b'{"refutation": "a slip", "verdict": "keep", "evidence": ["1111111111111111"], "durable": true, '
    b'"inferable": false, "duplicate_of": "", "reason": "ok"}'
)


@pytest.mark.parametrize(
    "body",
    [
        {"content": [{"type": "text", "text": VERDICT.decode()}]},
        {"content": [{"type": "text", "text": f"```json\n{VERDICT.decode()}\n```"}], "done": True, "eval_count": 7},
        {"content": VERDICT.decode(), "model": "llama", "usage": None},
        {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "name": "verdict",
                      "input": VERDICT.decode()}], "usage": {}},
    ],
)  # fmt: skip
def test_servers_that_only_look_alike(body: dict[str, object]) -> None:
    """No usage, fields of their own, a verdict written as text or as JSON in a string: it counts."""
    raw = Raw(orjson.dumps(body))
    with ModelServer(lambda _: raw) as server, model_at(server) as model:
        answer = model.ask("p", REHEARSAL.text)

    assert answer.fault == ""
    assert answer.data == orjson.loads(VERDICT)
    assert (answer.cost.input_tokens, answer.cost.output_tokens) == (0, 0)


def test_a_model_without_tools() -> None:
    """Asked once more without, in plain JSON; from then on at once. A text that is no verdict stays a fault."""
    answers: list[Answer] = [
        Failure(400, "invalid_request_error", "llama does not support tools"),
        Raw(orjson.dumps({"content": [{"type": "text", "text": VERDICT.decode()}]})),
        Raw(orjson.dumps({"content": [{"type": "text", "text": "I would keep it."}]})),
    ]
    with ModelServer(lambda _: answers.pop(0)) as server, model_at(server) as model:
        first, second = model.ask("p", REHEARSAL.text), model.ask("p", REHEARSAL.text)
        bodies = [orjson.loads(request.body) for request in server.requests]

    assert first.data == orjson.loads(VERDICT)
    assert "not one call" in second.fault
    assert ["tools" in body for body in bodies] == [True, False, False]
    assert bodies[1]["system"][0]["text"].startswith("p\n\nThere is no tool here.")


def test_a_huge_answer_is_not_read_to_its_end() -> None:
    """Bounded, whatever the server sends."""
    huge = Raw(b" " * (MAX_ANSWER_BYTES * 40))
    with (
        ModelServer(lambda _: huge) as server,
        model_at(server) as model,
        pytest.raises(WorthlessAnswerError) as caught,
    ):
        model.ask("p", REHEARSAL.text)
    assert "too large" in str(caught.value)


@pytest.mark.parametrize(
    ("failure", "retry_after_s"),
    [
        (Failure(429, "rate_limit_error", "x", (("retry-after", "33"),)), 33.0),
        (Failure(529), None),
        (Failure(401, "authentication_error", "sk-test is no key"), None),
        (Failure(404, "not_found_error", "model"), None),
        (Failure(500, "api_error", "x"), None),
    ],
)
def test_an_api_that_will_not(failure: Failure, retry_after_s: float | None) -> None:
    """One call, no retry; the API's own words are not passed on, they may quote what was sent."""
    with ModelServer(lambda _: failure) as server, model_at(server) as model:
        with pytest.raises(UnavailableError, match=f"status {failure.status}") as caught:
            model.ask("p", REHEARSAL.text)
        assert len(server.requests) == 1
    assert caught.value.retry_after_s == retry_after_s
    assert "sk-test" not in str(caught.value)


def test_a_question_the_api_refuses() -> None:
    """It is that lesson's fault, not the API's."""
    bad, wrong = Failure(400, "invalid_request_error", "x"), WorthlessAnswerError
    with ModelServer(lambda _: bad) as server, model_at(server) as model, pytest.raises(wrong, match="status 400"):
        model.ask("p", REHEARSAL.text)


def test_a_slow_api_and_none() -> None:
    """Given up after the time-out."""
    slow = ModelServer(lambda _: answering(verdict="keep"), delay_s=5)
    with slow as server, model_at(server, 0.3) as model, pytest.raises(UnavailableError):
        model.ask("p", REHEARSAL.text)
    with model_at(server, 0.3) as model, pytest.raises(UnavailableError):
        model.ask("p", REHEARSAL.text)
