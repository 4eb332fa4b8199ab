#!/usr/bin/env python3
"""Stops a machine on which several holders of one ledger work, and checks that no limit is passed by what went out.

spending_power.py BUILD [--stops N] [--holders N] [--seed N] [--limit N] [--same-boot]

Holders let calls go when they are written, and sync behind them (spend.c, `behind`).  A stop kills all of them and leaves what
was synced, nothing else (drop_unsynced.c, rebuild.py); the next boot has another id.  What went out stands in files of their
own, which no stop touches: what a provider would know.  After each stop and the next start, read by spending.py and not by
Atoll: for every campaign what went out is within the limit, and within what the journals tell of it; these are within the limit,
too, and within the grants; no number of a reservation was used twice.  --same-boot keeps the boot's id, so that nobody knows
that something may be lost: the check must find it, or it could not fail.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import rebuild
import spending


class Machine:
    def __init__(self, options, root):
        self.options, self.root = options, root
        self.watched, self.shadow, self.boot = f"{root}/watched", f"{root}/shadow", f"{root}/boot"
        os.mkdir(self.watched)
        rebuild.adopt(self.watched, self.shadow)
        self.environment = {**os.environ, "ATOLL_SHADOW": self.shadow, "ATOLL_SHADOW_BOOT": self.boot,
                            "LD_PRELOAD": f"{options.build}/tests/libdrop_unsynced.so"}
        self.holders = spending.Holders(options, root)
        self.boots = 0

    def ack_bytes(self, name):
        path = pathlib.Path(self.root, "acks", name)
        return path.stat().st_size if path.exists() else 0

    def start(self):
        """All of them, until each has let calls go."""
        self.boots += 1
        pathlib.Path(self.boot).write_text(f"{1 if self.options.same_boot else self.boots:036d}\n")
        names = [f"h{i}" for i in range(self.options.holders)]
        before = {name: self.ack_bytes(name) for name in names}
        for name in names:
            self.start_one(name)
        end = time.monotonic() + 60
        while any(self.ack_bytes(name) == before[name] for name in names):
            for name in names:
                if self.holders.running[name].poll() is not None:
                    self.holders.fail(name)
            if time.monotonic() > end:
                sys.exit(f"seed {self.options.seed}: a holder lets nothing go")
            time.sleep(0.005)

    def start_one(self, name):
        self.holders.lives += 1
        log = open(f"{self.root}/log", "ab")
        self.holders.running[name] = subprocess.Popen(
            [f"{self.options.build}/tests/bin/atoll-spend", f"{self.watched}/ledger", name, f"{self.root}/acks/{name}",
             str(self.options.seed + self.holders.lives), str(self.options.limit), "behind"], stdout=log, stderr=log,
            env=self.environment)

    def stop(self):
        self.holders.end()
        target = f"{self.root}/rebuilt"
        rebuild.rebuild(self.watched, self.shadow, target)
        lost = sum(size(self.watched, path) - size(target, path) for path in pathlib.Path(self.watched).glob("ledger/holders/*"))
        shutil.rmtree(self.watched)
        os.rename(target, self.watched)
        rebuild.adopt(self.watched, self.shadow)
        return lost


def size(root, path):
    copy = pathlib.Path(root, *path.parts[-3:])
    return copy.stat().st_size if copy.exists() else 0


class Outside:
    """What went out, by reservation."""

    def __init__(self, acks):
        self.acks, self.ends, self.calls = pathlib.Path(acks), {}, {}

    def read(self):
        for path in self.acks.iterdir():
            data = path.read_bytes()
            start, end = self.ends.get(path, 0), data.rfind(b"\n") + 1
            self.ends[path] = end
            for line in data[start:end].decode().splitlines():
                words = line.split()
                number, money = int(words[1]), int(words[2])
                if words[0] == "S":
                    campaign, reserved = self.calls[number]
                    self.calls[number] = campaign, min(reserved, money)  # what is in excess is no limit's matter
                elif number in self.calls:
                    sys.exit(f"reservation {number} was made twice")
                else:
                    self.calls[number] = words[3], money

    def sums(self, settled):
        """settled: what the journals say it cost; the holder may have been stopped before it told."""
        found = collections.Counter()
        for number, (campaign, money) in self.calls.items():
            found[campaign] += min(money, settled.get(number, money))
        return found


class Checker(spending.Checker):
    """All over again at each look: what was read may be gone."""

    def look(self, outside):
        self.ledger, self.journals = spending.Ledger(self.folder / "ledger.atl"), {}
        self.ledger.read()
        for path in (self.folder / "holders").glob("*.atl"):
            self.journals.setdefault(path.stem, spending.Journal(path)).read()
        outside.read()
        self.check_limits()
        settled = {number: money for journal in self.journals.values() for number, money in journal.settled.items()}
        for campaign, money in outside.sums(settled).items():
            told = sum(j.money[0, campaign, ""] - j.excess_money[0, campaign, ""] for j in self.journals.values())
            if money > self.limit:
                sys.exit(f"campaign {campaign}: {money} went out, its limit is {self.limit}")
            if money > told:
                sys.exit(f"campaign {campaign}: {money} went out, the journals tell of {told}")


def run(options, machine):
    chance = random.Random(options.seed)
    checker, outside = Checker(f"{machine.watched}/ledger", f"{machine.root}/acks", options.limit), Outside(f"{machine.root}/acks")
    stops = lossy = 0
    while stops < options.stops or (lossy < options.stops // 3 and stops < 4 * options.stops):
        machine.start()
        time.sleep(chance.uniform(0, options.longest))
        machine.holders.pause()
        checker.look(outside)
        lossy += machine.stop() > 0
        stops += 1
    print(f"seed {options.seed}: {stops} stops, {lossy} of them lost something, {len(outside.calls)} calls went out; the fullest "
          f"campaign used {checker.fullest:.1%} of its limit")
    if lossy < options.stops // 3 or checker.fullest < 0.9:
        sys.exit("too little happened to mean anything")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--stops", type=int, default=30)
    parser.add_argument("--holders", type=int, default=3)
    parser.add_argument("--longest", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--limit", type=int, default=40000)
    parser.add_argument("--same-boot", action="store_true")
    options = parser.parse_args()
    spending.Frames.is_checking = False  # they are read again and again
    root = tempfile.mkdtemp(prefix="atoll-power-")
    machine = Machine(options, root)
    try:
        run(options, machine)
    except SystemExit as failure:
        if failure.code:
            print(f"seed {options.seed}:", end=" ", flush=True)
        raise
    finally:
        machine.holders.end()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
