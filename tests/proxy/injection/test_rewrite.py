"""The body is the client's body with insertions, and nothing else. What goes where: `layouts`."""

import dataclasses
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.genai.inference import Dialect
from spanlore_proxy.injection.layouts.table import LAYOUTS
from spanlore_proxy.injection.offsets import OffsetError
from spanlore_proxy.injection.rewrite import SYSTEM, Addition, Insertion, insert, weave, without_insertions
from spanlore_proxy.wire.anthropic import parse_request
from spanlore_proxy.wire.codecs import CODECS, read_request
from support.agent_talks import TALKS, texts_of, turns_of
from support.json_bodies import STYLES, TEXT, spell
from support.recordings import ROOT


@given(st.sampled_from(sorted(TALKS)), STYLES, st.lists(TEXT.filter(bool), min_size=1, max_size=4))
def test_what_is_inserted_is_all_that_changes(name: str, style: str, texts: list[str]) -> None:
    """In every dialect: out come the client's bytes when it is taken out, and the texts are there when it is read."""
    talk = TALKS[name]()
    talk.ask("fix it")
    body = spell(orjson.loads(talk.fail()), style)
    request = read_request(body, talk.endpoint)
    last = len(request.raw_messages) - 1
    additions = [Addition(SYSTEM if number % 2 else last, text) for number, text in enumerate(texts)]
    rewritten = insert(body, request, additions)
    before, after = "\n\n".join(texts_of(turns_of(body))), "\n\n".join(texts_of(turns_of(rewritten.body)))

    assert without_insertions(rewritten.body, rewritten.insertions) == body
    assert len(after) > len(before)
    assert all(text in after for text in texts)


RECORDED = sorted(
    path
    for dialect in ("anthropic", "openai_chat", "openai_responses", "gemini")
    for ending in ("request", "next")
    for path in (ROOT / dialect).glob(f"*.{ending}.json")
)
TALK_OF = {"openai_chat": "chat", "openai_responses": "responses"}


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recorded_bodies_keep_every_byte(path: Path) -> None:
    """Bodies that real clients sent take the block and a hint beside each result; nothing else of them changes."""
    body = path.read_bytes()
    endpoint = TALKS[TALK_OF.get(path.parent.name, path.parent.name)]().endpoint
    request = read_request(body, endpoint)
    layout = LAYOUTS[request.dialect]
    if layout.refusal(request):
        return
    with_results = [index for index, raw in enumerate(request.raw_messages) if list(layout.result_ids(raw))]
    additions = [Addition(index, 'a "b"\n‹é›') for index in (SYSTEM, *with_results)]
    rewritten = insert(body, request, additions)
    after = read_request(rewritten.body, endpoint)
    digest = CODECS[request.dialect].message_digest
    changed = [
        index
        for index, (old, new) in enumerate(zip(request.raw_messages, after.raw_messages, strict=True))
        if digest(old) != digest(new)
    ]

    assert without_insertions(rewritten.body, rewritten.insertions) == body
    assert changed == with_results
    assert '"b"\n‹é›' in texts_of(after.raw_system)[-1]


def test_nothing_to_add_is_the_same_object() -> None:
    """Without additions the client's own bytes are passed on, not a copy."""
    body = b'{"messages":[]}'

    assert insert(body, parse_request(body), []).body is body
    assert weave(body, ()) is body


def test_insertion_has_no_cache_control_and_moves_none() -> None:
    """The client's breakpoint stays where it was; ours comes after it, without one."""
    body = b'{"messages":[],"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}]}'
    rewritten = insert(body, parse_request(body), [Addition(SYSTEM, "x")])

    assert rewritten.insertions == (Insertion(len(body) - 2, b',{"type":"text","text":"x"}'),)
    assert rewritten.body.count(b"cache_control") == 1


def test_a_dialect_without_a_layout_is_an_error() -> None:
    """What nobody knows the shape of is not rewritten."""
    request = dataclasses.replace(parse_request(b'{"messages":[]}'), dialect=Dialect.BEDROCK)

    with pytest.raises(OffsetError):
        insert(b'{"messages":[]}', request, [Addition(SYSTEM, "x")])


def test_half_characters_of_the_client_survive() -> None:
    """A lone surrogate escape, which orjson can't read, is neither lost nor changed."""
    body = b'{"messages":[],"system":"cut \\ud83d here"}'
    rewritten = insert(body, parse_request(body), [Addition(SYSTEM, "x")])

    assert rewritten.body == b'{"messages":[],"system":"cut \\ud83d here\\n\\nx"}'
