import subprocess
import sys
import textwrap

import pytest

from spanlore_proxy.capture.heap import bound_heap


@pytest.mark.skipif(not bound_heap(), reason="the C library is not glibc")
def test_freed_bodies_are_given_back() -> None:
    """After large blocks were allocated and freed in several threads little of them stays resident."""
    program = textwrap.dedent(
        """
        import threading, psutil
        from spanlore_proxy.capture.heap import bound_heap
        bound_heap()
        before = psutil.Process().memory_info().rss
        def work():
            for _ in range(5):
                blocks = [bytes(700_000 + 4096 * n) for n in range(20)]
        threads = [threading.Thread(target=work) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(psutil.Process().memory_info().rss - before)
        """
    )
    grown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout

    assert int(grown) < 8 * 1024**2
