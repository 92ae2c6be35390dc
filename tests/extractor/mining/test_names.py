import pytest

from spanlore_extractor.mining.answer import DeltaType
from spanlore_extractor.mining.names import another_name, is_other_target, is_sibling, is_unlike, pointed
from spanlore_extractor.mining.session import ToolStep
from spanlore_extractor.mining.shell import take_apart
from support.told import Told, steps_of


def failing(command: str, output: str) -> ToolStep:
    """A call that failed."""
    step = steps_of(Told().run(command, output, 1))[0]
    assert isinstance(step, ToolStep)
    return step


def look(command: str, output: str) -> ToolStep:
    """A call that looked what is there."""
    step = steps_of(Told().run(command, output))[0]
    assert isinstance(step, ToolStep)
    return step


@pytest.mark.parametrize(
    ("command", "output", "fix"),
    [
        ("pnpm run e2e", "ERR_PNPM_NO_SCRIPT  Missing script: e2e", "pnpm run test:e2e"),
        ("make test-unit", "No rule to make target 'test-unit'.  Stop.", "make unit-test"),
        ("cargo run --bin server", "error: no bin target named `server`", "cargo run --bin shop-server"),
        ("mvn -pl cart test", "Could not find the selected project: cart", "mvn -pl services/cart test"),
        ("pnpm build --filter=ui", "No package found with name 'ui'", "pnpm build --filter=@shop/ui"),
    ],
)
def test_a_name_that_holds_the_missing_one(command: str, output: str, fix: str) -> None:
    """With something before or behind it, or its parts in another order."""
    assert another_name(failing(command, output), take_apart(command), take_apart(fix), ())


def test_a_name_that_was_shown() -> None:
    """What was looked at in between shows it, and it is like the missing one, in the folder that was listed, or told
    beside it."""
    logs = failing("docker compose logs database", "no such service: database")
    service = look("docker compose ps --services", "api\ndb")
    run = failing("go run main.go", "stat main.go: no such file or directory")
    device = failing("flutter test -d pixel", "No supported devices found with name or id matching 'pixel'.")
    devices = look("flutter devices", "emulator-5554 • Pixel 7")

    def found(step: ToolStep, fix: str, *between: ToolStep) -> bool:
        return another_name(step, take_apart(step.command), take_apart(fix), between) is not None

    assert found(logs, "docker compose logs db", service)
    assert not found(logs, "docker compose logs db")
    assert not found(logs, "docker compose logs api", service)
    assert found(run, "go run ./cmd/shop", look("ls cmd", "shop"))
    assert found(device, "flutter test -d emulator-5554", devices)


@pytest.mark.parametrize(
    ("command", "output", "fix"),
    [
        ("./gradlew deploy", "Task 'deploy' not found in root project.", "./gradlew build"),
        ("make unit", "make: *** No rule to make target 'unit'.", "make help"),
        ("pnpm run e2e", "FAIL cart.test.ts > totals", "pnpm run test:e2e"),
        ("cat .env.local", "cat: .env.local: No such file or directory", "cat .env"),
    ],
)
def test_another_thing(command: str, output: str, fix: str) -> None:
    """Nothing ties it to the missing name, nothing was missed, or it only lists or reads."""
    assert another_name(failing(command, output), take_apart(command), take_apart(fix), ()) is None


def test_what_was_not_there_is_given_up() -> None:
    """The same command about something else answers nothing; a value of an option may be corrected to any other."""
    table = 'psql -d shop -c "select * from carts"'
    missing = failing(table, 'ERROR:  relation "carts" does not exist')
    group = failing("poetry install --with test", "Group(s) not found: test (via --with)")

    assert is_unlike(missing, take_apart(table), take_apart('psql -d shop -c "select * from prices"'))
    assert not is_unlike(missing, take_apart(table), take_apart('psql -d shop -c "select * from cart"'))
    assert not is_unlike(group, take_apart(group.command), take_apart("poetry install --with dev"))


def test_what_stands_beside_it() -> None:
    """That a neighbour builds says nothing of what did not compile; another file of that name may be meant."""
    build = failing("bazel build //svc/cart:lib", "cart.cc:31: error: 'total' was not declared")

    assert is_sibling(build, take_apart(build.command), take_apart("bazel build //svc/price:lib"))
    assert not is_sibling(build, take_apart(build.command), take_apart("bazel build //svc/carts:lib"))


def test_other_targets() -> None:
    """The values of options that say what a command is for differ; numbers are ports."""
    assert is_other_target(["cmake", "--build", "b", "--target", "shop"], ["cmake", "--build", "b", "--target", "docs"])
    assert not is_other_target(
        ["cmake", "--build", "a", "--target", "shop"], ["cmake", "--build", "b", "--target", "shop"]
    )
    assert not is_other_target(["docker", "run", "-p", "80:80", "x"], ["docker", "run", "-p", "81:80", "x"])


def test_where_to_look() -> None:
    """A bare program that missed its file is given the place."""
    ninja = failing("ninja", "ninja: error: loading 'build.ninja': No such file or directory")
    found = pointed(ninja, take_apart("ninja"), take_apart("ninja -C build"))

    assert found and found.type is DeltaType.LOCATION
    assert pointed(failing("ninja", "cart.cc:3: error"), take_apart("ninja"), take_apart("ninja -C build")) is None
