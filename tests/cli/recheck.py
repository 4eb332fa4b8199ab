#!/usr/bin/env python3
"""`atoll verify --recheck` holds what it measures against the record: exit status 0 where they agree, 1 where they do not.  A record
that is not true is made from a real one, whose journal is copied with another ratio.  recheck.py BUILD SOURCE"""
import atexit
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PATIENCE_S, TRIES = 120, 3
build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-recheck-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)


def check(condition, text):
    if not condition:
        sys.exit(text)


def run(*words, statuses=(0,)):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=PATIENCE_S, cwd=root)
    check(done.returncode in statuses, f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done


def record(name, ratio, lo, hi):
    """A copy of the campaign that says so of its final comparison; its tables are made of the journal again."""
    shutil.rmtree(root / name, ignore_errors=True)
    shutil.copytree(root / "true", root / name)
    (root / name / "archive.h5").unlink(missing_ok=True)
    (journal,) = (root / name / "jobs").glob("*/journal.atl")
    for segment in journal.parent.glob("segment-*.h5"):
        segment.unlink()
    altered = run(f"{build}/tests/bin/alter_record", journal, root / "altered.atl", ratio, lo, hi).stdout
    check(int(altered) >= 1, "the campaign made no final comparison")
    os.replace(root / "altered.atl", journal)


def again(name, *words):
    """Measured until there are pairs to compare; a machine that is never quiet enough leaves nothing to test."""
    for _ in range(TRIES):
        done = run(f"{build}/atoll", "verify", name, "--recheck", "--json", *words, statuses=(0, 1))
        check(done.stdout, done.stderr)
        row = json.loads(done.stdout)
        if row["agrees"] is not None:
            return done.returncode, row
    print(f"skipped: nothing was measured in {TRIES} tries: {row['verdict']}, {row['detail']}")
    sys.exit(77)


# The record is of evaluators that invent results, its kernels are real ones.
run(f"{build}/atoll", "run", f"{source}/suites/starter", "--only", "matmul", "--backend", "null", "-o", "true", "--evaluations", 20, "--seed", 3, "-q")
check("nothing to measure again" in run(f"{build}/atoll", "verify", "true", "--recheck", statuses=(2,)).stderr, "an invented record is measured again")
config = root / "true/campaign.yaml"
config.write_text(config.read_text().replace('backend: "null"', 'backend: "cpu"'))

record("apart", 1e4, 9900, 10100)  # less than what was promised would have led to more comparisons, and to other decisions
status, row = again("apart")
check(status == 1 and row["passed"] is False and row["agrees"] is False and row["times_apart"] > 10, f"status {status}: {row}")
said = run(f"{build}/atoll", "verify", "apart", "--recheck", statuses=(1,)).stdout
check("FAIL matmul" in said and "recorded 10000.00x (9900.00 to 10100.00)" in said, said)
check("not measured again" in said or ("they disagree" in said and "1 task measured again, 1 failed, 1 disagrees with the record" in said), said)

record("agrees", 2, 1e-6, 1e6)
for _ in range(TRIES):
    status, row = again("agrees")
    check(row["agrees"] is True and row["times_apart"] == 1, row)
    check(row["recorded_speedup"] == 2 and row["recorded_interval"] == [1e-6, 1e6], row)
    check(status == (not row["passed"]), f"status {status}: {row}")
    if row["verdict"] == "correct" and row["p_value"] < 0.01 and row["speedup"] > 1:
        check(status == 0, f"status {status} where they agree: {row}")
        break
else:
    print(f"skipped: that they agree was never decided: {row['verdict']}, {row['detail']}")
    sys.exit(77)
status, row = again("agrees", "--minimum", 1e5)
check(status == 1 and row["agrees"] is True and row["passed"] is False, f"status {status} below the least: {row}")
