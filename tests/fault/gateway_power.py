#!/usr/bin/env python3
"""Stops the machine of a gateway under load again and again, and compares its books with what the provider billed.

gateway_power.py BUILD [--stops N] [--longest S] [--seed N] [--same-boot]

A stop kills the gateway and leaves what was synced, nothing else (drop_unsynced.c, rebuild.py); the next boot has another id, and
the gateway, its ledger and its store go on with that.  The provider's machine goes on.  At every stop, and at the end: what it
billed for a campaign is within the limit, and within what the ledger tells of it once it is open again; at no record did the
ledger tell of more than the limit.  Answers given in the last moments before a stop may be lost and asked again: they are
counted.  --same-boot keeps the boot's id, so that the gateway knows of no loss: the check must find it, or it could not fail.
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
import spending
from gateway_driver import Driver
from gateway_scene import PRICE, Config, Gateway, Provider

AT_ONCE = 256
USAGE = 90, 16    # tokens of an answer: as much as is reserved, nearly, so that what is reserved hides nothing
QUESTIONS = 1500  # of a campaign
SHARE = 0.7       # of what a campaign costs, its budget


class Machine:
    def __init__(self, options, root):
        self.options, self.root = options, pathlib.Path(root)
        self.watched, self.shadow, self.boot = self.root / "watched", f"{root}/shadow", self.root / "boot"
        self.watched.mkdir()
        self.provider = Provider(options.build)
        config = Config(self.root, first_backoff="5ms", longest_backoff="50ms", tries=6)
        config.listen = f"unix:{root}/door"
        config.ledger, config.store_file = "watched/ledger", "watched/store.atl"
        config.endpoint("e", "chat", self.provider.url + "/v1", concurrency=1024)
        config.model("m", "e", f"delay-20-tokens-{USAGE[0]}-{USAGE[1]}", output=USAGE[1])
        self.limit = int(PRICE.cost(*USAGE) * QUESTIONS * SHARE)
        config.limit(scope="campaign", money=f"{self.limit / 10**9:.9f}")
        self.config, self.gateway, self.driver = config, None, None
        self.environment = {**os.environ, "ATOLL_SHADOW": self.shadow, "ATOLL_SHADOW_BOOT": str(self.boot),
                            "LD_PRELOAD": f"{options.build}/tests/libdrop_unsynced.so"}
        self.boots, self.campaign, self.lost_bytes = 0, -1, 0
        rebuild.adopt(self.watched, self.shadow)

    def start(self):
        self.boots += 1
        self.boot.write_text(f"{1 if self.options.same_boot else self.boots:036d}\n")
        if self.gateway:
            self.gateway.start()
        else:
            self.gateway = Gateway(self.options.build, self.config, self.environment)
        if self.driver is None or self.driver.child.poll() is not None:
            self.campaign += 1
            self.driver = Driver(self.options.build, f"unix:{self.root}/door", f"{self.root}/answers-{self.campaign}", QUESTIONS,
                                 AT_ONCE, "--prefix", f"c{self.campaign}", "--campaign", f"c{self.campaign}")

    def stop(self):
        self.gateway.kill()
        target = self.root / "rebuilt"
        rebuild.rebuild(self.watched, self.shadow, target)
        before, after = (sum(p.stat().st_size for p in tree.rglob("*.atl")) for tree in (self.watched, target))
        shutil.rmtree(self.watched)
        os.rename(target, self.watched)
        rebuild.adopt(self.watched, self.shadow)
        self.lost_bytes += before - after
        return before > after

    def billed(self):
        """By campaign: what the provider wants for each question, as often as it was answered; and for how many again."""
        sums, again = collections.Counter(), 0
        for name, row in self.provider.stats()["ids"].items():
            sums[name.split("-")[0]] += row["answered"] * PRICE.cost(*USAGE)
            again += max(0, row["answered"] - 1)
        return sums, again

    def look(self):
        """While the gateway lives and has charged what it may have lost."""
        billed, again = self.billed()
        ledger = gateway_books.Ledger(self.watched / "ledger").read()
        for campaign, money in billed.items():
            if money > self.limit:
                sys.exit(f"campaign {campaign}: the provider billed {money} nanodollars, the limit is {self.limit}")
            if money > ledger.sums[campaign]:
                sys.exit(f"campaign {campaign}: the provider billed {money} nanodollars, the ledger tells of {ledger.sums[campaign]}")
        for campaign, highest in ledger.highest.items():
            if highest > self.limit:
                sys.exit(f"campaign {campaign}: at some record {highest} of {self.limit} nanodollars were used")
        return billed, again, ledger

    def end(self):
        for child in (self.gateway and self.gateway.child, self.driver and self.driver.child):
            if child and child.poll() is None:
                child.kill()
                child.wait()
        self.provider.stop()


def run(options, machine):
    chance = random.Random(options.seed)
    lossy = 0
    for _ in range(options.stops):
        machine.start()
        time.sleep(chance.uniform(0.02, options.longest))
        machine.look()
        lossy += machine.stop()
    machine.start()
    machine.driver.end()
    billed, again, ledger = machine.look()
    machine.gateway.stop()
    fullest = max(ledger.sums.values()) / machine.limit
    lost = sum(ledger.lost.values()) / max(1, sum(ledger.sums.values()))
    print(f"seed {options.seed}: {options.stops} stops, {lossy} lost something, {machine.lost_bytes >> 10} KiB in all; {len(billed)} "
          f"campaigns, {again} answers paid again, the fullest used {fullest:.2%} of its limit, of all money {lost:.2%} was charged for "
          "what may be lost")
    if lossy < options.stops // 3 or fullest < 0.9:
        sys.exit("too little happened to mean anything")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--stops", type=int, default=25)
    parser.add_argument("--longest", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--same-boot", action="store_true")
    options = parser.parse_args()
    spending.Frames.is_checking = False  # they are read again and again
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
