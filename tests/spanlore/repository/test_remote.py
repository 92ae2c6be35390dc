"""Scope keys of git remotes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanlore.repository.remote import scope_of_remote


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/Owner/name",
        "https://github.com/Owner/name.git",
        "https://github.com/Owner/name.git/",
        "https://GitHub.com:443/Owner/name.git",
        "https://user:s3cret@github.com/Owner/name.git",
        "http://github.com/Owner/name",
        "git://github.com/Owner/name.git",
        "ssh://git@github.com/Owner/name.git",
        "ssh://git@ssh.github.com:443/Owner/name.git",
        "git+ssh://git@github.com:22/Owner/name",
        "git@github.com:Owner/name.git",
        "github.com:Owner/name",
        "git@github.com:/Owner/name.git",
        "  git@github.com:Owner/name.git\n",
    ],
)
def test_every_way_to_write_one_remote_gives_one_scope(url: str) -> None:
    """Protocol, port, credentials, `.git`, slashes and the host's case don't matter; the owner's case is kept."""
    assert scope_of_remote(url) == "github.com/Owner/name"


@pytest.mark.parametrize(
    ("url", "scope"),
    [
        ("https://gitlab.example.org/group/sub/group/name.git", "gitlab.example.org/group/sub/group/name"),
        ("https://org@dev.azure.com/org/project/_git/name", "dev.azure.com/org/project/name"),
        ("git@ssh.dev.azure.com:v3/org/project/name", "dev.azure.com/org/project/name"),
        ("ssh://git@[::1]:2222/srv/name.git", "::1/srv/name"),
        ("git@[::1]:srv/name.git", "::1/srv/name"),
        ("https://example.org/a%20b/name", "example.org/a b/name"),
        ("https://example.org/name.git.git", "example.org/name.git"),
    ],
)
def test_other_hosts_and_depths(url: str, scope: str) -> None:
    """The whole path counts, and a forge's two spellings of one repository meet."""
    assert scope_of_remote(url) == scope


@pytest.mark.parametrize(
    "url", ["", "/srv/git/name.git", "../name", "name", "C:/code/name", "file:///srv/name.git", "https://", "https://["]
)
def test_what_names_no_host_has_no_scope(url: str) -> None:
    """A path, a drive letter or a broken URL is not a remote host."""
    assert scope_of_remote(url) == ""


@given(st.text())
def test_any_text_is_answered(url: str) -> None:
    """Whatever stands in a config, nothing is raised."""
    assert isinstance(scope_of_remote(url), str)


@given(st.from_regex(r"[a-z0-9]{6,20}", fullmatch=True))
def test_no_credential_gets_into_a_scope(secret: str) -> None:
    """User names and passwords of the URL are dropped."""
    secret = f"S{secret}"

    assert secret not in scope_of_remote(f"https://{secret}:{secret}@example.org/owner/name.git")
