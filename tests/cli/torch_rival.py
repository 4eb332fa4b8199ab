#!/usr/bin/env python3
"""Rivals in a campaign: PyTorch is measured, what it cannot is told, the best kernel is compared with it; without a Python
with torch everything else goes on.  Debian's python3-torch will do."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
PYTHON = "/usr/bin/python3"
if subprocess.run([PYTHON, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"]).returncode != 0:
    print(f"{PYTHON} has no torch")
    sys.exit(77)
VERDICTS = {"eager": ("correct", "variant bench"), "wrong": ("wrong", "elements wrong"),
            "raises": ("compile_error", "the rival's text:2: RuntimeError"),
            "compiled": ("compile_error", "unsupported: ")}  # or correct, where this torch has a compiler


def check(condition, message):
    if not condition:
        sys.exit(message)


def run(*words):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=200, env=os.environ)
    check(result.returncode == 0, f"atoll {' '.join(map(str, words))}: {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def rows(campaign, table):
    return [json.loads(line) for line in run("export", campaign, "--jsonl", table).splitlines()]


with tempfile.TemporaryDirectory(prefix="atoll-rival-") as folder:
    suite = pathlib.Path(folder, "suite", "rival")
    shutil.copytree(pathlib.Path(source, "tests/fixtures/rival"), suite)
    yaml = suite / "task.yaml"
    yaml.write_text("".join(line for line in yaml.read_text().splitlines(True) if "name: hangs" not in line and "name: patches" not in line
                            and "name: poisons" not in line and "name: shape" not in line))
    limits = ("--seconds", 60, "--evaluations", 4, "--seed", 1, "-q")
    campaign = pathlib.Path(folder, "with")
    run("run", suite.parent, "-o", campaign, "--python", PYTHON, *limits)
    rivals = {row["name"]: row for row in rows(campaign, "rivals")}
    check(set(rivals) == set(VERDICTS), f"rivals: {sorted(rivals)}")
    for name, (verdict, text) in VERDICTS.items():
        row = rivals[name]
        said = (row["verdict"], row["detail"])
        unstable = row["verdict"] == "unstable"  # a machine that others use is no fault
        check(unstable or (name == "compiled" and row["verdict"] == "correct") or (row["verdict"] == verdict and text in row["detail"]),
              f"{name}: {said}")
    best = json.loads(run("best", campaign, "--json"))
    if rivals["eager"]["verdict"] == "correct":
        duels = [row for row in rows(campaign, "duels") if row["purpose"] == "rival"]
        check(duels and "in two processes" in duels[-1]["detail"] or duels[-1]["verdict"] == "unstable", f"duels: {duels}")
        check("rival" in json.dumps(best), f"best --json: {best}")
    campaign = pathlib.Path(folder, "without")
    run("run", suite.parent, "-o", campaign, "--python", "none", *limits)
    check(not rows(campaign, "rivals"), "rivals without a Python")
    check(json.loads(run("best", campaign, "--json")), "no best kernel without a Python")
print("rivals measured, refused and compared; none without a Python")
