"""Settings: environment over config file over defaults.

Every setting can stand in `config.toml` (`[injection]` `attested = "off"`) or in the environment
(`SPANLORE_INJECTION_ATTESTED=off`); the environment wins. A bad value is an error that names the setting, its value and
where it came from. The table in docs/settings.md is generated from `describe()` and checked by the house test.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator

from spanlore.repository.remote import scope_of_remote
from spanlore.settings.paths import Paths

PREFIX = "SPANLORE_"


class SettingsError(ValueError):
    """The user's configuration is wrong. The message says what, where, and what to do."""


def _words(value: Any) -> Any:
    return tuple(word.strip() for word in value.split(",") if word.strip()) if isinstance(value, str) else value


def _lines(value: Any) -> Any:
    return tuple(line for line in value.split("\n") if line) if isinstance(value, str) else value


def _pairs(form: str) -> BeforeValidator:
    """Of a table that is written in one line; `form` tells how."""

    def read(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        pairs = [word.split("=", 1) for word in value.split(",") if word.strip()]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError(f"write {form}, separated by commas")
        return {name.strip(): meaning.strip() for name, meaning in pairs}

    return BeforeValidator(read)


_Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
"""Separated by commas in the environment."""
_Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]
"""Each on a line of its own there."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProxySettings(_Section):
    """The proxy's own."""

    port: int = Field(7717, ge=0, le=65535, description="Port agents are pointed at; 0 takes a free one.")
    hosts: _Words = Field(
        (),
        description="More LLM API hosts to intercept, beside the built-in list; `*.example.com` matches below it.",
    )
    upstream_ca: str = Field("", description="PEM file of more CAs to trust at the LLM API, for gateways of your own.")
    spool_max_bytes: int = Field(
        2 * 1024**3,
        ge=1024**2,
        description="Bound of the spool; beyond it the oldest content is dropped, counted.",
    )
    wire_log_max_bytes: int = Field(
        64 * 1024**2, ge=0, description="Bound of the request log behind `spanlore explain`; 0 keeps none."
    )


class CollectorSettings(_Section):
    """The collector's own."""

    port: int = Field(7718, ge=0, le=65535, description="Port of OTLP/HTTP and of the API; 0 takes a free one.")
    clickhouse_port: int = Field(
        7719,
        ge=0,
        le=65535,
        description="Port of the read-only ClickHouse HTTP interface; 0 takes a free one.",
    )
    cluster: str = Field(
        "",
        pattern=r"^[A-Za-z0-9_.-]*$",
        description="Name of the ClickHouse cluster that holds the store, as the server knows it; empty for none.",
    )


class RetentionSettings(_Section):
    """How long the store keeps what."""

    raw_days: int = Field(
        0, ge=0, le=36_500, description="Days spans, logs, metrics and message content are kept; 0 for ever."
    )
    rows_days: int = Field(
        0,
        ge=0,
        le=36_500,
        description="Days inferences, tool calls and turns are kept; 0 for ever. Memories are never deleted by age.",
    )


class InjectionSettings(_Section):
    """What may be added to requests."""

    enabled: bool = Field(True, description="Off: nothing is ever added to a request.")
    attested: Literal["client", "rewrite", "off"] = Field(
        "client",
        description="Subscription traffic that Claude Code signs: hand the block to the client, rewrite anyway, off.",
    )
    session_block_tokens: int = Field(500, ge=0, le=4000, description="Budget of the block in the system prompt.")
    failure_hint_tokens: int = Field(150, ge=0, le=2000, description="Budget of a hint beside a failing tool result.")
    task_hint_tokens: int = Field(250, ge=0, le=2000, description="Budget of a hint behind a new prompt; 0: none.")
    family_hint: bool = Field(False, description="Also a hint where a prompt asks for tests or a release.")
    family_hint_tokens: int = Field(200, ge=0, le=2000, description="Its budget.")
    withhold_share: float = Field(
        0.1,
        ge=0,
        le=1,
        description="Share of (session, memory) pairs that are withheld, to measure the effect.",
    )
    deadline_ms: float = Field(50, gt=0, description="After this the request goes out untouched.")


class CaptureSettings(_Section):
    """What is recorded."""

    mode: Literal["full", "metadata", "off"] = Field(
        "full",
        description="full keeps redacted content, metadata only numbers and names, off records nothing.",
    )
    ignored_files: Literal["mask", "keep"] = Field(
        "mask",
        description="mask: what is in files that .gitignore names is not recorded when tools read or write them; keep: "
        "they are recorded like others.",
    )
    redact: _Lines = Field((), description="More regular expressions whose matches are replaced before storage.")
    off_repositories: _Lines = Field(
        (),
        description="Scope keys (`*` matches) or directories: nothing is recorded there, and nothing injected.",
    )
    only_repositories: _Lines = Field(
        (),
        description="The same, the other way round: once one is named, only those that are named are recorded.",
    )

    @field_validator("redact")
    @classmethod
    def _are_expressions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                matches_nothing = re.compile(pattern).match("") is not None
            except re.error as fault:
                raise ValueError(f"{pattern!r} is not a regular expression: {fault}") from None
            if matches_nothing:
                raise ValueError(f"{pattern!r} matches the empty string, so it would replace everything")
        return value

    @field_validator("off_repositories", "only_repositories")
    @classmethod
    def _as_matched(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(form for word in value for form in _forms(word.strip())))


