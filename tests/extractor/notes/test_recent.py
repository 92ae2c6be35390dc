from spanlore_extractor.notes.recent import recent_notes
from support.collecting import Collecting
from support.told import START_NS, failing_tests


def test_the_last_sessions_first(collector: Collecting) -> None:
    """So many as asked for, out of the store."""
    far_ns = START_NS + 9 * 10**16
    for number in (1, 2):
        collector.send(failing_tests(f"recent-{number}", far_ns + number * 10**12, repository="recent/a/b").spans())
    [file] = recent_notes(collector.reader, collector.client, 1)

    assert file.startswith("sessions/recent-a-b/") and file.endswith("recent-2.md")
