import subprocess
import sys

from spanlore_extractor.judge.answer import UnavailableError


def test_mining_without_a_key_does_not_load_the_sdk() -> None:
    """It is large, and most installations have no judge."""
    code = "import sys, spanlore_extractor.run; sys.exit('anthropic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=300, check=False).returncode == 0


def test_what_the_api_said_about_waiting() -> None:
    """None where it said nothing."""
    assert UnavailableError("busy").retry_after_s is None
    assert UnavailableError("busy", 3.0).retry_after_s == 3.0
