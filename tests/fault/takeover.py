#!/usr/bin/env python3
"""A run is stalled in its middle, another one takes over, the first comes back: takeover.py BUILD SOURCE CASE [--careless].

stalled   the first one's lease stands still for its time and is taken over; when it comes back it notices, writes nothing
          more, and ends with status 75; every result that either acknowledged is in the journals exactly once.
early     somebody takes over although the first one lives: what that one still writes is kept aside, and said to be.
killed    kill -9 and an immediate resume; two at once.
--careless: the first one is told that leases last an hour, so that it believes in its own for too long: the check must fail.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import eval_scene
import journal

LEASE_S = 3.0


def refused(scene, owner):
    """A second run, and a resume, are told who works here."""
    second = scene.run("refused")
    second.end(75)
    second.expect("eval.failed", f"pid {owner.process.pid} on host {os.uname().nodename}")
    resume = subprocess.run([f"{scene.build}/atoll", "resume", str(scene.dir)], capture_output=True, text=True)
    if resume.returncode != 75 or f"pid {owner.process.pid} on host" not in resume.stderr:
        sys.exit(f"atoll resume was not refused: {resume.returncode} {resume.stderr}")


def case_stalled(scene, options):
    lease = ["--lease-time", f"{LEASE_S}s"]
    first = scene.run("first", *(["--lease-time", "1h"] if options.careless else lease))
    first.wait_for_acks(300)
    first.signal_all(signal.SIGSTOP)
    refused(scene, first)
    time.sleep(LEASE_S + 0.5)
    second = scene.run("second", *lease, "--takeover", "1")
    second.wait_for_acks(300)
    first.signal_all(signal.SIGCONT)
    if options.careless:
        time.sleep(2)
        first.signal_all(signal.SIGKILL)
        first.process.wait()
    else:
        first.end(75)
        first.expect("eval.lease.lost", f"epoch 1 of this process was taken over by epoch 2: pid {second.process.pid} on host",
                     "eval.failed")
        if first.text().count("eval.lease.lost") != 1:
            first.fail("says more than once that its lease is lost")
    second.wait_for_acks(600)
    second.stop()
    second.expect("taken over by its silence", "eval.lock.passed")
    count = scene.check_acknowledged(first, second)
    scene.check_files()
    print(f"{count} results of two runs, each once")


def grown(path, size):
    end = time.monotonic() + eval_scene.PATIENCE_S
    while path.stat().st_size <= size:
        if time.monotonic() > end:
            sys.exit(f"{path} does not grow")
        time.sleep(0.01)


def case_early(scene, options):
    first = scene.run("first", "--lease-time", "1h")  # beats so rarely that it does not look while it is tested
    first.wait_for_acks(300)
    first.signal_all(signal.SIGSTOP)
    second = scene.run("second", "--takeover", "1")
    second.wait_for_acks(300)
    path = scene.dir / "jobs/local.0/journal.atl"
    sealed = [a.sealed for a in journal.attempts(scene.dir) if a.previous == "local.0"][0]
    first.signal_all(signal.SIGCONT)
    grown(path, sealed + 100000)
    first.signal_all(signal.SIGKILL)
    first.process.wait()
    second.wait_for_acks(600)
    second.signal_all(signal.SIGKILL)
    second.process.wait()
    text = "records of attempt local.0 written after its lease was lost are kept aside"
    if text not in scene.check_files():
        sys.exit("atoll verify does not tell what is kept aside")
    third = scene.run("third")
    third.wait_for_acks(100)
    third.stop()
    third.expect("eval.resume.quarantined", text, "one that is gone")
    scene.check_acknowledged(second, third)
    scene.check_files()
    print("late records were kept aside")


def case_killed(scene, options):
    runs = []
    for turn in range(5):
        run = scene.run(f"run{turn}")
        run.wait_for_acks(50)
        if turn == 2:
            refused(scene, run)
        runs.append(run)
        run.signal_all(signal.SIGKILL)
        run.process.wait()
    last = scene.run("last")
    last.wait_for_acks(50)
    last.stop()
    last.expect("epoch 6 of the lease", f"taken over from one that is gone: pid {runs[-1].process.pid}")
    if [a.number for a in journal.attempts(scene.dir)] != [1, 2, 3, 4, 5, 6]:
        sys.exit("attempts are not numbered by the epochs of the lease")
    count = scene.check_acknowledged(*runs, last)
    scene.check_files()
    print(f"{count} results of six runs, each once")


CASES = {"stalled": case_stalled, "early": case_early, "killed": case_killed}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--careless", action="store_true")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="atoll-takeover-")
    scene = None
    try:
        scene = eval_scene.Scene(options.build, options.source, root)
        CASES[options.case](scene, options)
    finally:
        if scene:
            scene.kill_all()
        shutil.rmtree(root, ignore_errors=True)


main()
