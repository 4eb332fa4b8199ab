#!/usr/bin/env python3
"""Stops the machine a gateway works on at random instants of a load, and compares what the provider billed with its limit.

gateway_power.py BUILD [--stops N] [--longest S] [--seed N] [--lie]

A stop kills the gateway and leaves of its folder what was synced, nothing else (drop_unsynced.c, rebuild.py).  The provider, and
the client with the answers it was given, live elsewhere.  After every stop: for every campaign what the provider billed is within
the limit, and within what the file tells of it; so is that within the limit; and every answer that was given stands in the file.
--lie forgets the syncs: the check must find it, or it could not fail.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import gateway_books
import rebuild
from gateway_driver import Driver, answers_of
from gateway_scene import PRICE, Config, Gateway, Provider

AT_ONCE = 256
USAGE = 90, 16    # tokens of an answer: as much as is reserved, nearly, so that what is reserved hides nothing
QUESTIONS = 1500  # of a campaign
SHARE = 0.7       # of what a campaign costs, its budget


class Machine:
    def __init__(self, options, root):
        self.options, self.root = options, pathlib.Path(root)
        self.watched, self.shadow = self.root / "watched", f"{root}/shadow"
        self.watched.mkdir()
        self.provider = Provider(options.build)
        config = Config(self.root, first_backoff="5ms", longest_backoff="50ms", tries=6)
        config.listen = f"unix:{root}/door"
        config.file = "watched/gateway.sqlite"
        config.endpoint("e", "chat", self.provider.url + "/v1", concurrency=1024)
        config.model("m", "e", f"delay-20-tokens-{USAGE[0]}-{USAGE[1]}", output=USAGE[1])
        self.limit = int(PRICE.cost(*USAGE) * QUESTIONS * SHARE)
        config.limit(scope="campaign", money=f"{self.limit / 10**9:.9f}")
        self.config, self.gateway, self.driver, self.campaign = config, None, None, -1
        self.environment = {**os.environ, "ATOLL_SHADOW": self.shadow, "LD_PRELOAD": f"{options.build}/tests/libdrop_unsynced.so",
                            **({"ATOLL_SHADOW_LIE": "1"} if options.lie else {})}
        rebuild.adopt(self.watched, self.shadow)

    def answers(self, campaign):
        return f"{self.root}/answers-{campaign}"

    def start(self):
        if self.gateway:
            self.gateway.start()
        else:
            self.gateway = Gateway(self.options.build, self.config, self.environment)
        if self.driver is None or self.driver.child.poll() is not None:
            self.campaign += 1
            self.driver = Driver(self.options.build, f"unix:{self.root}/door", self.answers(self.campaign), QUESTIONS, AT_ONCE,
                                 "--prefix", f"c{self.campaign}", "--campaign", f"c{self.campaign}")

    def stop(self):
        self.gateway.kill()
        target = self.root / "rebuilt"
        rebuild.rebuild(self.watched, self.shadow, target)
        shutil.rmtree(self.watched)
        os.rename(target, self.watched)
        rebuild.adopt(self.watched, self.shadow)

    def look(self):
        """With the gateway dead: what was given until then."""
        given = {f"c{c}-{n}" for c in range(self.campaign + 1) for n, rows in answers_of(self.answers(c)).items()
                 if rows[0].status in gateway_books.FINAL}
        billed, again = collections.Counter(), 0
        for name, row in self.provider.stats()["ids"].items():
            billed[name.split("-")[0]] += row["answered"] * PRICE.cost(*USAGE)
            again += max(0, row["answered"] - 1)
        books = self.gateway.books().read()
        kept = {key.replace("/", "-") for _, _, status, key, _ in gateway_books.exchanges(self.gateway.file) if status in gateway_books.FINAL}
        for campaign, money in billed.items():
            if money > self.limit:
                sys.exit(f"campaign {campaign}: the provider billed {money} nanodollars, the limit is {self.limit}")
            if money > books.sums[campaign]:
                sys.exit(f"campaign {campaign}: the provider billed {money} nanodollars, the file tells of {books.sums[campaign]}")
        for campaign, money in books.sums.items():
            if money > self.limit:
                sys.exit(f"campaign {campaign}: {money} of {self.limit} nanodollars are used")
        if given - kept:
            sys.exit(f"{len(given - kept)} answers were given and are lost: {sorted(given - kept)[:3]}")
        return billed, again, books, len(given)

    def end(self):
        for child in (self.gateway and self.gateway.child, self.driver and self.driver.child):
            if child and child.poll() is None:
                child.kill()
                child.wait()
        self.provider.stop()


def run(options, machine):
    chance = random.Random(options.seed)
    for _ in range(options.stops):
        machine.start()
        time.sleep(chance.uniform(0.05, options.longest))
        machine.stop()
        machine.look()
    machine.start()
    machine.driver.end()
    machine.stop()
    billed, again, books, given = machine.look()
    fullest = max(books.sums.values()) / machine.limit
    print(f"seed {options.seed}: {options.stops} stops, {given} answers given, none lost; {len(billed)} campaigns, {again} answers paid "
          f"again, the fullest used {fullest:.2%} of its limit")
    if given < 5 * options.stops or fullest < 0.9:
        sys.exit("too little happened to mean anything")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--stops", type=int, default=20)
    parser.add_argument("--longest", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--lie", action="store_true")
    options = parser.parse_args()
    root = tempfile.mkdtemp(prefix="atoll-gpower-")
    machine = Machine(options, root)
    try:
        run(options, machine)
    except SystemExit as failure:
        if failure.code:
            print(f"seed {options.seed}:", end=" ", flush=True)
        raise
    finally:
        machine.end()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
