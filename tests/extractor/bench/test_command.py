import typer
from typer.testing import CliRunner

from spanlore_extractor.bench.command import register


def test_sizes_are_checked_before_anything_is_started() -> None:
    """A usage error, said plainly."""
    app = typer.Typer()
    register(app)
    app.command("other")(lambda: None)
    for wrong in ("many", "10", "1000,x"):
        done = CliRunner().invoke(app, ["bench", "mine", "--spans", wrong])
        assert done.exit_code == 2 and wrong in done.stderr
