"""What a program says of its own failing, and what only looks so."""

from __future__ import annotations

import pytest

from spanlore.harness.complaint import complains, refuses
from spanlore.signature.command import parse_command


@pytest.mark.parametrize(
    ("command", "output"),
    [
        # in its own name, or the shell's
        ("ls src/api", "ls: cannot access 'src/api': No such file or directory"),
        ("cat a.txt | sed -n 1p", "cat: a.txt: No such file or directory"),
        ("/usr/bin/python3 -m pytest", "/usr/bin/python3: No module named pytest"),
        ("app --x", "usage: app [-h]\napp: error: unrecognized arguments: --x"),
        ("go test ./...", "go: cannot find main module, but found .git/config in /r\n\tgo mod init"),
        ("ls *.x", "(eval):1: no matches found: *.x"),
        ("./deploy.sh", "./deploy.sh: line 4: REGION: unbound variable"),
        # an error first, or last behind the usage
        ("rtk bun test", "error: unrecognized subcommand 'bun'\n\nUsage: rtk <COMMAND>"),
        ("app enabl", "\n".join(["Usage:", *["  line"] * 30, "Error: unknown command enabl"])),
        ("mise run test", "mise ERROR Config files are not trusted.\nTrust them with `mise trust`."),
        ("kubectl get pod x", 'Error from server (NotFound): pods "x" not found'),
        # what runners, linters and compilers close with
        ("mise run lint", "[lint] $ golangci-lint run\nx.go:1:2: bad\n1 issues:\n[lint] ERROR task failed"),
        ("bun run lint", 'x\nerror: script "lint" exited with code 1'),
        ("./gradlew build", "* What went wrong:\nx\n\nBUILD FAILED in 3s"),
        ("ruff check .", "a.py:1:8: F401 unused\nFound 1 error."),
        ("black --check .", "would reformat a.py\n1 file would be reformatted"),
        ("dotnet build", "a.cs(1,1): error CS0103: The name 'x' does not exist"),
        ("go build ./...", "# example.com/api\n./a.go:3:1: undefined: x"),
        ("git commit -m x", "✖ subject may not be empty\nhusky - commit-msg script failed (code 1)"),
        # exceptions that nobody caught
        ("node a.js", "node:internal/modules/cjs/loader:1\nError: Cannot find module 'x'\nRequire stack:"),
        ("node a.js", "/r/a.js:1\nTypeError: x is not a function\n    at main (/r/a.js:1:2)\n    at b\n    at c"),
        ("java -jar a.jar", 'Exception in thread "main" java.lang.IllegalStateException: x'),
        ("python3 a.py", '  File "a.py", line 4\n    match kind:\n          ^\nSyntaxError: invalid syntax'),
        # little is said, and that complains
        ("gofmt -l ./x", "stat ./x: no such file or directory"),
        ("task seed", "Don't know how to build task 'seed'"),
        ("bundle exec rake seed", "rake aborted!\nSee the list of available tasks with `rake --tasks`"),
        ("gh pr create", "must first push the current branch to a remote"),
    ],
)
def test_complaints(command: str, output: str) -> None:
    """Each form in which programs say that they failed."""
    assert complains(parse_command(command), output.splitlines())


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("go get x", "go: downloading x v1.0.0\ngo: upgraded y v1 => v2"),
        ("npm install", "npm warn deprecated x: use y\nadded 3 packages"),
        ("ruff check .", "All checks passed!"),
        ("mypy .", "Success: no issues found in 3 source files"),
        ("make", "0 errors, 3 warnings"),
        ("pytest", "3 passed, 0 failed"),
        ("git log", "error: handling of it\nfatal: x"),
        ("cat build.log", "error: could not compile\nBUILD FAILED"),
        ("kubectl logs api", "panic: x\nError: y"),
        ("docker logs api", "fatal: x"),
        ("python report.py", "Error: 3 rows\n1 failed"),
        ("app || true", "error: no"),
        ("app version", "app 2.8.0 (unknown, modified: ?)"),
        ("grep -rn error src", "src/a.py:3: error: x"),
    ],
)
def test_what_is_shown_is_no_complaint(command: str, output: str) -> None:
    """Other texts, progress, and numbers that are nought."""
    assert not complains(parse_command(command), output.splitlines())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Error: File does not exist", True),
        ("<error>Content is too large</error>" + "\nx" * 40, True),
        ("String to replace not found in file.\nString: a" + "\nb" * 40, True),
        ("apply_patch verification failed: Failed to find expected lines", True),
        ("Failed to read /a: ENOENT", True),
        ("Unknown tool: frob", True),
        ("Error: handling\n" + "text of a file\n" * 40, False),
        ("The file /a.py has been edited.", False),
        ("1\timport errors", False),
    ],
)
def test_refusals(text: str, expected: bool) -> None:
    """A tool's own words; a file that begins alike is longer."""
    assert refuses(text) is expected
