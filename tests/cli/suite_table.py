#!/usr/bin/env python3
"""bench/suite_table on an archive that comparisons with rivals are in: rows, tables of rows by level and category, pairs."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

build, source = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
archive = source / "tests/fixtures/archive/schema-7.h5"


def table(*arguments):
    result = subprocess.run([source / "bench/suite_table", *map(str, arguments)], capture_output=True, text=True, env={**os.environ, "ATOLL_BUILD": str(build)})
    if result.returncode != 0:
        sys.exit(f"suite_table {arguments}: {result.returncode}\n{result.stderr}")
    return result.stdout


rows = {row["task"]: row for row in map(json.loads, table("--rows", archive).splitlines())}
softmax, matmul = rows["softmax_rows"], rows["matmul"]
assert (softmax["level"], softmax["category"], softmax["over_rival"], softmax["interval"]) == (1, "softmax", 1.25, [1.225, 1.275]), softmax
assert softmax["rival"] == "compiled" and softmax["rival_ns"] == 1.25e6 and softmax["best_ns"] == 1e6, softmax
assert matmul["rival"] is None and matmul["over_rival"] is None and matmul["over_seed"] > 9, matmul

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder, "rows.jsonl")
    # The last line of a task counts; one of two times has no interval.
    other = dict(softmax, task="sigmoid", over_rival=0.8, interval=None, over_eager=2.0)
    path.write_text("".join(json.dumps(row) + "\n" for row in (dict(softmax, over_rival=9.0), softmax, matmul, other)))
    text = table("--groups", path)
lines = text.splitlines()
assert "| `softmax_rows` | 1, tuner | 1.25, compiled | 1.25 (1.23 to 1.27) |" in text and text.count("`softmax_rows`") == 1, text
assert any(line.startswith("| `sigmoid` |") and "| ~0.8 | 2 |" in line for line in lines), text
assert "| 1 | 2, 2 | rival | 2 | 1.00 | 1.02 | 50 % | 0 % |" in lines, text
assert "| softmax | 2, 2 | rival | 2 | 1.00 | 1.02 | 50 % | 0 % |" in lines, text
assert "| all | 3, 3 | rival | 2 | 1.00 | 1.02 | 50 % | 0 % |" in lines, text

pairs = table("--pairs", archive)
assert "2 tasks, 2 with a right kernel, 1 beside a rival, 1 compared in pairs, 1 faster; geometric mean 1.25" in pairs, pairs
one, none = table(archive, "matmul"), table(archive, "softmax_rows")
assert "| `matmul` | bench | M 256, N 272, K 240 | 2006 | 201, tuner" in one and "`softmax_rows`" not in one, one
assert len(none.splitlines()) == 2, none  # no timing of its best kernel is in this archive
