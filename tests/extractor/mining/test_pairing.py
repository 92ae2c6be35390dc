import pytest

from spanlore.spans.place import Outcome
from spanlore_extractor.mining.answer import DeltaType, Match
from spanlore_extractor.mining.pairing import (
    changed_commands,
    is_bypass,
    is_probe,
    is_same_attempt,
    is_same_command,
    match,
    word_distance,
)
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import take_apart
from support.told import Told, steps_of


def tools(told: Told) -> list[ToolStep]:
    return [step for step in steps_of(told) if isinstance(step, ToolStep)]


def paired(told: Told) -> Match | None:
    """What the first call and the last have to do with each other."""
    first, *between, last = tools(told)
    return match(first, last, between)


@pytest.mark.parametrize(
    ("failing", "output", "later", "kind"),
    [
        ("rtk bun run test", "error: unrecognized subcommand 'bun'", "bun run test", DeltaType.USAGE),
        ("bun run lint", "format would have printed", "bun run lint:fix", DeltaType.USAGE),
        ("pytest --fast tests", "error: unrecognized arguments: --fast", "pytest -x tests", DeltaType.USAGE),
        ("gofmt -l ./cmd/...", "stat ./cmd/...: no such file or directory", "gofmt -l cmd/", DeltaType.LOCATION),
        ("make check", "make: *** No rule", "cd api && make check", DeltaType.LOCATION),
        ("pytest -q", "ModuleNotFoundError: No module named 'yaml'", "pip install pyyaml yaml", DeltaType.ENVIRONMENT),
        ("make build", "go: updates needed; to update it:\n\tgo mod tidy", "go mod tidy", DeltaType.ENVIRONMENT),
        ("echo a > x/y && sh run.sh", "no such file: x/y", "mkdir -p x && echo a > x/y && sh run.sh",
        DeltaType.ENVIRONMENT),
        ("pytest -q", "KeyError: 'TOKEN'", "TOKEN=x pytest -q", DeltaType.ENVIRONMENT),
        ("pytest -q", "boom", "pytest -q", DeltaType.FLAKY),
    ],
)  # fmt: skip
def test_commands_are_paired_by_a_reason(failing: str, output: str, later: str, kind: DeltaType) -> None:
    """Each rule has a case; the type is what made the difference."""
    found = paired(Told().run(failing, output, 1).run(later, "fine"))

    assert found is not None
    assert found.type is kind


@pytest.mark.parametrize(
    ("failing", "later"),
    [
        ("npm run check", "npm run build"),
        ("git gc --dry-run", "git count-objects -v"),
        ("ls src/*.toml", "ls src"),
        ("git config gc.auto", "git config --list"),
        ("python3 -c 'import yaml; print(yaml.load(open(1)))'", "python3 -c 'print(1234567890123456789012345)'"),
        ("pytest tests/a.py", "cargo test"),
    ],
)
def test_the_next_success_is_no_reason(failing: str, later: str) -> None:
    """Another sub-command, a probe, another script, another program: nothing to do with each other."""
    assert paired(Told().run(failing, "failed", 1).run(later, "fine")) is None


def test_edits_in_between_make_it_a_code_fix() -> None:
    """The same command passing after a file was written was a fault in the code, not in the call."""
    told = Told().run("pytest -q", "assert 1 == 2", 1).call("Edit", {"file_path": "a.py"}).run("pytest -q", "ok")

    assert paired(told) == Match(DeltaType.CODE_FIX, "the same command passes after files were edited")


def test_setting_up_in_between_is_the_environment() -> None:
    """The same command passing after something was installed."""
    found = paired(Told().run("pytest -q", "boom", 1).run("docker compose up -d").run("pytest -q", "ok"))

    assert found is not None
    assert found.type is DeltaType.ENVIRONMENT


def test_an_echo_is_no_advice() -> None:
    """A runner that shows what it runs does not recommend it."""
    assert paired(Told().run("bun run test", "$ bun test src/\n1 fail", 1).run("bun test src/", "1 pass")) is None


def test_a_call_that_gets_further_is_overcome() -> None:
    """A wrong call done right counts even when it then fails for another reason."""
    told = (
        Told()
        .run("rtk bun run test", "error: unrecognized subcommand 'bun'", 2)
        .run("bun run test", "1 fail: expected 3", 1)
    )

    found = paired(told)

    assert found is not None
    assert found.type is DeltaType.USAGE


