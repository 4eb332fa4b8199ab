#!/usr/bin/env python3
"""Runs are drained again and again, with questions to a model open, and the last one finishes: drain.py BUILD SOURCE [--turns N].

After every drained run: status 0, its journal closed as "drained", a segment beside it, the search unfinished, nothing under way
but what no result came of in time.  At the end every acknowledged result is there exactly once, and `atoll replay` derives every
decision again.  The model answers slowly (a fault server behind a real gateway), so that a drain finds questions open.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import eval_scene
import journal
from gateway_scene import Config, Gateway, Provider


def check_drained(scene, run, number):
    run.expect("eval.drain ", "eval.drained")
    last = journal.attempts(scene.dir)[-1]
    if last.number != number or last.reason != "drained":
        run.fail(f"the last journal is of attempt {last.number}, closed as {last.reason}")
    if not (scene.dir / "jobs" / last.name / "segment-0000.h5").exists():
        run.fail("there is no segment beside the journal")
    if "eval.finished.before" in run.text():
        run.fail("the search was finished before")


def drained_turns(scene, options, chance):
    runs = []
    for turn in range(options.turns):
        run = scene.run(f"turn{turn}", "--on-signal", "drain")
        run.wait_for_acks(20)
        time.sleep(chance.uniform(0, 0.4))
        run.process.send_signal(signal.SIGTERM)
        run.end()
        runs.append(run)
        check_drained(scene, run, turn + 1)
        scene.check_acknowledged(*runs)
    return runs


def out_of_time(scene, number):
    """A time that is over, or too short for an order of which nobody knows how long it takes: nothing is sent."""
    run = scene.run("late", "--until", str(int(time.time()) + 5))
    run.end()
    check_drained(scene, run, number)
    if run.acknowledged():
        run.fail("it sent orders although there was no time")
    return run


def go(options, root):
    chance = random.Random(options.seed)
    provider = Provider(options.build)
    (root / "gateway").mkdir()
    config = Config(root / "gateway", first_backoff="5ms")
    config.endpoint("a", "chat", provider.url + "/v1")
    config.model("m", "a", "delay-700", output=512)
    gateway = Gateway(options.build, config)
    scene = None
    try:
        scene = eval_scene.Scene(options.build, options.source, root, "--model", "m", "--gateway", gateway.url.rstrip("/"),
                                 "--ask-deadline", "60s")
        runs = drained_turns(scene, options, chance)
        runs.append(out_of_time(scene, options.turns + 1))
        last = scene.run("last")
        last.wait_for_acks(20)
        last.stop()
        runs.append(last)
        last.expect("eval.finished")
        if journal.attempts(scene.dir)[-1].reason == "drained":
            last.fail("--on-signal finish is what is done when nothing is said")
        count = scene.check_acknowledged(*runs)
        scene.check_files()
        asked = provider.stats(False)["seen"]
        print(f"seed {options.seed}: {len(runs)} runs, {count} results, each once; {asked} questions reached the model")
        if asked < options.turns:
            sys.exit("too few questions to mean anything")
    finally:
        if scene:
            scene.kill_all()
        gateway.kill()
        provider.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("source")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-drain-"))
    try:
        go(options, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
