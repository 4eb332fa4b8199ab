#!/usr/bin/env python3
"""Status and watch of a campaign of `atoll run`, from a second terminal: they only look, and watch ends when nothing will happen.
watch.py BUILD SOURCE"""
import atexit
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 300
build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-watch-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)
os.environ["HOME"] = os.environ["XDG_STATE_HOME"] = str(root / "home")


def check(condition, text):
    if not condition:
        sys.exit(str(text))


def run(*words, status=0):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, cwd=root)
    check(done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}, not {status}\n"
                                     f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout + done.stderr


def start(*words):
    return subprocess.Popen([f"{build}/atoll", *map(str, words)], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            text=True, start_new_session=True)


def status_of(name):
    return json.loads(run("status", name, "--json"))[0]


def files(name):
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in (root / name).rglob("*")}


def make(name, evaluations):
    run("run", f"{source}/suites/starter", "--only", "transpose", "--only", "row_reduce", "--backend", "null", "--seed", 3,
        "--evaluations", evaluations, "--create-only", "-o", name)
    config = root / name / "campaign.yaml"
    config.write_text(config.read_text().replace("options:\n", 'options:\n  sample-device: "20ms"\n', 1))


make("mine", 1000000)
now = status_of("mine")
check(now["kind"] == "run" and now["phase"] == "idle" and "nobody has begun it" in now["why"], now)
owner, watcher = start("resume", "mine"), start("watch", "mine", "--interval", "1s")
try:
    end = time.monotonic() + PATIENCE_S
    while (now["phase"] != "running" or now["sums"]["evaluated"] < 5 or not now["parts"][0]["tasks"]) and time.monotonic() < end:
        time.sleep(0.1)
        now = status_of("mine")
    check(now["phase"] == "running" and f"on {os.uname().nodename}" in now["why"], now)
    check({t["task"] for t in now["parts"][0]["tasks"]} == {"transpose", "row_reduce"}, now)
    check("row_reduce" in run("status", "mine"), "status has no line for a task")
    check(watcher.poll() is None, "watch ended while the campaign ran")
finally:
    os.killpg(owner.pid, signal.SIGKILL)
    owner.wait()
    for process in pathlib.Path("/proc").glob("[0-9]*"):  # the evaluator has a session of its own
        try:
            if f"{root}/mine" in (process / "cmdline").read_text() or os.readlink(process / "cwd") == str(root):
                if int(process.name) not in (os.getpid(), watcher.pid):
                    os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            pass
said = watcher.communicate(timeout=PATIENCE_S)[0]
check(watcher.returncode == 0 and "nobody works on it" in said and "atoll resume mine" in said, said[-1500:])
check(said.rstrip().endswith("until somebody acts on what is said above: watch ends."), said[-500:])
before = files("mine")
run("status", "mine", "--tasks")
run("watch", "mine")
check(files("mine") == before, "a look at a campaign wrote into it")

make("short", 60)
owner, watcher = start("resume", "short"), start("watch", "short", "--interval", "1s")
said = watcher.communicate(timeout=PATIENCE_S)[0]
check(owner.wait() == 0 and watcher.returncode == 0, said[-1500:])
check("done: evaluations used up" in said and said.rstrip().endswith("Nothing more will happen: watch ends."),
      said[-1500:])
tasks = status_of("short")["parts"][0]["tasks"]
check(all(t["done"] and t["reason"] for t in tasks), tasks)
check(all(t["candidate"] in run("show", "short", t["candidate"]) for t in tasks), tasks)
check("is not a campaign" in run("status", "home", status=66), "a folder without a campaign")
print("looked from a second terminal")
