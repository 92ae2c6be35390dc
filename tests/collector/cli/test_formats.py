"""The names of the formats."""

from spanlore_collector.cli.formats import Format


def test_names_as_typed() -> None:
    """What stands after --export."""
    assert [item.value for item in Format] == ["md", "json", "otlp"]