class MiningSettings(_Section):
    """When and how sessions are mined."""

    interval_s: float = Field(900, gt=0, description="Seconds between mining runs of `spanlore up`.")
    idle_s: float = Field(600, ge=0, description="A session is over after this long without a request.")
    checkpoint_s: float = Field(
        0, ge=0, description="Seconds between looks at sessions that still run; 0: only once they are over."
    )
    pair_window_s: float = Field(600, gt=0, description="How long after a failure its fix may come, idle time removed.")


class MemorySettings(_Section):
    """Whose memories are shared with whom, and how many are kept."""

    isolation: Literal["shared", "harness"] = Field(
        "shared", description="shared: facts learned with one agent serve all; harness: every agent has its own."
    )
    public_repositories: _Words = Field(
        (),
        description="Scope keys of public repositories (`*` matches): what was learned elsewhere is not shown there.",
    )
    forks: Annotated[dict[str, str], _pairs("fork=upstream")] = Field(
        default_factory=dict,
        description="A fork and what it reads from: `host/me/name=host/them/name,…`; a remote `upstream` counts too.",
    )
    agents_word: Literal["waits", "kept"] = Field(
        "waits",
        description="`spanlore remember` in an agent's shell: waits for its user's yes, or is kept like the user's own"
        " word. Only config.toml counts here, since an agent can set variables.",
    )
    max_active: int = Field(200, ge=1, description="Shown memories a scope; beyond it those worth least go.")
    max_candidates: int = Field(500, ge=1, description="Candidates a scope; beyond it those worth least go.")


