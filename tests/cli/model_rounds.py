#!/usr/bin/env python3
"""bench/model/rounds: requests that are open when a round ends are those of the next one, and their answers are taken there."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

build, source = sys.argv[1], pathlib.Path(sys.argv[2])


def check(condition, message):
    if not condition:
        sys.exit(message)


def open_of(spool):
    return sorted(r for r in spool.glob("??/*.request") if not r.with_suffix(".reply").exists())


with tempfile.TemporaryDirectory(prefix="atoll-rounds-") as scratch:
    folder, spool = pathlib.Path(scratch, "live"), pathlib.Path(scratch, "live.spool")

    def round_of(*words, status):
        result = subprocess.run([source / "bench/model/rounds", folder, "--quiet", "2", *words], capture_output=True, text=True, timeout=200,
                                env=dict(os.environ, ATOLL_BUILD=build, LEFT="60"))
        check(result.returncode == status, f"{words}: status {result.returncode}\n{result.stdout[-2000:]}{result.stderr[-2000:]}")

    round_of(source / "suites/starter", "--only", "softmax_rows", "--backend", "null", "--seconds", "600", "--set", "ask_share=1", "--set", "tools=0",
             "--set", "asks=2", "--seed", "3", status=75)
    first = open_of(spool)
    check(len(first) == 2, f"open after the first round: {first}")
    for request in first:
        check("softmax_rows" in json.loads(request.read_text())["atoll"]["task"], request)
        request.with_suffix(".reply").write_text((source / "suites/starter/softmax_rows/seeds/online.c").read_text())
    round_of(status=75)
    second = open_of(spool)
    check(second and not set(first) & set(second), f"open after the second round: {second}")
    round_of("--finish", status=0)
    rows = [json.loads(line) for line in subprocess.run([pathlib.Path(build, "atoll"), "export", folder, "--jsonl", "asks"], capture_output=True, text=True,
                                                        check=True).stdout.splitlines()]
    answered = [row for row in rows if row["origin"] == "hand" and row["status"] == "ok"]
    check(len(answered) == 2 and all(row["sources"] == 1 for row in answered), f"answers taken: {rows}")
