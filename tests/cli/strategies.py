#!/usr/bin/env python3
"""Every search strategy from the command line: it ends by itself, replays, survives SIGKILL, and its archive is what its
journals say."""
import atexit
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

build, source = sys.argv[1:3]
sys.path.insert(0, f"{source}/tests/fault")
from eval_scene import kill_whole  # noqa: E402
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-strategies-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
STRATEGIES = ["islands", "beam", "tree", "staged", "repeated"]
TABLES = ["tasks", "candidates", "evaluations", "timings", "duels", "elites", "migrations", "decisions"]
PATIENCE_S = 400
KILL_AFTER = 100  # acknowledged results


def atoll(*words):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    if result.returncode:
        sys.exit(f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stdout[-2000:]}\n"
                 f"{result.stderr[-2000:]}")
    return result.stdout


def check(condition, message):
    if not condition:
        sys.exit(message)


def command(campaign, strategy, evaluations, *more):
    return ["run", f"{source}/suites/starter", "-o", campaign, "--strategy", strategy, "--evaluations", evaluations, "--seed",
            3, "-q", *more]


def rows(where, table):
    return atoll("export", where, "--jsonl", table)


def check_campaign(campaign, strategy, evaluations):
    """Journals, archive and settings agree; returns how many evaluations there are."""
    check(f"  strategy: {strategy}\n" in (campaign / "campaign.yaml").read_text(), f"{strategy}: not in campaign.yaml")
    check("derived again and equal" in atoll("replay", campaign), f"{strategy}: replay")
    check(" 0 problems" in atoll("verify", campaign), f"{strategy}: verify")
    for table in TABLES:
        check(rows(campaign, table) == rows(campaign / "archive.h5", table),
              f"{strategy}: table {table} of the archive is not what the journals say")
    numbers = [json.loads(line)["evaluation"] for line in rows(campaign, "evaluations").splitlines()]
    check(len(numbers) == len(set(numbers)), f"{strategy}: an evaluation is there twice")
    check(0 < len(numbers) <= evaluations + 40, f"{strategy}: {len(numbers)} evaluations of {evaluations}")
    tasks = [json.loads(line) for line in rows(campaign, "tasks").splitlines()]
    check(all(t["done"] for t in tasks), f"{strategy}: a task is not done")
    check(all(t["best_ns"] <= t["baseline_ns"] for t in tasks), f"{strategy}: a best is slower than its baseline")
    return numbers


def acknowledged(log):
    text = log.read_text() if log.exists() else ""
    return {int(line) for line in text[:text.rfind("\n") + 1].split()}


def kill_in_the_middle(campaign, strategy, evaluations, log):
    words = command(campaign, strategy, evaluations, "--backend", "null", "--ack-log", log)
    process = subprocess.Popen([f"{build}/atoll", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    end = time.monotonic() + PATIENCE_S
    while len(acknowledged(log)) < KILL_AFTER and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    check(process.poll() is None, f"{strategy}: the run was over before it could be killed")
    kill_whole(process)


if sys.argv[3:] == ["--measured"]:
    measured = root / "cpu"
    atoll(*command(measured, "tree", 12, "--seconds", 60, "--sample-seconds", 0.05, "--only", "softmax_rows"))
    count = len(check_campaign(measured, "tree", 12))
    check(re.search(r"^softmax_rows ", atoll("best", measured), re.M), "best lacks the task")
    print(f"tree on the cpu: {count} evaluations")
    sys.exit()

for strategy in STRATEGIES:
    whole = root / f"whole-{strategy}"
    atoll(*command(whole, strategy, 150, "--backend", "null"))
    count = len(check_campaign(whole, strategy, 150))
    check(count >= 100, f"{strategy}: only {count} evaluations")

    killed, log = root / f"killed-{strategy}", root / f"acks-{strategy}"
    kill_in_the_middle(killed, strategy, 1200, log)
    before = acknowledged(log)
    frozen = (killed / "campaign.yaml").read_bytes()
    atoll("resume", killed, "-q")
    check((killed / "campaign.yaml").read_bytes() == frozen, f"{strategy}: resume changed the settings")
    found = {json.loads(line)["evaluation"] for line in rows(killed, "evaluations").splitlines()}
    found |= {json.loads(line)["evaluation"] for line in rows(killed, "duels").splitlines()}
    check(before <= found, f"{strategy}: {len(before - found)} acknowledged results are lost")
    check_campaign(killed, strategy, 1200)
    print(f"{strategy}: {count} evaluations, {len(before)} acknowledged before SIGKILL")
