"""A git remote as a scope key: `host/owner/name`, the same for every way of writing one remote.

git takes a URL (`https://user:token@host:443/owner/name.git`, `ssh://git@host:22/owner/name`), the scp form
(`git@host:owner/name.git`) or a plain path (gitremote, "GIT URLS" in git-fetch(1)). Two clones of one repository share
what was learned in them, however each was cloned; credentials never get into a scope key.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

_SCP: Final = re.compile(r"(?:[^@/\s]+@)?(\[[0-9A-Fa-f:.]+\]|[^\[\]:/\s]{2,}):(?!//)(.+)", re.DOTALL)
"""`[user@]host:path`. A host of one letter is a Windows drive."""

_SAME_HOST: Final = {
    "ssh.github.com": "github.com",
    "www.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": "dev.azure.com",
    "vs-ssh.visualstudio.com": "dev.azure.com",
}
"""Hosts that forges publish for ssh through port 443, or for ssh at all, and the host people know them by."""


def scope_of_remote(url: str) -> str:
    """`host/owner/name` in which host is lower case; '' for what names no host, as a plain path does."""
    url = url.strip()
    if "://" in url:
        host, path = _from_url(url)
    elif match := _SCP.fullmatch(url):
        host, path = match[1].strip("[]"), match[2]
    else:
        return ""
    host = host.lower().rstrip(".")
    host = _SAME_HOST.get(host, host)
    words = _words(path)
    if host == "dev.azure.com":
        # https: org/project/_git/name; ssh: v3/org/project/name.
        words = [word for word in words if word not in ("_git", "v3")]
    return "/".join([host, *words]) if host and words else ""


def _from_url(url: str) -> tuple[str, str]:
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        # An unclosed IPv6 bracket and the like.
        return "", ""
    # `git+ssh`, `ssh+git`, `git`, `http` and `https` all name a host; a file has none that matters.
    return ("", "") if parts.scheme == "file" else (host, unquote(parts.path))


def _words(path: str) -> list[str]:
    words = [word for word in path.strip().split("/") if word not in ("", ".", "..")]
    if words:
        words[-1] = words[-1].removesuffix(".git")
    return [word for word in words if word]