def test_sandboxed_commands_pass_with_approval() -> None:
    """Codex runs the same command again with a justification."""
    told = Told(harness="codex")
    told.call("exec_command", {"cmd": "git checkout -b x"}, "Exit code: 128\nfatal: not permitted", Outcome.FAILURE)
    told.call("exec_command", {"cmd": "git checkout -b x", "justification": "make a branch"}, "ok")

    found = paired(told)

    assert found is not None
    assert found.type is DeltaType.PERMISSION


def test_a_switched_off_check_is_a_bypass() -> None:
    """Nobody is to learn --no-verify; a command that had it before did not bypass by it."""
    plain, bypass = tools(Told().run("git commit -m x", "hook failed", 1).run("git commit --no-verify -m x"))

    assert is_bypass(plain, bypass)
    assert not is_bypass(bypass, bypass)


def test_probes_and_attempts() -> None:
    """`ls` only asks; a retry is the same action, an edit of the same text, or the same path."""
    ask, test, again, other = tools(Told().run("ls x").run("npm run test").run("npm run test -- a").run("npm run lint"))

    assert (is_probe(ask), is_probe(test)) == (True, False)
    assert (is_same_attempt(test, again), is_same_attempt(test, other)) == (True, False)


def test_word_distance_knows_paths_and_scripts() -> None:
    """A path costs what it differs; a script replaced by another is another command."""
    near, only_paths = word_distance(("cat", "src/a.py"), ("cat", "lib/a.py"))
    far, _ = word_distance(("python", "-c", "print(1) # " + "a b " * 20), ("python", "-c", "import os; " + "c d " * 20))

    assert near < 0.5
    assert only_paths
    assert far == 1.0


def test_changed_commands_names_the_pair() -> None:
    """Of two lines, the command that has another form now."""
    one, other = take_apart("cd x && git status && rtk bun test"), take_apart("cd x && git status && bun test")

    assert changed_commands(one, other) == (("rtk", "bun", "test"), ("bun", "test"))
    assert changed_commands(one, one) is None


@pytest.mark.parametrize(
    ("failing", "later"),
    [
        ('grep -A 3 "def applyLine" src/wrap.py', "grep -r applyLine src"),
        ("cp /opt/theme/dark.json ~/.app/custom.json", "cp packages/app/theme/dark.json ~/.app/custom.json"),
    ],
)
def test_the_same_was_found_elsewhere(failing: str, later: str) -> None:
    """A path was not there; what the call was about is in both."""
    missing = next(word for word in failing.split() if "/" in word)
    found = paired(
        Told().run(failing, f"{failing.split(maxsplit=1)[0]}: {missing}: No such file or directory", 2).run(later, "ok")
    )

    assert found is not None and found.type is DeltaType.LOCATION


def test_another_thing_is_not_the_same_elsewhere() -> None:
    """The same program on another matter answers nothing."""
    told = Told().run("grep alpha src/wrap.py", "grep: src/wrap.py: No such file or directory", 2)

    assert paired(told.run("grep -r omega src", "ok")) is None


@pytest.mark.parametrize(
    ("failing", "output", "later", "is_one"),
    [
        ("npm run tests", 'npm error Missing script: "tests"', "npm run test", True),
        ("make chekc", "make: *** No rule to make target 'chekc'.  Stop.", "make check", True),
        (
            "just fmt",
            "error: Justfile does not contain recipe `fmt`. Did you mean `format-all`?",
            "just format-all",
            True,
        ),
        ("python run.py", "bash: python: command not found", "python3 run.py", True),
        ("pip install yaml", "bash: line 1: pip: command not found", "python3 -m pip install yaml", True),
        ("rg TODO src", "bash: rg: command not found", "grep -rn TODO src", True),
        ("python run.py", "bash: python: command not found", "python3 other.py", False),
        ("black src", "bash: black: command not found", "python3 -m compileall -q src", False),
        ("pytest tests", "bash: pytest: command not found", "ls tests", False),
        ("cat a.txt", "cat: a.txt: No such file or directory", "rm a.txt", False),
        ("npm run lint", "3 problems found", "npm run link", False),
        ("npm run deploy", 'npm error Missing script: "deploy"', "npm run build", False),
    ],
)
def test_a_script_of_another_name(failing: str, output: str, later: str, is_one: bool) -> None:
    """Only where the program did not know the name, and the other is like it or was named."""
    found = paired(Told().run(failing, output, 1).run(later, "ok"))

    assert (found is not None) is is_one
    assert found is None or found.type is DeltaType.USAGE


