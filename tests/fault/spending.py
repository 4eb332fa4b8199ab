#!/usr/bin/env python3
"""Kills owners of one gateway's file at random instants and checks that no limit is passed and nothing acknowledged is lost.

spending.py BUILD [--kills N] [--owners N] [--power] [--seed N] [--limit N] [--forget | --lie]

Several processes want the file; one owns it at a time, and when it is killed another one follows.  After every kill all stand
still, and the file is read as it lies there, by gateway_books.py and not by Atoll: for every campaign, task and day what was
spent, reserved or cut short, less what providers booked in excess, must be within the limit; its sums must be those of its
reservations; every acknowledged settlement must be there with its amount, every acknowledged reservation too, and no number may
have been given twice.  --power: a kill stops the machine, all of them die, and what was not synced is gone (drop_unsynced.c).
--forget loses one settlement on purpose, --lie the syncs: the check must find it, or it could not fail.
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
import gateway_books
import rebuild

NEVER = 1 << 64


class Owners:
    def __init__(self, options, root):
        self.options, self.root, self.running, self.lives = options, root, {}, 0
        self.watched, self.shadow, self.acks = f"{root}/watched", f"{root}/shadow", pathlib.Path(root, "acks")
        self.path = f"{self.watched}/gateway.sqlite"
        os.mkdir(self.watched)
        os.mkdir(self.acks)
        self.environment = dict(os.environ)
        if options.power:
            rebuild.adopt(self.watched, self.shadow)
            self.environment.update(ATOLL_SHADOW=self.shadow, LD_PRELOAD=f"{options.build}/tests/libdrop_unsynced.so")
        if options.lie:
            self.environment["ATOLL_SHADOW_LIE"] = "1"

    def start(self, name):
        self.lives += 1
        with open(f"{self.root}/log", "ab") as log:
            self.running[name] = subprocess.Popen(
                [f"{self.options.build}/tests/bin/atoll-spend", self.path, f"{self.acks}/{name}",
                 str(self.options.seed + self.lives), str(self.options.limit)], stdout=log, stderr=log, env=self.environment)

    def kill(self, name):
        if self.running[name].poll() is not None:
            tail = pathlib.Path(self.root, "log").read_text(errors="replace")[-2000:]
            sys.exit(f"{name} ended by itself: {self.running[name].returncode}\n{tail}")
        self.running[name].kill()
        self.running[name].wait()

    def stop_machine(self):
        target = f"{self.root}/rebuilt"
        rebuild.rebuild(self.watched, self.shadow, target)
        shutil.rmtree(self.watched)
        os.rename(target, self.watched)
        rebuild.adopt(self.watched, self.shadow)

    def end(self):
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def limits_of(place, limit):
    return {"campaign": (limit, NEVER), "task": (NEVER, limit // 25), "day": (limit * 5 // 2, NEVER)}[place[0]]


class Checker:
    def __init__(self, owners, options):
        self.owners, self.options, self.ends = owners, options, {}
        self.money = {}    # by reservation, as acknowledged: (reserved, spent or None)
        self.acknowledged, self.fullest, self.forget = 0, 0.0, False

    def is_enough(self):
        return self.acknowledged >= 10 * self.options.kills and self.fullest >= 0.9

    def read_acks(self):
        settled = []
        for path in self.owners.acks.iterdir():
            data = path.read_bytes()
            start, end = self.ends.get(path, 0), data.rfind(b"\n") + 1
            self.ends[path] = end
            for line in data[start:end].decode().splitlines():
                self.acknowledged += 1
                what, number, money = line.split()[:3]
                if what == "S":
                    settled.append((int(number), int(money)))
                elif int(number) in self.money:
                    sys.exit(f"reservation {number} was given twice")
                else:
                    self.money[int(number)] = int(money), None
        for number, money in settled:
            self.money[number] = self.money[number][0], money

    def check(self):
        """Nobody writes meanwhile."""
        books = gateway_books.Books(self.owners.path).read()
        self.read_acks()
        if self.forget:
            number = next(n for n, (_, spent) in sorted(self.money.items(), reverse=True) if spent is not None)
            books.rows[number].settled = None
        for number, (money, spent) in self.money.items():
            row = books.rows.get(number)
            if row is None or row.money != money:
                sys.exit(f"reservation {number} over {money} is lost")
            if spent is not None and (row.settled or [None])[0] != spent:
                sys.exit(f"settlement {number} over {spent} is lost: {row.settled}")
        sums = collections.defaultdict(lambda: [0, 0])
        for row in books.rows.values():
            for place in row.places():
                for i in range(2):
                    sums[place][i] += row.used()[i] - row.excess()[i]
        for place, used in sums.items():
            limits = limits_of(place, self.options.limit)
            if used[0] > limits[0] or used[1] > limits[1]:
                sys.exit(f"{place}: {used} of {limits}")
            if place[0] == "campaign":
                self.fullest = max(self.fullest, used[0] / self.options.limit)


def run(options, owners, checker, chance):
    names = [f"o{i}" for i in range(options.owners)]
    for name in names:
        owners.start(name)
    kill = 0
    while kill < options.kills or (not checker.is_enough() and kill < 4 * options.kills):
        time.sleep(chance.uniform(0, options.longest))
        victims = names if options.power else chance.sample(names, chance.choice([1, 1, len(names)]))
        for name in victims:
            owners.kill(name)
        if options.power:
            owners.stop_machine()
        kill += 1
        checker.forget = options.forget and kill >= options.kills // 2 and any(s is not None for _, s in checker.money.values())
        alive = [owners.running[name] for name in names if name not in victims]
        stopped = [gateway_books.Stopped(child) for child in alive]
        for one in stopped:
            one.__enter__()
        checker.check()
        for one in stopped:
            one.__exit__()
        for name in victims:
            owners.start(name)
    owners.end()
    if options.power:
        owners.stop_machine()
    checker.check()
    print(f"seed {options.seed}: {kill} kills, {checker.acknowledged} acknowledgements, none lost; the fullest campaign used "
          f"{checker.fullest:.1%} of its limit")
    if not checker.is_enough():
        sys.exit("too little happened to mean anything")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--owners", type=int, default=3)
    parser.add_argument("--longest", type=float, default=0.15)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--limit", type=int, default=20000)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--forget", action="store_true")
    parser.add_argument("--lie", action="store_true")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="atoll-spending-")
    owners = Owners(options, root)
    try:
        run(options, owners, Checker(owners, options), random.Random(options.seed))
    except SystemExit as failure:
        if failure.code:
            print(f"seed {options.seed}:", end=" ", flush=True)
        raise
    finally:
        owners.end()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
