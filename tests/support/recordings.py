"""The recordings in tests/recordings: see the README there for where each comes from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1] / "recordings"

_STATUS = {"json_error_400": 400, "json_error_401": 401, "made_error_529": 529}


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded response."""

    name: str
    body: bytes
    content_type: str
    status: int

    @property
    def is_stream(self) -> bool:
        return self.content_type == "text/event-stream"

    def chunks(self, size: int) -> list[bytes]:
        """The body in chunks of that many bytes."""
        return [self.body[start : start + size] for start in range(0, len(self.body), size)]


_TYPES = {
    ".sse": "text/event-stream",
    ".json": "application/json",
    ".eventstream": "application/vnd.amazon.eventstream",
}


def of(dialect: str, name: str) -> Recording:
    """The recorded response of that name; its status is the number at the end of its name, else 200."""
    path = next(
        ROOT / dialect / f"{name}{ending}" for ending in _TYPES if (ROOT / dialect / f"{name}{ending}").exists()
    )
    last = name.rpartition("_")[2]
    return Recording(name, path.read_bytes(), _TYPES[path.suffix], int(last) if last.isdigit() else 200)


def names_of(dialect: str) -> list[str]:
    """All recorded responses of a dialect."""
    return sorted(path.stem for path in (ROOT / dialect).iterdir() if "." not in path.stem)


def request_of(dialect: str, name: str) -> bytes:
    """The body of the request that the response of that name answers (`NAME`), or the next one (`NAME.next`)."""
    suffix = "" if name.endswith(".next") else ".request"
    return (ROOT / dialect / f"{name}{suffix}.json").read_bytes()


def anthropic(name: str) -> Recording:
    """The recorded response of that name."""
    stream = ROOT / "anthropic" / f"{name}.sse"
    if stream.exists():
        return Recording(name, stream.read_bytes(), "text/event-stream", 200)
    body = (ROOT / "anthropic" / f"{name}.json").read_bytes()
    return Recording(name, body, "application/json", _STATUS.get(name, 200))


def anthropic_names() -> list[str]:
    """All recorded responses."""
    files = (ROOT / "anthropic").iterdir()
    return sorted(path.stem for path in files if "." not in path.stem)


def anthropic_request(name: str) -> bytes:
    """The body of the request that the response of that name answers (`NAME`), or the next one (`NAME.next`)."""
    suffix = "" if name.endswith(".next") else ".request"
    return (ROOT / "anthropic" / f"{name}{suffix}.json").read_bytes()
