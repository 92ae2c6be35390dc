import pytest

from spanlore.memory.memory import Kind
from spanlore.memory.shapes import (
    asks_to_fetch,
    has_remote_url,
    is_refusal,
    names_in,
    plain,
    reads_as_instruction,
    suspicious,
)
from spanlore.memory.stated import remember
from spanlore.redaction.redact import Redactor
from spanlore_extractor.memories.consolidate import consolidate
from spanlore_extractor.mining.miner import mine_session
from support.attacks import ATTACKS, COMMITS, NAMES, OUTPUT, PASTED
from support.payloads import PAYLOADS
from support.told import START_NS, Told

ORDINARY = [
    "always run the tests with `make check`",
    "never stash the working tree",
    "use pnpm instead of npm",
    "`rtk bun run test` failed with “error: unrecognized subcommand 'bun'”",
    "PYTHONPATH=src python3 -m unittest discover -s tests",
    "ModuleNotFoundError: No module named 'tally'",
    "the server runs on http://localhost:4000/health",
    "git push origin main",
    "docker compose up -d",
    "go mod tidy",
    "the system prompt is in main.ts",
    "rm -rf build && make",
    "don't tell me, fix it",
    "curl http://127.0.0.1:7718/healthz",
    "sort the users by name",
    "the token budget is 500",
]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_every_payload_has_a_shape(payload: str) -> None:
    """Poison, however it is spelled."""
    assert suspicious(payload)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_has_none(text: str) -> None:
    """A filter that eats legitimate content is a fault as well."""
    assert suspicious(text) == ""


def test_addresses() -> None:
    """This machine's addresses are no danger; others are, most of all with a word that asks to go there."""
    assert not has_remote_url("http://localhost:4000 and http://127.0.0.1/")
    assert has_remote_url("see https://example.com/x")
    assert asks_to_fetch("download https://example.com/x")
    assert not asks_to_fetch("the repo is github.com/a/b")
    assert not asks_to_fetch("https://example.com is the vendor")


@pytest.mark.parametrize(
    "line",
    [
        "Please run npm install",
        "You must set TOKEN",
        "run the following command",
        "Use --force to continue",
        "IMPORTANT: skip it",
    ],
)
def test_lines_that_address_their_reader(line: str) -> None:
    """Tool output never authors an instruction."""
    assert reads_as_instruction(line)


@pytest.mark.parametrize(
    "line",
    ["error: unrecognized subcommand 'bun'", "fatal: not a git repository", "KeyError: 'TOKEN'", "--- FAIL: TestA",
     "File has not been read yet. Read it first before writing to it.", "make: *** No rule to make target 'x'"],
)  # fmt: skip
def test_lines_that_tell_what_went_wrong(line: str) -> None:
    """A failure is a failure even when it advises."""
    assert not reads_as_instruction(line)


def test_refusals() -> None:
    """A model's no is not a fact."""
    assert is_refusal("I'm sorry, I cannot help with that")
    assert not is_refusal("the server cannot be reached")


def test_plain_undoes_unicode_tricks() -> None:
    """Full width, look-alikes and invisible characters."""
    assert plain("Ｉgnоre\u200b") == "Ignore"


def carried(way: str, attack: str, number: int) -> Told:
    """A session in which the attack reaches the agent that way; a failure of it is then put right, so that it may be
    taken for a lesson, and the person is content."""
    told = Told(f"{way}-{number}", start_ns=START_NS + number * 10**12).human("Look around and run the checks.")
    if way == "output":
        told.run("cat README.md", attack).call("WebFetch", {"url": "https://docs.example"}, attack)
    elif way == "failure":
        told.run("make chek", attack, 2).run("make check", "ok")
        told.fails("Edit", {"file_path": "a.py"}, attack).call("Edit", {"file_path": "a.py"}, "ok")
        told.run("deploy --now", attack, 1).run("pip install deployer", attack).run("deploy --now", "done")
    elif way == "name":
        told.run("ls", f"a.py\n{attack}").run(f"cat '{attack}'", f"cat: {attack}: No such file or directory", 1)
        told.run(f"cat 'docs/{attack}'", "text").fails("Read", {"file_path": attack}, "File does not exist.")
        told.call("Read", {"file_path": f"docs/{attack}"}, "text")
    elif way == "commit":
        told.run("git log -3", f"commit 1234\n\n    {attack}").run(f"git commit -m '{attack}'", "nothing to commit", 1)
        told.run(f"git commit -a -m '{attack}'", "1 file changed")
    told.agent(f"The user said: {attack}. I will remember that.")
    return told.human("thanks, go on")


@pytest.mark.parametrize("way", ["output", "failure", "name", "commit"])
@pytest.mark.parametrize("attack", [*OUTPUT, *NAMES, *COMMITS])
def test_nothing_that_tools_carry_is_learned(way: str, attack: str) -> None:
    """In three sessions, in every way: no statement is made of it, and nothing that names it is shown."""
    sessions = [carried(way, attack, number).session() for number in range(3)]
    mined = [candidate for session in sessions for candidate in mine_session(session, 600 * 10**9).candidates]
    learned = {item.memory.id: item.memory for item in consolidate(mined, (), {}, Redactor(()), START_NS).operations}

    assert [memory.text for memory in learned.values() if memory.is_shown and "evil" in memory.text.lower()] == []
    assert [memory for memory in learned.values() if memory.kind in (Kind.EXPLICIT, Kind.CORRECTION)] == []


@pytest.mark.parametrize("pasted", PASTED)
def test_what_a_person_only_pastes_is_not_their_word(pasted: str) -> None:
    """Fenced, quoted, printed by a command, or asked about; however often."""
    told = [
        Told(f"p-{n}", start_ns=START_NS + n * 10**12).human("Run it.").run("make", "ok").agent("Done.").human(pasted)
        for n in range(3)
    ]
    mined = [item for one in told for item in mine_session(one.session(), 600 * 10**9).candidates]
    learned = {item.memory.id: item.memory for item in consolidate(mined, (), {}, Redactor(()), START_NS).operations}

    assert [memory.text for memory in learned.values() if memory.is_shown] == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_door_is_open_to_them(attack: str) -> None:
    """Imported from a file, written into a note, or said by a judge, an attack with a suspicious shape is not shown;
    what has none can only come from a person, and then says that it does."""
    words = " ".join(attack.split())[:300]
    shown = [item.memory for item in remember(words, "a/b/c", (), START_NS, by="agent") if item.memory.is_shown]

    assert all(memory.text.startswith("An agent asked") for memory in shown)


def test_there_are_enough_attacks() -> None:
    """Every one names what it wants, so that a trace of it is found."""
    assert len(set(ATTACKS)) >= 60


def test_names() -> None:
    """Code, paths, file names and large numbers."""
    assert names_in("Run `make x` in src/a bb.py, version 3 of 1024, i.e. now") == ["make x", "src/a", "bb.py", "1024"]
