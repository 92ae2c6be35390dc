"""Coverage-guided fuzzing with atheris. Run by tools/fuzz.sh, which installs it:

python -m support.fuzz TARGET CORPUS [libFuzzer options]
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path


def main(arguments: list[str]) -> None:
    """Runs one target; libFuzzer ends the process."""
    atheris = importlib.import_module("atheris")  # by its name: it is not installed with the tests
    # Before anything else loads them: their branches are watched from here on.
    with atheris.instrument_imports(include=["spanlore_proxy.wire", "spanlore.genai"]):
        from support.fuzz_targets import seeds, targets
    name, corpus = arguments[1], Path(arguments[2])
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds(name)):
        (corpus / f"seed-{number:03}").write_bytes(seed)
    atheris.Setup([arguments[0], str(corpus), *arguments[3:]], targets()[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv)
