#!/usr/bin/env python3
"""The README's tour: every command of its table as it stands there, on a short real campaign; then what they printed."""
import atexit
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = map(os.path.abspath, sys.argv[1:3])
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-tour-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
campaign = str(root / "my-campaign")


def run(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *words], capture_output=True, text=True, timeout=300)
    if result.returncode != status:
        sys.exit(f"atoll {' '.join(words)}: status {result.returncode}, expected {status}\n{result.stdout[-2000:]}\n"
                 f"{result.stderr[-2000:]}")
    return result.stdout


def check(condition, message):
    if not condition:
        sys.exit(message)


# ---- the README's commands, to the letter ----
# `atoll` is found in PATH as the README says.  What takes minutes, several nodes or a GPU gets one more word at its end.

readme = pathlib.Path(source, "README.md").read_text()
shim = root / "bin"
shim.mkdir()
(shim / "atoll").write_text(f"""#!/bin/bash
more=()
case "$*" in
    submit*) more=(--dry-run) ;;
    *--ranks*|*--backend\\ cuda*|*--model*) more=(--create-only) ;;
    run*) more=(--seconds 8 --evaluations 10 --sample-seconds 0.05 --seed 3) ;;
    resume*--seconds*) more=(--seconds 2 --evaluations 4) ;;
esac
exec {build}/atoll "$@" "${{more[@]}}"
""".replace("\\\\", "\\"))
(shim / "atoll").chmod(0o755)
(root / "suites").symlink_to(f"{source}/suites")
path = f"{shim}:{os.environ['PATH']}"
(root / "gateway").mkdir()
tour = readme[readme.index("## The tour"):readme.index("## PyTorch and public benchmarks")]
commands = [words for row in tour.splitlines() if row.startswith("| ") for words in re.findall(r"`(atoll [^`]+)`", row.split("|")[2])]
check(len(commands) > 20, f"the README's tour has {len(commands)} commands")
printed = {}
for command in commands:
    done = subprocess.run(["bash", "-c", command], cwd=root, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    expected = 66 if "--prompt" in command else 0  # no model was asked here
    if "--recheck" in command:  # on a busy machine the two may really disagree
        expected = int("they disagree" in done.stdout)
    check(done.returncode == expected, f"{command}: status {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    printed[command] = done.stdout
made = set(re.findall(r"(?: -o |> |task new |serve --spool |spool:)(\w[\w.-]*)", readme)) - {"DIR"}
ignored = pathlib.Path(source, ".gitignore").read_text()
missing = [name for name in made if not re.search(rf"^/{re.escape(name)}/?$", ignored, re.M)]
check(not missing, f".gitignore lacks what the README's examples make: {missing}")

table = printed["atoll best my-campaign"]
check("softmax_rows" in table, f"the table lacks a task:\n{table}")
for name in ("archive.h5", "report.html", "campaign.yaml"):
    check(os.path.getsize(f"{campaign}/{name}") > 0, f"{name} is missing")

rows = json.loads(run("best", campaign, "--json"))
check([r["task"] for r in rows] == ["softmax_rows"], f"best --json: {rows}")
best = rows[0]
check(best["best_ns"] > 0 and best["speedup"] >= 1, f"best: {best}")
shown = run("show", campaign, best["candidate"])
for part in ("atoll-plan", "correct", best["candidate"][:12]):
    check(part in shown, f"show lacks {part}:\n{shown}")
detail = json.loads(run("show", campaign, best["candidate"], "--json"))
check(detail["evaluations"] and detail["source"], "show --json lacks evaluations or source")
check("no candidate" in subprocess.run([f"{build}/atoll", "show", campaign, "ffffffffffff"], capture_output=True,
                                       text=True).stderr, "an unknown candidate is not named")

evaluations = list(csv.DictReader(io.StringIO(run("export", campaign, "--csv", "evaluations"))))
check(len(evaluations) >= 5, f"only {len(evaluations)} evaluations")
lines = [json.loads(line) for line in run("export", campaign, "--jsonl", "evaluations").splitlines()]
check(len(lines) == len(evaluations), "csv and jsonl disagree")

run("replay", campaign)
run("verify", campaign)
# On a busy machine the two may really disagree: then it must say so and fail.
rechecked = subprocess.run([f"{build}/atoll", "verify", campaign, "--recheck", "--task", "softmax_rows"], capture_output=True,
                           text=True, timeout=300)
check("softmax_rows" in rechecked.stdout, f"recheck says nothing of the task:\n{rechecked.stdout}{rechecked.stderr}")
check("recorded" in rechecked.stdout or "no final comparison" in rechecked.stdout or "still the best" in rechecked.stdout,
      f"recheck does not compare with the record:\n{rechecked.stdout}")
check(rechecked.returncode == ("FAIL" in rechecked.stdout), f"status {rechecked.returncode}:\n{rechecked.stdout}")
merged = str(root / "merged.h5")
run("archive", "merge", "-o", merged, f"{campaign}/archive.h5", f"{campaign}/archive.h5")
again = [json.loads(line) for line in run("export", merged, "--jsonl", "evaluations").splitlines()]
check(len(again) == len(evaluations), "merging an archive with itself is not the archive")
run("report", campaign, "-o", str(root / "again.html"))
check("<svg" in (root / "again.html").read_text(), "the report holds no picture")

run("resume", campaign)  # a finished campaign only gets its archive and table again
(root / "mine").mkdir()
run("task", "new", str(root / "mine" / "scaled_add"))
run("task", "check", str(root / "mine" / "scaled_add"))
run("doctor")
print(f"{len(evaluations)} evaluations toured")
