#!/usr/bin/env python3
"""Many processes race for one lease while they are killed and stalled: leases.py CLAIM_MANY [--seconds S] [--careless].

Checked from their common log (claim_many.c): an epoch has at most one winner, a winner's epoch is above all that had been won when
it began to claim, a lease is lost only to a later winner, and no prepared file of a killed claimer stays. --careless makes claims
overwrite each other: the check must then find two winners, or it could not fail.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SILENCE_MS = 100


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--racers", type=int, default=8)
    parser.add_argument("--claims", type=int, default=1000, help="go on up to ten times as long until so many were won")
    parser.add_argument("--careless", action="store_true")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    return parser.parse_args()


class Race:
    def __init__(self, options, root):
        self.options, self.root = options, root
        self.log = os.path.join(root, "log")
        self.chance = random.Random(options.seed)
        self.running, self.stalled = [], {}
        self.kills = self.stalls = 0
        self.bad_exits = []

    def start(self):
        more = ["careless"] if self.options.careless else []
        self.running.append(subprocess.Popen([self.options.program, self.root, self.log, str(SILENCE_MS),
                                              str(self.chance.randrange(1 << 30)), *more]))

    def replace_the_gone(self):
        for process in list(self.running):
            if process.poll() is not None:
                self.running.remove(process)
                self.stalled.pop(process, None)
                if process.returncode not in (0, -signal.SIGKILL):
                    self.bad_exits.append(process.returncode)
                self.start()

    def wake(self, now):
        for process, until in list(self.stalled.items()):
            if now >= until:
                process.send_signal(signal.SIGCONT)
                del self.stalled[process]

    def disturb(self):
        process = self.chance.choice(self.running)
        if self.chance.random() < 0.3:
            process.kill()
            self.kills += 1
        elif process not in self.stalled:
            process.send_signal(signal.SIGSTOP)
            self.stalled[process] = time.monotonic() + self.chance.uniform(0, 4e-3 * SILENCE_MS)
            self.stalls += 1

    def won(self, how):
        return pathlib.Path(self.log).read_bytes().count(how) if os.path.exists(self.log) else 0

    def run(self):
        for _ in range(self.options.racers):
            self.start()
        begin = time.monotonic()
        while True:
            time.sleep(self.chance.uniform(0, 0.02))
            now = time.monotonic()
            self.wake(now)
            self.replace_the_gone()
            self.disturb()
            passed = now - begin
            if passed > self.options.seconds and (self.won(b"W") >= self.options.claims and self.won(b"T") or passed > 10 * self.options.seconds):
                return

    def end(self):
        for process in self.running:
            process.kill()
            process.wait()


def check(text):
    """Returns (wins, takeovers, losses, complaint)."""
    winner, began, lost, highest, taken = {}, {}, [], 0, 0
    for line in text[:text.rfind("\n") + 1].splitlines():
        what, pid, *epoch = line.split()
        if what == "B":
            began[pid] = highest
        elif what == "W":
            number = int(epoch[0])
            if number in winner:
                return len(winner), taken, len(lost), f"epoch {number} was won by {winner[number]} and by {pid}"
            if number <= began[pid]:
                return len(winner), taken, len(lost), f"{pid} won epoch {number} although {began[pid]} had been won before it began"
            winner[number] = pid
            highest = max(highest, number)
        elif what == "T":
            taken += 1
        elif what == "L":
            lost.append(int(epoch[0]))
    for number in lost:
        # The winner that took it may have been killed before it said so; its number is there in the folder then.
        if number > highest:
            return len(winner), taken, len(lost), f"epoch {number} was lost to nobody: {highest} is the highest"
    return len(winner), taken, len(lost), ""


def check_folder(program, root, log):
    """One more racer, undisturbed: it sweeps what the killed ones left."""
    before = pathlib.Path(log).stat().st_size
    last = subprocess.Popen([program, root, log, str(SILENCE_MS), "1"])
    end = time.monotonic() + 240
    while time.monotonic() < end and last.poll() is None and b"W" not in pathlib.Path(log).read_bytes()[before:]:
        time.sleep(0.01)
    last.kill()
    last.wait()
    left = [name for name in os.listdir(os.path.join(root, "lease")) if name.startswith(".") and f"+{last.pid}+" not in name]
    return f"prepared files are left: {left[:3]}" if left else ""


def main():
    options = parse()
    root = tempfile.mkdtemp(prefix="atoll-leases-")
    try:
        race = Race(options, root)
        try:
            race.run()
        finally:
            race.end()
        wins, taken, losses, complaint = check(pathlib.Path(race.log).read_text())
        if not complaint and race.bad_exits:
            complaint = f"racers ended with {race.bad_exits[:5]}"
        if not complaint and not options.careless:
            complaint = check_folder(options.program, root, race.log)
        if not complaint and (wins < options.claims or taken == 0):
            complaint = "too few claims to mean anything"
        print(f"seed {options.seed}: {wins} epochs won, {taken} of them from silent holders, {losses} of these told, {race.kills} kills, {race.stalls} stalls")
        if complaint:
            sys.exit(complaint)
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
