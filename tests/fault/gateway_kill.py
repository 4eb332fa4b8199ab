#!/usr/bin/env python3
"""Kills a gateway, or its client, at random instants of a load, starts it again, and compares the books of all sides.

gateway_kill.py BUILD [--kills N] [--longest S] [--seed N] [--forget]

Questions go through the door (a Unix socket) to a fault server that breaks a tenth of them; every third kill is the client's.  At
every kill, with the gateway dead or standing still: no campaign has spent, reserved and lost more than its limit, and the sums
of the file are those of its reservations; what was answered until then stands in the store once; how often the server saw it may never change any more.  After some
kills all questions are asked to their end and once more from the beginning: every answer comes from the store, the server sees
nothing, every reservation is settled or unknown, and what was booked for a question is never less than the server counted.
--forget removes the last answer before the last restart, as a gateway would lose it that answers before it is durable: that must
be noticed.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import sqlite3
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import gateway_books
from gateway_driver import Driver, answers_of
from gateway_scene import PRICE, Config, Gateway, Provider

AT_ONCE = 512
QUESTIONS = 2000   # of a campaign
KILLS_A_SCENE = 15
STORED = {"ok", "truncated", "empty", "refused"}


class Scene:
    """One file; campaign after campaign until it was killed often enough.  share: of what a campaign costs, its budget."""

    def __init__(self, options, root, chance, share):
        self.options, self.root, self.chance = options, pathlib.Path(root), chance
        self.provider = Provider(options.build)
        config = Config(root, first_backoff="5ms", longest_backoff="50ms", tries=6)
        config.listen = f"unix:{root}/door"
        config.endpoint("e", "chat", self.provider.url + "/v1", concurrency=1024)
        config.model("m", "e", "mix-10", output=16)
        self.limit = int(PRICE.cost(20, 10) * QUESTIONS * share)
        config.limit(scope="campaign", money=f"{self.limit / 10**9:.9f}")
        self.gateway = Gateway(options.build, config)
        self.books = self.gateway.books()
        self.campaign, self.driver = -1, None
        self.seen = {}  # id: how often the server had seen it when its answer was there
        self.gateway_kills = self.client_kills = 0

    def path(self, campaign):
        return f"{self.root}/answers-{campaign}"

    def start_campaign(self):
        self.campaign += 1
        self.driver = self.drive(self.campaign, self.path(self.campaign))

    def drive(self, campaign, answers):
        return Driver(self.options.build, f"unix:{self.root}/door", answers, QUESTIONS, AT_ONCE, "--prefix", f"c{campaign}",
                      "--campaign", f"c{campaign}")

    def answered(self):
        return {f"c{c}-{n}": rows for c in range(self.campaign + 1) for n, rows in answers_of(self.path(c)).items()}

    def one_kill(self, number):
        if self.driver is None or self.driver.child.poll() is not None:
            if self.driver:
                self.driver.end()
            self.start_campaign()
        time.sleep(self.chance.uniform(0, self.options.longest))
        if number % 3 == 2:
            self.driver.kill()
            self.client_kills += 1
            self.look()
            self.driver.start()
        else:
            self.gateway.kill()
            self.gateway_kills += 1
            self.look()
            self.gateway.start()

    def look(self):
        answered = self.answered()
        ids = self.provider.stats()["ids"]
        for name, rows in answered.items():
            if len(rows) > 1:
                sys.exit(f"{name} was answered {len(rows)} times")
            if rows[0].status in STORED:
                self.seen.setdefault(name, ids[name]["seen"])
        for name, seen in self.seen.items():
            if ids[name]["seen"] != seen:
                sys.exit(f"{name} was answered and asked again: the server saw it {seen}, then {ids[name]['seen']} times")
        self.check_budget()

    def check_budget(self):
        for campaign, highest in self.books.read().highest.items():
            if highest > self.limit:
                sys.exit(f"campaign {campaign} had used {highest} of {self.limit} nanodollars")

    def store(self):
        """{name: request id} of what is answered for good; each stands there once."""
        found, asked = {}, {}
        for _, request, status, key, _ in gateway_books.exchanges(self.gateway.file, self.gateway.child):
            name = key.replace("/", "-")
            asked[name] = request
            if status in gateway_books.FINAL:
                if name in found:
                    sys.exit(f"{name} stands in the store twice")
                found[name] = request
        return found, asked

    def finish(self):
        if self.driver:
            self.driver.end()
        self.look()
        if self.options.forget:
            self.forget()
        stored, asked = self.store()
        before = self.provider.stats()
        for campaign in range(self.campaign + 1):
            again = f"{self.root}/again-{campaign}"
            self.drive(campaign, again).end()
            self.compare(campaign, answers_of(again), stored)
        self.look()
        answered = sum(1 for rows in self.answered().values() if rows[0].status in STORED)
        self.gateway.stop()
        self.audit(asked, before["ids"])
        self.provider.stop()
        return answered, len(self.answered())

    def forget(self):
        self.gateway.stop()
        link = sqlite3.connect(self.gateway.file)
        link.execute("DELETE FROM exchanges WHERE number = (SELECT max(number) FROM exchanges WHERE is_final)")
        link.commit()
        link.close()
        self.gateway.start()

    def compare(self, campaign, again, stored):
        for number, rows in answers_of(self.path(campaign)).items():
            name, first, second = f"c{campaign}-{number}", rows[0], again[number][0]
            if first.status in STORED and (name not in stored or not second.is_stored or second.status != first.status):
                sys.exit(f"{name} was answered ({first.status}) and is lost: asked again it is {second}")

    def audit(self, asked, ids):
        """Nothing is left open."""
        books = self.books.read().by_request()
        still = [row.number for row in self.books.rows.values() if row.settled is None and not row.is_unknown]
        if still:
            sys.exit(f"neither settled nor unknown: {len(still)} reservations, {still[:3]}")
        for name, request in asked.items():
            row = ids.get(name)
            counted = row["input"] + row["output"] + row["broken_input"] + row["broken_output"] if row else 0
            booked = sum(r.used()[1] for r in books[request])
            if booked < counted:
                sys.exit(f"{name}: {booked} tokens are booked, the server counted {counted}: {row}")
        self.check_budget()

    def end(self):
        for child in (self.gateway.child, self.driver and self.driver.child):
            if child and child.poll() is None:
                child.kill()
                child.wait()
        if self.provider.child.poll() is None:
            self.provider.stop()


def one_scene(options, chance, kills, share):
    root = tempfile.mkdtemp(prefix="atoll-gkill-")
    scene = Scene(options, root, chance, share)
    try:
        for number in range(kills):
            scene.one_kill(number)
        answered, asked = scene.finish()
        unknown = sum(row.is_unknown for row in scene.books.rows.values())
        fullest = max(scene.books.highest.values()) / scene.limit
        print(f"{scene.gateway_kills} kills of the gateway, {scene.client_kills} of the client; {asked} questions, {answered} answered "
              f"by the model, {unknown} reservations unknown, fullest campaign {fullest:.2%} of its limit", flush=True)
        return answered
    except SystemExit as failure:
        sys.exit(f"seed {options.seed}: {failure}\n{scene.gateway.log()[-1500:]}")
    finally:
        scene.end()
        shutil.rmtree(root, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--longest", type=float, default=0.6)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--forget", action="store_true")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    begin, left, answered = time.monotonic(), options.kills, 0
    while left > 0:
        answered += one_scene(options, chance, min(left, KILLS_A_SCENE), 0.8 if answered else 3)
        left -= KILLS_A_SCENE
    print(f"seed {options.seed}: {options.kills} kills in {time.monotonic() - begin:.0f} s, {answered} answers, none lost, none doubled")
    if answered < 20 * options.kills:
        sys.exit("too little was answered to mean anything")


if __name__ == "__main__":
    main()
