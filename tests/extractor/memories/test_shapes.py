import pytest

from spanlore_extractor.memories.shapes import (
    asks_to_fetch,
    has_remote_url,
    is_refusal,
    plain,
    reads_as_instruction,
    suspicious,
)
from support.payloads import PAYLOADS

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