HEREDOC = "cat > t.py <<'E'\n{}\nE\npython t.py"


@pytest.mark.parametrize(
    ("failing", "output", "later", "kind"),
    [
        ("git add a.py", "fatal: pathspec 'a.py' did not match any files", "cd /r && git add a.py b.py",
         DeltaType.LOCATION),
        ("git push", "fatal: no upstream\n  git push --set-upstream origin x", "git push --set-upstream origin x",
         DeltaType.ENVIRONMENT),
        ("git push", "fatal: The upstream branch does not match topic", "git push -u origin topic", DeltaType.USAGE),
        ("npx foo build a b", "error: pass --force to go on", "npx foo build a b c d e --force", DeltaType.USAGE),
        ("sed -n 1p f | cat -A", "cat: illegal option -- A", "sed -n 1p f | od -c", DeltaType.USAGE),
        ("sleep 30; gh pr view 6", "Blocked: sleep 30 followed by: gh pr view 6", "gh pr view 6", DeltaType.USAGE),
    ],
)  # fmt: skip
def test_the_same_command_otherwise(failing: str, output: str, later: str, kind: DeltaType) -> None:
    """In its place, with what the failure asked for, through another filter, without what was turned down."""
    found = paired(Told().run(failing, output, 1).run(later, "fine"))

    assert found is not None
    assert found.type is kind


@pytest.mark.parametrize(
    ("failing", "output", "later"),
    [
        ("pytest", "FAILED tests/test_a.py", "pytest tests/test_a.py"),
        (
            "git cherry-pick a1",
            "error: could not apply a1\nhint: git cherry-pick --continue",
            "git cherry-pick --continue",
        ),
        ("sed -n 1p f | sort", "sed: boom", "sed -n 1p f | od -c"),
    ],
)
def test_more_words_are_not_always_a_fix(failing: str, output: str, later: str) -> None:
    """A part of the tests, what goes on after a conflict, and another look at the same output fix nothing."""
    assert paired(Told().run(failing, output, 1).run(later, "fine")) is None


def test_the_deciding_command_passes_after_an_edit() -> None:
    """Whatever was formatted before it."""
    told = Told().run("gofmt -w a.go && go test ./x -run A", "--- FAIL: A", 1).run("sed -i s/a/b/ x.go")
    found = paired(told.run("gofmt -w b.go && go test ./x -run A", "ok"))

    assert found is not None
    assert found.type is DeltaType.CODE_FIX
    assert paired(Told().run("ls a && go test ./x", "--- FAIL", 1).run("ls b && go test ./x", "ok")) is None


def test_a_script_that_is_written_anew_and_run_again() -> None:
    """The line that writes the file is the fix; another file is another attempt."""
    again = paired(
        Told().run(HEREDOC.format("print(1/0)"), "ZeroDivisionError", 1).run(HEREDOC.format("print(1)"), "1")
    )
    other = HEREDOC.format("print('it works')").replace("t.py", "claim.py")

    assert again is not None
    assert again.type is DeltaType.CODE_FIX
    assert paired(Told().run(HEREDOC.format("print(1/0)"), "ZeroDivisionError", 1).run(other, "it works")) is None


def test_a_wrong_call_is_overcome_where_a_pipe_hides_the_end() -> None:
    """It no longer complains of the call; how the tests end is another matter."""
    unknown = "error: unrecognized subcommand 'bun'"
    told = (
        Told()
        .run("rtk bun test", unknown, 2)
        .call(
            "Bash", {"command": "bun test 2>&1 | tail -5"}, "FAIL a.test.ts", outcome=Outcome.UNKNOWN, reason="pipeline"
        )
    )
    same = (
        Told()
        .run("rtk bun test", unknown, 2)
        .call("Bash", {"command": "rtk bun x | tail -5"}, unknown, outcome=Outcome.UNKNOWN, reason="pipeline")
    )

    found = paired(told)
    assert found is not None
    assert found.type is DeltaType.USAGE
    assert paired(same) is None


