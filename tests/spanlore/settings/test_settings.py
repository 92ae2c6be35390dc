"""Settings: environment over config file over defaults, and what happens to wrong ones."""

from pathlib import Path

import pytest

from spanlore.settings import Paths, Settings, SettingsError, child_environment, load_settings
from spanlore.settings.settings import CaptureSettings, describe


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(config_dir=tmp_path, state_dir=tmp_path / "state")


def test_defaults(paths: Paths) -> None:
    """Nothing need be configured."""
    assert load_settings({}, paths) == Settings()


def test_file_over_defaults_and_environment_over_file(paths: Paths) -> None:
    """Each setting by itself: the environment takes nothing else of its section away."""
    paths.config_file.write_text('[proxy]\nport = 1\nhosts = ["a.example"]\n[injection]\nattested = "off"\n')

    settings = load_settings({"SPANLORE_PROXY_PORT": "2"}, paths)

    assert settings.proxy.port == 2
    assert settings.proxy.hosts == ("a.example",)
    assert settings.injection.attested == "off"


def test_lists_and_pairs_in_the_environment(paths: Paths) -> None:
    """Hosts are separated by commas, upstreams are host=url, patterns and repositories stand one a line."""
    settings = load_settings(
        {
            "SPANLORE_PROXY_HOSTS": "a.example, *.b.example,",
            "SPANLORE_UPSTREAMS": "API.anthropic.com=http://127.0.0.1:9100, b.example=https://c.example/v1",
            "SPANLORE_CAPTURE_REDACT": "a,b\nc",
            "SPANLORE_CAPTURE_OFF_REPOSITORIES": "example.org/o/n\n/home/me/secret",
        },
        paths,
    )

    assert settings.proxy.hosts == ("a.example", "*.b.example")
    assert settings.upstreams == {"api.anthropic.com": "http://127.0.0.1:9100", "b.example": "https://c.example/v1"}
    assert settings.capture.redact == ("a,b", "c")
    assert settings.capture.off_repositories == ("example.org/o/n", "/home/me/secret")


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("github.com/o/n", ("github.com/o/n",)),
        ("GitHub.com/o/n/", ("github.com/o/n",)),
        ("https://user:token@github.com/o/n.git", ("github.com/o/n",)),
        ("git@github.com:o/n.git", ("github.com/o/n",)),
        ("path:/srv/x", ("/srv/x",)),
        ("/srv/x/", ("/srv/x",)),
    ],
)
def test_what_is_off_however_it_is_written(written: str, known: tuple[str, ...]) -> None:
    """A scope key, a remote's URL, a directory: all become what a workplace is known by."""
    assert CaptureSettings(off_repositories=(written,)).off_repositories == known


def test_what_is_off_at_home_and_behind_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`~` is the user's home, and a linked directory is also known by where it leads."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("HOME", str(tmp_path))

    off = CaptureSettings(off_repositories=("~/link",)).off_repositories
    assert off == (str(tmp_path / "link"), str((tmp_path / "real").resolve()))


def test_empty_variable_is_none(paths: Paths) -> None:
    """`SPANLORE_PROXY_PORT= spanlore up` means the default, as in most programs."""
    assert load_settings({"SPANLORE_PROXY_PORT": ""}, paths) == Settings()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SPANLORE_PROXY_PORT", "many"),
        ("SPANLORE_PROXY_PORT", "65536"),
        ("SPANLORE_INJECTION_ATTESTED", "maybe"),
        ("SPANLORE_INJECTION_WITHHOLD_SHARE", "1.5"),
        ("SPANLORE_UPSTREAMS", "api.anthropic.com"),
        ("SPANLORE_UPSTREAMS", "api.anthropic.com=127.0.0.1:9100"),
        ("SPANLORE_MINING_INTERVAL_S", "0"),
        ("SPANLORE_CAPTURE_REDACT", "(unclosed"),
        ("SPANLORE_CAPTURE_REDACT", "x*"),
        ("SPANLORE_CAPTURE_OFF_REPOSITORIES", "secret-project"),
        ("SPANLORE_CAPTURE_OFF_REPOSITORIES", "../secret"),
        ("SPANLORE_CAPTURE_OFF_REPOSITORIES", "owner/name"),
    ],
)
def test_wrong_variable_is_named(paths: Paths, name: str, value: str) -> None:
    """The message has the variable, the value, and what to do."""
    with pytest.raises(SettingsError) as caught:
        load_settings({name: value}, paths)

    assert f"environment variable {name}" in str(caught.value)
    assert value.rsplit("=", maxsplit=1)[-1] in str(caught.value)
    assert "Mend the value" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[proxy]\nport = true_ish\n", "not valid TOML"),
        ('[proxy]\nport = "many"\n', "proxy.port in"),
        ("[proxy]\nprot = 1\n", "there is no such setting; is it proxy.port?"),
        ("[zzz]\nport = 1\n", "zzz in"),
        ("proxy = 1\n", "proxy in"),
        ('upstreams = ["a"]\n', "upstreams in"),
        ('[capture]\nredact = ["("]\n', "'(' is not a regular expression"),
    ],
)
def test_wrong_file_is_named(paths: Paths, text: str, words: str) -> None:
    """Broken syntax, a wrong type and a misspelt name are errors that name the place and the file."""
    paths.config_file.write_text(text)

    with pytest.raises(SettingsError) as caught:
        load_settings({}, paths)

    assert words in str(caught.value)
    assert str(paths.config_file) in str(caught.value)


def test_undecodable_file(paths: Paths) -> None:
    """A file in another encoding is an error, not a traceback."""
    paths.config_file.write_bytes(b"\xff\xfe")

    with pytest.raises(SettingsError, match="not valid TOML"):
        load_settings({}, paths)


def test_unreadable_file(paths: Paths) -> None:
    """A config file that can't be read is an error that says what to do; it is not taken for none."""
    paths.config_file.mkdir()

    with pytest.raises(SettingsError, match="Make it readable"):
        load_settings({}, paths)


def test_every_setting_can_stand_in_the_environment(paths: Paths) -> None:
    """Each described variable, set to its described default, gives the defaults."""
    environ = {name: default for name, _, default, _ in describe() if default != "–"}

    assert load_settings(environ, paths) == Settings()
    assert all(meaning for _, _, _, meaning in describe())


def test_child_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours, with the changes over it and without what is left out; ours stays as it was."""
    monkeypatch.setenv("A", "1")

    assert child_environment({"A": "2", "B": "3"}).items() >= {("A", "2"), ("B", "3")}
    assert child_environment({})["A"] == "1"
    assert "A" not in child_environment({}, without=("A",))


def test_prices_and_budgets(tmp_path: Path) -> None:
    """From the environment as one line, from the file as a table; what is no price is told."""
    paths = Paths(config_dir=tmp_path, state_dir=tmp_path)
    named = load_settings({"SPANLORE_PRICES": "my-model=3/15, other=1/2/0.1/1.5"}, paths).prices
    paths.config_file.write_text('[prices]\n"my-model" = "3/15"\n[budget]\nusd_per_day = 5\n')
    filed = load_settings({}, paths)

    assert named == {"my-model": "3/15", "other": "1/2/0.1/1.5"}
    assert (filed.prices, filed.budget.usd_per_day) == ({"my-model": "3/15"}, 5)
    for wrong in ("my-model", "my-model=3", "my-model=cheap"):
        with pytest.raises(SettingsError, match="SPANLORE_PRICES"):
            load_settings({"SPANLORE_PRICES": wrong}, paths)
