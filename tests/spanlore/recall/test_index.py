"""Search: what a text is about, and whether that is clear."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from spanlore.memory.memory import Memory
from spanlore.recall.index import K1, MAX_POSTINGS, MAX_QUERY_TERMS, MAX_REFINED, PRIOR, B, Document, Hit, Index
from spanlore.recall.terms import distinct_terms
from support.injecting import make_memory

DOCKER = make_memory(
    "docker compose",
    text="`docker compose up` fails here with a missing variable; `deploy/dev.env` has it.",
    value="docker compose --env-file deploy/dev.env up",
)
MIGRATION = make_memory(
    "alembic",
    text="Migrations of the billing database live in `services/billing/migrations`, not in `db/`.",
    value="services/billing/migrations",
)
OTHERS = [make_memory(f"tool{n}", text=f"`tool{n} --all` wants the sandbox up before it starts.") for n in range(40)]
INDEX = Index([Document.of(memory) for memory in [DOCKER, MIGRATION, *OTHERS]])


def search(query: str, limit: int = 5) -> list[Hit]:
    """Hits among all of the memories."""
    return INDEX.search(query, limit)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Bring the stack up with docker compose and check that the shop answers", DOCKER),
        ("Look at services/billing/migrations and write the next one", MIGRATION),
        ("Write a migration for the billing database that adds a column", MIGRATION),
    ],
)
def test_a_prompt_that_names_what_a_memory_is_about_finds_it_first_and_clearly(query: str, expected: Memory) -> None:
    """By its subject, by a path, or by three rare words."""
    hits = search(query)

    assert hits[0].memory == expected
    assert hits[0].is_clear


@pytest.mark.parametrize(
    "query",
    [
        "Explain to me how the login page decides whether to show the captcha",
        "Write a function that reverses a string, with documentation and examples",
        "The database is slow today, could you look at the connection pool settings?",
        "What does the sandbox do?",
    ],
)
def test_a_prompt_about_something_else_finds_nothing_clear(query: str) -> None:
    """One shared word, or words that stand in many memories, are no match to show unasked."""
    assert not [hit for hit in search(query) if hit.is_clear]


FAILED = "`{}` failed with “fatal: unable to read head of the remote”; it passed after `{}`."
MINED = [
    make_memory("git status", text=FAILED.format("git status", "git read-tree HEAD"), value="git read-tree HEAD"),
    make_memory("claude", text=FAILED.format("claude --print", "claude -p x"), value="claude -p x", slot="a"),
    make_memory("mise run lint:fmt", text=FAILED.format("mise run lint:fmt", "mise run fmt"), value="mise run fmt"),
    make_memory("loadModel", text="`loadModel` is in `packages/agent/src/core/message.ts`.", value=""),
    make_memory("rule", subject="0a1b2c3d4e5f", text='The user said: "the binary of the project is still called shop"'),
    *(make_memory(f"x{n}", text=f"`claude x{n}` failed here.", value="") for n in range(5)),
]


@pytest.mark.parametrize(
    ("prompt", "clear"),
    [
        ("Why does git status say that there are changes?", ["git status"]),
        ("The status of the git remote: is its head read by us?", []),
        ("fatal: unable to read the remote, what is that?", []),
        ("can you help?\n❯ git push\nfatal: unable to read head of the remote\n❯ git status\nfatal: bad head", []),
        ("what now?\n[lint:fmt] these files need it\n[lint:fmt] ERROR task failed", ["mise run lint:fmt"]),
        ("Print the name of the claude session before it starts.", []),
        ("Read packages/agent/docs and core, then port the message selector of the agent", []),
        ("Where is loadModel called from, and with what?", ["loadModel"]),
        ("Look at mise-tasks/loadModel.sh and tell me about git status-check.", []),
        ("Is the binary of this project called the same?", ["0a1b2c3d4e5f"]),
        ("Tell me what the shop does, in three lines.", []),
    ],
)
def test_a_prompt_has_to_name_it(prompt: str, clear: list[str]) -> None:
    """As it is written, by itself; not the words of an error, of a path, or of what was pasted."""
    hits = Index([Document.of(memory) for memory in MINED]).search(prompt, 9)

    assert [hit.memory.subject for hit in hits if hit.is_clear] == clear


def test_the_repositorys_own_name_tells_nothing() -> None:
    """It stands in every other prompt."""
    memory = make_memory("x", scope="github.com/acme/git-sync", text="The binary is called git-sync, also on Windows.")
    elsewhere = make_memory("x", scope="github.com/acme/other", text=memory.text)
    prompt = "Can you make git-sync write what it did into a file?"
    found = [Index([Document.of(one)]).search(prompt, 1)[0].is_clear for one in (memory, elsewhere)]

    assert found == [False, True]


def test_what_is_not_admitted_is_passed_over() -> None:
    """The limit counts what is admitted."""
    found = INDEX.search("sandbox tool1 tool2", 3, lambda memory: memory.subject == "tool2")

    assert [hit.memory.subject for hit in found] == ["tool2"]


def test_the_same_query_gives_the_same_hits_in_the_same_order() -> None:
    """Ties are broken by the order of the documents."""
    assert search("sandbox starts", 40) == search("sandbox starts", 40)
    assert [hit.memory for hit in search("sandbox", 3)] == OTHERS[:3]


def test_common_terms_only_refine() -> None:
    """With more postings than are looked at, the memory with the rare term is found, and scores more than without."""
    many = [make_memory(f"n{n}", text=f"sandbox common n{n}") for n in range(MAX_POSTINGS + 10)]
    index = Index([Document.of(memory) for memory in many])
    [hit] = index.search("sandbox common n7", 1)

    assert hit.memory == many[7]
    assert hit.matched[0] == "n7"


def test_no_memories_no_hits() -> None:
    """An empty scope is searched in vain."""
    assert Index([]).search("anything", 3) == []


def test_a_limit_is_filled_from_behind_those_that_are_not_admitted() -> None:
    """However many of the best are refused, and equal scores come in the order of the documents."""
    found = INDEX.search("sandbox", 3, lambda memory: memory.subject[-1:] == "9")

    assert [hit.memory.subject for hit in found] == ["tool9", "tool19", "tool29"]


def plainly(
    documents: Sequence[Document], query: str, limit: int, admits: Callable[[Memory], bool]
) -> list[tuple[str, float]]:
    """(id, score) as the rules say it, with nothing kept from one query for the next: BM25 of the rarest terms, the
    common ones for the best of what was found."""
    held = Counter(term for document in documents for term in document.counts)
    mean = sum(document.length for document in documents) / len(documents)
    idf = {term: math.log(1 + (len(documents) + PRIOR - n + 0.5) / (n + 0.5)) for term, n in held.items()}
    asked = sorted((term for term in distinct_terms(query) if term in held), key=lambda term: held[term])
    asked = asked[:MAX_QUERY_TERMS]
    seen = [sum(held[term] for term in asked[: number + 1]) for number in range(len(asked))]
    rarest = [term for number, term in enumerate(asked) if number == 0 or seen[number] <= MAX_POSTINGS]
    scores: dict[int, float] = {}
    for term in rarest:
        for number in [n for n, document in enumerate(documents) if term in document.counts][:MAX_POSTINGS]:
            count, length = documents[number].counts[term], documents[number].length
            weight = idf[term] * count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))
            scores[number] = scores.get(number, 0.0) + weight
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    if rest := asked[len(rarest) :]:
        counts = [(number, score, documents[number].counts) for number, score in ranked[:MAX_REFINED]]
        refined = [
            (number, score + sum(idf[t] * n[t] * (K1 + 1) / (n[t] + K1) for t in rest if n[t]))
            for number, score, n in counts
        ]
        ranked = sorted(refined, key=lambda item: (-item[1], item[0]))
    wanted = [(documents[number].memory.id, score) for number, score in ranked if admits(documents[number].memory)]
    return wanted[:limit]


@pytest.mark.parametrize("size", [3, 300, 1_500])
def test_what_is_kept_for_speed_changes_no_place_and_no_score(size: int) -> None:
    """Rare terms, terms of more memories than are looked at, ties, and memories that are not admitted."""
    chance = random.Random(size)
    words = [f"word{n}" for n in range(40)]

    def said() -> str:
        often = [
            word
            for number, word in enumerate(("sandbox", "stack", "suite", "shop"), 1)
            if chance.random() < 0.2 * number
        ]
        return " ".join([*often, *chance.choices(words, k=3)])

    documents = [Document.of(make_memory(f"n{n}", text=said(), value="")) for n in range(size)]
    index = Index(documents)
    for number in range(30):
        terms = [f"n{chance.randrange(size)}", *chance.choices(["sandbox", "stack", "suite", "shop", *words], k=number)]
        query, limit = " ".join(chance.sample(terms, k=min(len(terms), 1 + number % 9))), chance.choice((1, 5, 32))
        for admits in (lambda _: True, lambda memory: int(memory.id[-1], 16) < 3):
            hits = [(hit.memory.id, hit.score) for hit in index.search(query, limit, admits)]

            assert hits == plainly(documents, query, limit, admits)
