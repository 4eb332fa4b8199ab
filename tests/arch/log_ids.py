#!/usr/bin/env python3
"""Every id of a log line is documented in docs/spec/log-ids.md, and every documented id is used."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
CALL = re.compile(r'atoll_log(?:_err)?\(\s*[^,;{}"]*ATOLL_LOG_\w+\s*,\s*"([^"]+)"')
used = {}
for folder in ("base", "core", "evolution", "archive-h5", "llm-gateway", "mpi-eval", "scheduler"):
    for path in sorted((root / folder).rglob("*.c")):
        for match in CALL.finditer(path.read_text()):
            used.setdefault(match.group(1), path.relative_to(root).as_posix())
listed = set(re.findall(r"^\| `([a-z0-9_.-]+)`", (root / "docs/spec/log-ids.md").read_text(), re.M))
bad = False
for name in sorted(set(used) - listed):
    print(f"{used[name]}: log id {name} is not in docs/spec/log-ids.md")
    bad = True
for name in sorted(listed - set(used)):
    print(f"docs/spec/log-ids.md: {name} is logged nowhere")
    bad = True
for name in used:
    if not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name):
        print(f"{used[name]}: log id {name} is not a dotted name")
        bad = True
print(f"{len(used)} log ids")
sys.exit(1 if bad else 0)
