"""The only reader of the environment and of the config file."""

from spanlore.settings.paths import Paths
from spanlore.settings.settings import Settings, SettingsError, child_environment, load_settings

__all__ = ["Paths", "Settings", "SettingsError", "child_environment", "load_settings"]
