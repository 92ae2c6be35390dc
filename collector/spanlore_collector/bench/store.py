"""`spanlore bench store`: bytes on disk against the sessions' distinct content, and what resending the history adds."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

BUDGETS = {"disk_share_of_content": 0.5}


def measure(sessions: int) -> dict[str, Any]:
    """Runs it in a process of its own, since the engine opens one store a process."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "spanlore_collector.bench.disk", folder, str(sessions)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
    return result_of(sessions, json.loads(done.stdout))


def result_of(sessions: int, found: dict[str, Any]) -> dict[str, Any]:
    """What `--json` prints."""
    new, resent = found["new"], found["resent"]
    share = new["disk_bytes"] / new["content_bytes"]
    largest = sorted(new["tables"].items(), key=lambda item: -item[1])[:4]
    rows: list[dict[str, Any]] = [
        {"what": "sessions", "count": sessions},
        {"what": "distinct content", "bytes": new["content_bytes"]},
        {"what": "on disk, merged", "bytes": new["disk_bytes"], "search_index_bytes": new["search_index_bytes"]},
        *({"what": f"  {table}", "bytes": size} for table, size in largest),
        {"what": "on disk / distinct content", "disk_share_of_content": round(share, 3)},
        {
            "what": "  without the search index",
            "disk_share_of_content": round((new["disk_bytes"] - new["search_index_bytes"]) / new["content_bytes"], 3),
        },
        {
            "what": "sent with the whole history each time",
            "times_sent": round(resent["sent_bytes"] / new["sent_bytes"], 2),
            "times_on_disk": round(resent["disk_bytes"] / new["disk_bytes"], 2),
            "times_content": round(resent["content_bytes"] / new["content_bytes"], 3),
        },
    ]
    within = share <= BUDGETS["disk_share_of_content"]
    return {"bench": "store", "rows": rows, "budgets": BUDGETS, "within_budget": within}
