"""Names for what went wrong."""

import pytest

from spanlore.signature.error_classes import classify


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("bash: pytest: command not found", "command_not_found"),
        ("ls: x: No such file or directory", "no_such_file"),
        ("error: unrecognized subcommand 'bun'", "unknown_command"),
        ("Error: unknown flag: --disable-all", "unknown_option"),
        ("cat: x: Is a directory", "is_directory"),
        ("String to replace not found in file.", "edit_no_match"),
        ("Found 3 matches of the string to replace", "edit_not_unique"),
        ("File has not been read yet. Read it first", "file_not_read"),
        ("--- FAIL: TestX (0.00s)", "test_failure"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "connection_refused"),
        ("fatal: not a git repository", "not_a_repository"),
        ("0 errors, all good", ""),
    ],
)
def test_a_line_has_the_class_its_words_tell(line: str, name: str) -> None:
    """The most exact name wins; unknown words have none."""
    assert classify(line) == name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("module_401.py:401 assert ok", ""),
        ("HTTP/1.1 401", "authentication"),
        ("error: 403", "authentication"),
        ("requests.exceptions.HTTPError: 403 Client Error", "authentication"),
    ],
)
def test_a_status_number_counts_only_where_it_is_a_status(line: str, expected: str) -> None:
    """401 as a line number or in a file's name says nothing about credentials."""
    assert classify(line) == expected