def test_what_was_missing_is_made_and_it_starts() -> None:
    """It fails later on, for another reason: the first one is overcome."""
    found = paired(
        Told()
        .run("./check.sh run", "./check.sh: line 3: /tmp/bin: No such file or directory", 1)
        .run("go build -o /tmp/bin && ./check.sh run", "The following paths are ignored", 1)
    )

    assert found is not None
    assert found.type is DeltaType.ENVIRONMENT


def test_another_script_is_another_attempt() -> None:
    """Of an interpreter the script tells what is tried."""
    one, other, again = tools(Told().run("python a.py", "boom", 1).run("python b.py", "", 1).run("python a.py", "", 1))
    assert not is_same_attempt(one, other)
    assert is_same_attempt(one, again)


@pytest.mark.parametrize(
    ("failing", "output", "fix"),
    [
        ("go build ./...", "missing go.sum entry for module providing package x/y", "go mod tidy"),
        ("npm test", "sh: 1: vitest: not found", "npm ci"),
        ("npx playwright test", "Please run:\n    npx playwright install", "npx playwright install chromium"),
    ],
)
def test_what_installs_what_a_project_declares(failing: str, output: str, fix: str) -> None:
    """It is the fix itself, although the output names another command or none."""
    one, other = tools(Told().run(failing, output, 1).run(fix, "ok"))

    found = match(one, other, ())

    assert found and found.type is DeltaType.ENVIRONMENT and found.is_action


def test_status_is_answered_by_what_was_set_up() -> None:
    """The form of a command that only tells how things are is not what failed."""
    told = Told().run("git status", "fatal: unable to read e536", 128).run("git read-tree HEAD").run("git status -s")
    one, between, other = tools(told)

    found = match(one, other, (between,))

    assert found and found.type is DeltaType.ENVIRONMENT


def test_the_same_command_line() -> None:
    """What shapes its output aside."""
    one, other, third = tools(Told().run("pytest -q").run("pytest -q 2>&1 | tail -5").run("pytest"))

    assert is_same_command(one, other)
    assert not is_same_command(one, third)


def test_only_the_failing_part_is_run_again() -> None:
    """After files were changed; the failing output names it."""
    edit = {"file_path": "parse/parse.go", "old_string": "1", "new_string": "2"}
    told = Told().run("go test ./...", "FAIL\texample.com/parser", 1).call("Edit", edit)

    assert paired(told.run("go test ./parser/...", "ok")) == Match(
        DeltaType.CODE_FIX, "the same command passes after files were edited"
    )
    other = Told().run("go test ./...", "FAIL\texample.com/parser", 1).call("Edit", edit)
    assert paired(other.run("go test ./prices/...", "ok")) is None


@pytest.mark.parametrize(
    ("failing", "other", "is_it"),
    [
        ("cat app/models/cart.py", "cat shop/models/cart.py", True),
        ("cat tasks/lint", "cat tasks/lint/go", True),
        ("sed -n '1,200p' docs/README.md", "sed -n '1,200p' web/package.json", False),
    ],
)
def test_another_file_is_another_call(failing: str, other: str, is_it: bool) -> None:
    """To read a file that is misplaced is the same call; to read another one is not."""
    found = paired(Told().run(failing, "No such file or directory", 1).run(other, "x"))

    assert (found is not None) is is_it


def test_what_git_asks_to_be_set() -> None:
    """It is the fix, word for word."""
    output = "fatal: detected dubious ownership\n\tgit config --global --add safe.directory /srv/app"
    told = Told().run("git log", output, 128).run("git config --global --add safe.directory /srv/app")

    found = paired(told)

    assert found and found.is_action


def test_options_of_what_is_no_interpreter_are_words() -> None:
    """`-e` of tox names an environment, no script."""
    assert paired(Told().run("tox -e py39", "skipped", 1).run("tox -e py312", "ok"))


def test_other_tests_answer_nothing() -> None:
    """Tests ran and failed; that others pass, or fewer, mends nothing."""
    for other in ("pytest -q tests/test_old.py", "pytest -q"):
        failed = Told().run("pytest -q tests/test_new.py", "FAILED tests/test_new.py::test_a - AssertionError", 1)
        assert paired(failed.run(other, "3 passed")) is None
