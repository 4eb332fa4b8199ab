#!/usr/bin/env python3
"""Kills holders of one ledger at random instants and checks that no limit is passed and nothing acknowledged is lost.

spending.py SPEND --kills N [--holders N] [--seed N] [--limit N] [--forget]

After every kill all holders are stopped, and the folder is read as it lies there, by this file and not by Atoll: for every
campaign, task and day the journals' spent + reserved + unknown, less what providers booked in excess, must be within the limit;
so must the ledger's grants as long as there was no excess; every journal must be covered by its grants; every acknowledged
settlement must be there with its amount, every acknowledged reservation too.  --forget loses one settlement on purpose: the
check must find it, or it could not fail.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

CRC = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ 0x82F63B78 if n & 1 else n >> 1
    CRC.append(n)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


class Frames:
    """The records of a file that came since the last look."""
    is_checking = True  # checksums of payloads

    def __init__(self, path):
        self.path, self.end, self.number = path, 0, None

    def more(self):
        with open(self.path, "rb") as f:
            f.seek(self.end)
            data = f.read()
        at = 0
        while len(data) - at >= 24:
            magic, _, kind, length, payload_crc, zero, header_crc = struct.unpack_from("<4sHHIIII", data, at)
            if magic != b"ATLF" or zero or crc32c(data[at:at + 20]) != header_crc or len(data) - at - 24 < length:
                break
            payload = data[at + 24:at + 24 + length]
            if self.is_checking and crc32c(payload) != payload_crc:
                break
            durable, number = struct.unpack_from("<QQ", payload)
            self.number = self.number or number
            if number != self.number or durable > self.end + at:
                sys.exit(f"{self.path}: at {self.end + at}: not a record of this file")
            at += 24 + length
            yield kind, payload[16:]
        self.end += at


def text(payload, at):
    length, = struct.unpack_from("<I", payload, at)
    return payload[at + 4:at + 4 + length].decode(), at + 4 + length


def account(payload):
    name, at = text(payload, 1)
    return payload[0], name, text(payload, at)[0]


class Journal:
    def __init__(self, path):
        self.frames, self.accounts, self.open, self.settled = Frames(path), [], {}, {}
        self.covers = {}
        self.money, self.tokens = collections.Counter(), collections.Counter()          # spent + reserved + unknown
        self.excess_money, self.excess_tokens = collections.Counter(), collections.Counter()

    def read(self):
        for kind, p in self.frames.more():
            if kind == 145:
                self.accounts.append(account(p))
            elif kind == 146:
                number, _, money, tokens = struct.unpack_from("<QqQQ", p)
                places = [self.accounts[i] for i in struct.unpack_from("<4I", p, 32)]
                assert number not in self.open and number not in self.settled
                self.open[number] = money, tokens, places
                for place in places:
                    self.money[place] += money
                    self.tokens[place] += tokens
            elif kind == 147:
                number, money, tokens = struct.unpack("<QQQ", p)
                had, had_tokens, places = self.open.pop(number)
                self.settled[number] = money
                for place in places:
                    self.money[place] += money - had
                    self.tokens[place] += tokens - had_tokens
                    self.excess_money[place] += max(0, money - had)
                    self.excess_tokens[place] += max(0, tokens - had_tokens)
            elif kind == 150:
                number, money, tokens = struct.unpack("<IQQ", p)
                self.covers[self.accounts[number]] = money, tokens
            elif kind == 151:
                self.end_covers(p[8])

    def end_covers(self, is_lost):
        """What a machine that stopped may have lost is charged by the next life."""
        for place, (money, tokens) in self.covers.items():
            if is_lost:
                self.money[place] = max(self.money[place], money)
                self.tokens[place] = max(self.tokens[place], tokens)
        self.covers = {}


class Ledger:
    def __init__(self, path):
        self.frames, self.accounts, self.holders, self.grants = Frames(path), [], [], {}

    def read(self):
        for kind, p in self.frames.more():
            if kind == 153:
                self.holders.append(text(p, 8)[0])
            elif kind == 154:
                self.accounts.append(account(p))
            elif kind == 155:
                holder, number, money, tokens = struct.unpack_from("<QIQQ", p)
                self.grants[self.holders[holder - 1], self.accounts[number]] = money, tokens


def limits_of(place, limit):
    never = 1 << 64
    return {0: (limit, never), 1: (never, limit // 25), 2: (never, never), 3: (limit * 5 // 2, never)}[place[0]]


class Checker:
    def __init__(self, folder, acks, limit):
        self.folder, self.acks, self.limit = pathlib.Path(folder), pathlib.Path(acks), limit
        self.ledger, self.journals, self.ack_ends = Ledger(self.folder / "ledger.atl"), {}, {}
        self.acknowledged, self.fullest = 0, 0.0
        self.forget = None

    def is_enough(self, kills):
        return self.acknowledged >= 10 * kills and self.fullest >= 0.9

    def read_acks(self):
        for path in self.acks.iterdir():
            data = path.read_bytes()
            start, end = self.ack_ends.get(path, 0), data.rfind(b"\n") + 1
            self.ack_ends[path] = end
            for line in data[start:end].decode().splitlines():
                what, number, money = line.split()[:3]
                yield path.name, what, int(number), int(money)

    def check(self):
        if not self.ledger.frames.path.exists():
            return
        self.ledger.read()
        for path in (self.folder / "holders").glob("*.atl"):
            self.journals.setdefault(path.stem, Journal(path)).read()
        self.check_acks()
        self.check_limits()

    def check_acks(self):
        for holder, what, number, money in self.read_acks():
            journal = self.journals[holder]
            if self.forget and what == "S":
                journal.settled.pop(number)
                self.forget = None
            if what == "S" and journal.settled.get(number) != money:
                sys.exit(f"settlement {number} of {holder} over {money} is lost: {journal.settled.get(number)}")
            if what == "R" and number not in journal.settled and number not in journal.open:
                sys.exit(f"reservation {number} of {holder} is lost")
            self.acknowledged += 1

    def check_limits(self):
        sums, grants = collections.defaultdict(lambda: [0, 0, 0, 0]), collections.defaultdict(lambda: [0, 0])
        for holder, journal in self.journals.items():
            for place in journal.money:
                money, tokens = journal.money[place], journal.tokens[place]
                excess, excess_tokens = journal.excess_money[place], journal.excess_tokens[place]
                for i, value in enumerate((money, tokens, excess, excess_tokens)):
                    sums[place][i] += value
                granted = self.ledger.grants.get((holder, place), (0, 0))
                if money - excess > granted[0] or tokens - excess_tokens > granted[1]:
                    sys.exit(f"{holder} used {money}, {tokens} of {place}, granted were {granted}")
        for (_, place), (money, tokens) in self.ledger.grants.items():
            grants[place][0] += money
            grants[place][1] += tokens
        for place, (money, tokens, excess, excess_tokens) in sums.items():
            limit, token_limit = limits_of(place, self.limit)
            if money - excess > limit or tokens - excess_tokens > token_limit:
                sys.exit(f"{place}: {money} ({excess} in excess) of {limit}, {tokens} ({excess_tokens}) of {token_limit}")
            if place[0] == 0:
                self.fullest = max(self.fullest, (money - excess) / limit)
            if grants[place][0] - excess > limit or grants[place][1] - excess_tokens > token_limit:
                sys.exit(f"{place}: grants of {grants[place]} pass {limit}, {token_limit}")


class Holders:
    def __init__(self, options, root):
        self.options, self.root, self.running, self.lives = options, root, {}, 0
        os.mkdir(f"{root}/acks")

    def start(self, name):
        self.lives += 1
        log = open(f"{self.root}/log", "ab")
        self.running[name] = subprocess.Popen(
            [self.options.spend, f"{self.root}/ledger", name, f"{self.root}/acks/{name}",
             str(self.options.seed + self.lives), str(self.options.limit)], stdout=log, stderr=log)

    def fail(self, name):
        tail = pathlib.Path(self.root, "log").read_text(errors="replace")[-2000:]
        sys.exit(f"seed {self.options.seed}: holder {name} ended by itself: {self.running[name].returncode}\n{tail}")

    def kill(self, name):
        if self.running[name].poll() is not None:
            self.fail(name)
        self.running[name].kill()
        self.running[name].wait()

    def pause(self):
        """Stopped means stopped: the signal alone does not say when."""
        for name, process in self.running.items():
            if process.poll() is None:
                process.send_signal(signal.SIGSTOP)
                _, status = os.waitpid(process.pid, os.WUNTRACED)
                if not os.WIFSTOPPED(status):
                    process.returncode = status
                    self.fail(name)

    def go_on(self):
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)

    def end(self):
        for process in self.running.values():
            if process.poll() is None:
                process.kill()
                process.wait()


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("spend")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--holders", type=int, default=3)
    parser.add_argument("--longest", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--limit", type=int, default=40000)
    parser.add_argument("--forget", action="store_true")
    return parser.parse_args()


def run(options, holders, checker, chance):
    names = [f"h{i}" for i in range(options.holders)]
    for name in names:
        holders.start(name)
    kill = 0
    while kill < options.kills or (not checker.is_enough(options.kills) and kill < 4 * options.kills):
        time.sleep(chance.uniform(0, options.longest))
        victims = chance.sample(names, chance.choice([1, 1, 1, len(names)]))
        for name in victims:
            holders.kill(name)
        holders.pause()
        kill += 1
        if options.forget and kill == options.kills // 2:
            checker.forget = True
        checker.check()
        holders.go_on()
        for name in victims:
            holders.start(name)
    holders.end()
    checker.check()
    print(f"seed {options.seed}: {kill} kills, {checker.acknowledged} acknowledgements, none lost; the fullest campaign "
          f"used {checker.fullest:.1%} of its limit")
    if not checker.is_enough(options.kills):
        sys.exit("too little happened to mean anything")


def main():
    options = parse()
    root = tempfile.mkdtemp(prefix="atoll-spending-")
    holders = Holders(options, root)
    try:
        run(options, holders, Checker(f"{root}/ledger", f"{root}/acks", options.limit), random.Random(options.seed))
    finally:
        holders.end()
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    main()
