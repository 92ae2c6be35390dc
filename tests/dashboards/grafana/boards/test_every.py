"""All dashboards together."""

from spanlore_dashboards.grafana.boards.every import BOARDS


def test_links_lead_to_dashboards_that_exist() -> None:
    """A click never ends nowhere; ids are once each."""
    known = {board.uid for board in BOARDS}
    links = [
        link.url
        for board in BOARDS
        for chart in board.charts
        for column in chart.formats.values()
        for link in column.links
    ]

    assert len(known) == len(BOARDS) == 6
    assert {url.split("?")[0].removeprefix("/d/") for url in links if url.startswith("/d/")} <= known
    assert any(url.startswith("${web}/sessions/") for url in links)
    assert all(url.startswith(("/d/", "${web}/")) for url in links)


def test_linked_columns_and_variables_exist() -> None:
    """What a link puts into an address is a column of its query, or a variable of its dashboard."""
    import re

    for board in BOARDS:
        names = {variable.name for variable in board.variables}
        for chart in board.charts:
            assert set(chart.formats) <= set(chart.columns), chart.title
            for column in chart.formats.values():
                for link in column.links:
                    assert set(re.findall(r"__data\.fields\.(\w+)", link.url)) <= set(chart.columns)
                    assert set(re.findall(r"\$\{(\w+)(?::queryparam)?\}", link.url)) - {"__url_time_range"} <= names


def test_variables_of_queries_exist() -> None:
    """A query uses no variable that its dashboard lacks."""
    import re

    for board in BOARDS:
        names = {variable.name for variable in board.variables}
        for chart in board.charts:
            assert set(re.findall(r"\$\{(\w+):singlequote\}", chart.sql)) <= names, chart.title