class JudgeSettings(_Section):
    """The model that may look at candidates, and what it may cost. Off without a key."""

    api_key: str = Field("", description="Key of the judge's API. Empty: no model is ever asked, templates decide.")
    base_url: str = Field("https://api.anthropic.com", description="Any Anthropic-compatible API, a local one as well.")
    model: str = Field("claude-haiku-4-5", description="A cheap model is enough: it only answers keep or refuse.")
    max_tokens_per_day: int = Field(200_000, ge=0, description="Input and output tokens a day.")
    max_tokens_per_session: int = Field(20_000, ge=0, description="Input and output tokens a mined session.")
    max_usd_per_day: float = Field(0.25, ge=0, description="US dollars a day; a model of unknown price costs 0 here.")
    max_usd_per_session: float = Field(0.02, ge=0, description="US dollars a mined session.")
    timeout_s: float = Field(30, gt=0, description="How long one answer may take.")

    @field_validator("base_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("it must be an http:// or https:// URL")
        return value


class NotesSettings(_Section):
    """Memories as Markdown files that a person may edit."""

    enabled: bool = Field(False, description="On: the daemon keeps the notes in step after every mining run.")
    directory: str = Field("", description="Where the notes lie. Empty: `notes` in the state directory.")
    inside_working_tree: bool = Field(False, description="On: the directory may lie inside a git working tree.")


class BudgetSettings(_Section):
    """What agents may cost before their user is warned; nothing is ever stopped."""

    usd_per_day: float = Field(0, ge=0, description="Warn when today's calls cost more, US dollars; 0: never.")
    usd_per_session: float = Field(0, ge=0, description="Warn of sessions that cost more, US dollars; 0: never.")


class WebSettings(_Section):
    """The web page."""

    port: int = Field(7720, ge=0, le=65535, description="Port of the web page and its HTTP API; 0 takes a free one.")


class RecallSettings(_Section):
    """How memories are found when somebody asks."""

    backend: Literal["keyword", "hybrid", "none"] = Field(
        "keyword",
        description="Of `recall`, API and MCP: keyword; hybrid adds meaning (extra `embeddings`); none finds nothing.",
    )


class Settings(_Section):
    """All settings of one spanlore installation."""

    clickhouse_url: str = Field(
        "",
        description="Empty: embedded chDB in the state directory. Else `http(s)://user:password@host:8123/database`.",
    )
    upstreams: Annotated[dict[str, str], _pairs("host=url")] = Field(
        default_factory=dict,
        description="Sends a host elsewhere: `api.anthropic.com=http://127.0.0.1:9100,…` (gateways, local models).",
    )
    prices: Annotated[dict[str, str], _pairs("model=input/output")] = Field(
        default_factory=dict,
        description="Own prices, US dollars a million tokens: `my-model=3/15,…` as input/output[/cache read[/cache "
        "write]].",
    )
    proxy: ProxySettings = Field(default_factory=ProxySettings)
    collector: CollectorSettings = Field(default_factory=CollectorSettings)
    retention: RetentionSettings = Field(default_factory=RetentionSettings)
    injection: InjectionSettings = Field(default_factory=InjectionSettings)
    capture: CaptureSettings = Field(default_factory=CaptureSettings)
    mining: MiningSettings = Field(default_factory=MiningSettings)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    recall: RecallSettings = Field(default_factory=RecallSettings)
    judge: JudgeSettings = Field(default_factory=JudgeSettings)
    notes: NotesSettings = Field(default_factory=NotesSettings)
    web: WebSettings = Field(default_factory=WebSettings)
    budget: BudgetSettings = Field(default_factory=BudgetSettings)

    @field_validator("prices")
    @classmethod
    def _are_prices(cls, value: dict[str, str]) -> dict[str, str]:
        for model, price in value.items():
            if not re.fullmatch(r"\d+(\.\d+)?(\s*/\s*\d+(\.\d+)?){1,3}", price):
                raise ValueError(f"the price of {model} must be like 3/15 or 3/15/0.3/3.75, not {price!r}")
        return value

    @field_validator("upstreams")
    @classmethod
    def _urls(cls, value: dict[str, str]) -> dict[str, str]:
        for host, url in value.items():
            if not url.startswith(("http://", "https://")):
                raise ValueError(f"{host} must lead to an http:// or https:// URL, not {url!r}")
        return {host.lower(): url for host, url in value.items()}


def load_settings(environ: Mapping[str, str] | None = None, paths: Paths | None = None) -> Settings:
    """The settings in force.

    Raises:
        SettingsError: a value is wrong, or the config file can't be read or parsed.
    """
    environ = os.environ if environ is None else environ
    paths = paths or Paths.from_environ(environ)
    data, origin = _read_file(paths.config_file), {}
    for name, path in _names().items():
        if name in environ and environ[name] != "":
            _set(data, path, environ[name])
            origin[path] = name
    try:
        return Settings.model_validate(data)
    except ValidationError as error:
        raise SettingsError(_explain(error, origin, paths.config_file)) from None


def describe() -> list[tuple[str, str, str, str]]:
    """(environment variable, key in config.toml, default, meaning) of every setting, for docs/settings.md."""
    rows = []
    for name, path in sorted(_names().items(), key=lambda item: item[1]):
        field = Settings.model_fields[path[0]]
        if len(path) == 2:
            field = _section(path[0]).model_fields[path[1]]
        default = field.get_default(call_default_factory=True)
        rows.append((name, ".".join(path), _show(default), field.description or ""))
    return rows


def _section(name: str) -> type[BaseModel]:
    annotation = Settings.model_fields[name].annotation
    assert isinstance(annotation, type) and issubclass(annotation, BaseModel)
    return annotation


def _names() -> dict[str, tuple[str, ...]]:
    """Environment variable → path of the setting."""
    out: dict[str, tuple[str, ...]] = {}
    for name, field in Settings.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            for sub in field.annotation.model_fields:
                out[f"{PREFIX}{name}_{sub}".upper()] = (name, sub)
        else:
            out[f"{PREFIX}{name}".upper()] = (name,)
    return out


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.load(file)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SettingsError(f"can't read {path}: {error.strerror}. Make it readable, or move it away.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not valid TOML: {error}. Mend that line, or move the file away.") from None


def _set(data: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    if len(path) == 1:
        data[path[0]] = value
        return
    section = data.setdefault(path[0], {})
    if isinstance(section, dict):
        section[path[1]] = value


def _explain(error: ValidationError, origin: Mapping[tuple[str, ...], str], file: Path) -> str:
    lines = []
    for fault in error.errors():
        path = tuple(str(word) for word in fault["loc"])
        name = next((origin[path[:n]] for n in (2, 1) if path[:n] in origin), None)
        where = f"environment variable {name}" if name else f"{'.'.join(path)} in {file}"
        if fault["type"] == "extra_forbidden":
            lines.append(f"{where}: there is no such setting{_meant('.'.join(path))}.")
        else:
            lines.append(f"{where} is {fault['input']!r}: {fault['msg']}.")
    return "\n".join([*lines, "Mend the value, or leave the setting out to get its default."])


def _meant(key: str) -> str:
    """The setting that a mistyped one resembles most, as a question; '' where none does."""
    known = [".".join(path) for path in _names().values()]
    near = get_close_matches(key, known, n=1)
    return f"; is it {near[0]}?" if near else ""


def _forms(word: str) -> tuple[str, ...]:
    """A repository or directory as it may be written → as workplaces are known. What would never match is an error,
    because the user relies on it."""
    word = word.removeprefix("path:")
    if word.startswith(("/", "~")):
        folder = Path(word).expanduser()
        return str(folder), str(folder.resolve())
    host, _, name = word.partition("/")
    scope = scope_of_remote(word) or scope_of_remote(f"https://{word}")
    if not scope or ("://" not in word and ":" not in word and not (name and "." in host.strip("."))):
        raise ValueError(f"{word!r} is neither host/owner/name nor the full path of a directory")
    return (scope,)


def _show(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (tuple, dict)) or value == "":
        return "–" if not value else ", ".join(value)
    return str(value)
