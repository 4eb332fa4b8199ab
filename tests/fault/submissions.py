#!/usr/bin/env python3
"""Kills `atoll submit`, and the finalizer of a campaign, before every system call that others see.

submissions.py BUILD SOURCE submit|finalize [--every N] [--careless]

submit: afterwards there is no campaign, or a whole one that `atoll resume` brings to its end with one job in all; what else is
left is called OUT.new-*, and a later submission says so.  finalize: done.json is there only beside a whole archive and report;
started again it ends, and the archive holds what the journals hold.  --careless spoils what it checks, so that it must fail.
"""
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import journal
import stop_at

PATIENCE_S = 400
build, source, what = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
careless = "--careless" in sys.argv
every = int(sys.argv[sys.argv.index("--every") + 1]) if "--every" in sys.argv else 1
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-submissions-", dir=build))
environment = {**os.environ, "ATOLL_QUEUE": str(root / "queue"), "XDG_STATE_HOME": str(root / "state")}
out = root / "campaign"


def fail(text):
    logs = "".join(p.read_text(errors="replace")[-2000:] for p in sorted(out.glob("log/*")))
    sys.exit(f"{text}\n{logs}")


def atoll(*words, status=0):
    done = subprocess.run([f"{build}/atoll", *words], capture_output=True, text=True, env=environment, timeout=PATIENCE_S)
    if done.returncode != status:
        fail(f"atoll {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def submit_words(jobs=1):
    return ["submit", f"{source}/suites/starter", "--only", "transpose", "--only", "row_reduce", "--backend", "null", "--site", "local",
            "--time", "5m", "--seconds", "100", "--evaluations", "12", "--seed", "3", "--jobs", str(jobs), "--tasks-per-part", "1",
            "-o", str(out)]


def jobs():
    return list(root.glob("state/atoll/jobs/*/*/job.json"))


def has_ended(record):
    return json.loads(record.read_text())["state"] in ("completed", "failed", "cancelled", "timeout")


def wait_done():
    end = time.monotonic() + PATIENCE_S
    while not (out / "done.json").exists():
        if time.monotonic() > end:
            fail(f"is not done after {PATIENCE_S} s:\n{atoll('status', '--fresh', str(out))}")
        time.sleep(0.05)
    while not all((p.parent / "cancel").exists() or has_ended(p) for p in jobs()):
        if time.monotonic() > end:
            fail("a job does not end")
        time.sleep(0.02)


def counted():
    """Evaluations that count in the journals of all parts, read without Atoll."""
    data = [attempt.data[:attempt.seal] for part in out.glob("parts/*") for attempt in journal.attempts(part)]
    return sum(kind == journal.EVENT and len(payload) >= 45 and payload[20] == journal.EVALUATED
               for bytes_ in data for kind, payload in journal.frames(bytes_, check=True))


def check_whole():
    """Every result of the journals, once, in the one archive."""
    lines = atoll("export", str(out / "archive.h5"), "--jsonl", "evaluations").splitlines()
    rows = collections.Counter((json.loads(line)["campaign"], json.loads(line)["evaluation"]) for line in lines if line.startswith("{"))
    if len(rows) != counted() or max(rows.values()) != 1:
        fail(f"the archive has {len(rows)} results, the journals {counted()}")
    if "</html>" not in (out / "report.html").read_text():
        fail("the report is cut off")


# ---- submit ----

def clean():
    for path in root.iterdir():
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink()


def check_none(name, n):
    left = sorted(p.name for p in root.iterdir() if p.name not in ("queue", "state", "log"))
    if any(not p.startswith("campaign.new-") for p in left):
        fail(f"killed before {name} {n}: {left} is left and nobody knows why")
    if list(root.glob("queue/[0-9a-f]*.json")) or jobs():
        fail(f"killed before {name} {n}: there is no campaign, but it is queued")
    return len(left)


def submit_once(n):
    """Returns the name of the call, or None when it came to its end, and whether there was a campaign."""
    clean()
    name, status, _ = stop_at.run([f"{build}/atoll", *submit_words()], n, environment=environment, output=root / "log")
    if name is None and status != 0:
        fail(f"submit ended with {status}:\n{(root / 'log').read_text()}")
    if careless and out.exists():
        (out / "sweep.yaml").write_text("version: 1\n")
    if out.exists():
        atoll("resume", str(out))
        wait_done()
        check_whole()
        if len(jobs()) != 1:
            fail(f"killed before {name} {n}: {len(jobs())} jobs worked on a campaign that wants one at a time")
    elif check_none(name, n) and n % 8 == 0:
        said = atoll(*submit_words())
        if "is left of a submission" not in said:
            fail(f"a later submission does not say what is left:\n{said}")
        wait_done()
    return name, out.exists()


def submit():
    """Before each system call, or before every so many from a random one on."""
    n = random.randint(1, every) + (96 if careless else 0)  # what is spoilt is there by then
    print(f"killed before system call {n} and every {every} after it", flush=True)
    names, whole = [], 0
    while not names or names[-1]:
        name, is_there = submit_once(n)
        names.append(name)
        whole += is_there
        n += every
    count = len(names) - 1
    if count < 60 // every or whole - 1 < 20 // every or count - whole < 10 // every:
        fail(f"{count} kills, {whole - 1} of them with a campaign: this tests nothing")
    return f"killed before {count} system calls, {whole - 1} times after the campaign was there"


# ---- finalize ----

def points():
    """Every step, and some of the many writes of an archive."""
    kinds = {**stop_at.STEPS, **stop_at.WRITES}
    name, status, count = stop_at.run([f"{build}/atoll", "resume", str(out)], 0, kinds, environment, root / "log")
    _, _, steps = fresh_run(0, stop_at.STEPS)
    some = random.sample(range(1, count + 1), min(20 // every + 1, count))
    return [(n, stop_at.STEPS) for n in range(random.randint(1, every), steps + 1, every)] + [(n, kinds) for n in some]


def fresh_run(n, kinds):
    for path in (out / "done.json", out / "archive.h5", out / "report.html", *out.glob("parts/*/archive.h5")):
        path.unlink(missing_ok=True)
    return stop_at.run([f"{build}/atoll", "resume", str(out)], n, kinds, environment, root / "log")


def finalize():
    atoll(*submit_words(jobs=2))
    wait_done()
    check_whole()
    (out / "done.json").unlink()
    tried = points()
    for n, kinds in tried:
        name, status, _ = fresh_run(n, kinds)
        if name is None and status != 0:
            fail(f"resume ended with {status}:\n{(root / 'log').read_text()}")
        if careless:
            (out / "done.json").write_text("{}")
        if (out / "done.json").exists():
            check_whole()
        atoll("resume", str(out))
        if not (out / "done.json").exists():
            fail(f"killed before {name} {n}: resume does not finish it")
        check_whole()
    left = [str(p.relative_to(out)) for p in out.rglob("*.tmp")]
    if left:
        fail(f"left for good: {left}")
    return f"killed before {len(tried)} system calls of the finalizer"


why = stop_at.usable()
if why:
    print(f"skipped: {why}")
    sys.exit(77)
try:
    print(submit() if what == "submit" else finalize())
finally:
    for state in jobs():
        subprocess.run([f"{build}/atoll", "cancel", str(out)], env=environment, capture_output=True, timeout=PATIENCE_S)
        break
    shutil.rmtree(root, ignore_errors=True)
