"""The only reader of the environment and of the config file.

`Paths` and `child_environment` cost nothing to import; the names that need pydantic (a fifth of a second) are loaded
when first asked for, so that `spanlore --help`, `run` and `recall` start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from spanlore.settings.paths import Paths, child_environment, tell_library

if TYPE_CHECKING:
    from spanlore.settings.settings import Settings, SettingsError, load_settings

__all__ = ["Paths", "Settings", "SettingsError", "child_environment", "load_settings", "tell_library"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("spanlore.settings.settings"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
