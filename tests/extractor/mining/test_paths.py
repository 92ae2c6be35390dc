import pytest

from spanlore_extractor.mining.paths import (
    SAME_FILE,
    is_everywhere,
    looks_like_path,
    same_folder,
    shares_word,
    similarity,
)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("src/a/claude.go", "src/a/b/claude.go"),
        ("conf/.golangci.yml", "conf/.golangci.yaml"),
        ("cli/hooks_claudecode_cmd.go", "cli/hooks_claudecode_handlers.go"),
        ("old/x/licenses", "new/x/licenses"),
        ("vite.config.js", "vite.config.ts"),
        ("/srv/app/README.md", "README.md"),
    ],
)
def test_misplaced_files_are_alike(one: str, other: str) -> None:
    """The same name elsewhere, another ending, or a sibling of much the same name."""
    assert similarity(one, other) >= SAME_FILE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a/setup.go", "a/root.go"),
        ("a/x.py", "b/y.py"),
        ("a/", ""),
        ("tui/README.md", "web/README.md"),
        ("docs/README.md", "README.md"),
    ],
)
def test_other_files_are_not(one: str, other: str) -> None:
    """A different name is a different file."""
    assert similarity(one, other) < SAME_FILE


def test_same_path_is_the_same() -> None:
    """1.0 only for equality."""
    assert similarity("a/b.py", "a/b.py") == 1.0


def test_a_relative_folder_may_be_an_absolute_one() -> None:
    """`cmd/x.go` may lie where `/home/dev/repo/cmd/y.go` lies."""
    assert same_folder("cmd/x.go", "/home/dev/repo/cmd/y.go")
    assert not same_folder("cmd/x.go", "/home/dev/repo/pkg/y.go")


def test_shared_words_are_long_ones() -> None:
    """`test_util` and `test_env` share a word, `a_b` and `a_c` none."""
    assert shares_word("x/test_util.go", "y/testEnv.go")
    assert not shares_word("a_b.go", "a_c.go")


@pytest.mark.parametrize("word", ["-v", "https://example.com/a", "hello world.py", "word"])
def test_options_addresses_and_words_are_no_paths(word: str) -> None:
    """Only what is a file or a folder by its look."""
    assert not looks_like_path(word)
    assert looks_like_path("src/a.py")


def test_a_template_is_another_file() -> None:
    """What is copied from it is not it."""
    assert similarity("/r/.env.example", "/r/.env") == 0.0
    assert similarity("/r/config.dist.yaml", "/r/config.yaml") > 0.0
    assert is_everywhere("/r/docs/README.md")
    assert not is_everywhere("/r/docs/setup.md")
