"""An independent reader of a gateway's ledger and store (docs/spec/gateway.md), the oracle of the gateway's tests: it shares no
code with Atoll."""
import collections
import math
import pathlib
import struct
from fractions import Fraction

import spending

FINAL = {0, 1, 2, 3}  # ok, truncated, empty, refused: what asking again would only repeat


class Reservation:
    def __init__(self, number, money, tokens, request, campaign):
        self.number, self.money, self.tokens, self.request, self.campaign = number, money, tokens, request, campaign
        self.settled = None  # (money, tokens)
        self.is_unknown = self.is_excused = False

    def used(self):
        return self.settled or (self.money, self.tokens)


class Ledger:
    """All reservations of all holders, by number; read() may be called again while they live."""

    def __init__(self, folder):
        self.folder, self.files, self.rows = pathlib.Path(folder), {}, {}
        self.accounts = collections.defaultdict(list)  # by file
        self.sums = collections.Counter()              # spent, reserved and unknown money by campaign
        self.used = collections.Counter()              # the same by file and campaign
        self.covers = collections.defaultdict(dict)    # by file, campaign: money that may be used before a sync
        self.lost = collections.Counter()              # of these sums, what machines that stopped may have lost
        self.highest = collections.Counter()           # of these, at any record read so far

    def read(self):
        for path in sorted((self.folder / "holders").glob("*.atl")):
            frames = self.files.setdefault(path, spending.Frames(path))
            for kind, payload in frames.more():
                self.take(path, kind, payload)
        return self

    def take(self, path, kind, p):
        if kind == 145:
            self.accounts[path].append(spending.account(p))
        elif kind == 146:
            number, _, money, tokens = struct.unpack_from("<QqQQ", p)
            assert number not in self.rows, f"reservation {number} was made twice"
            campaign = self.accounts[path][struct.unpack_from("<I", p, 32)[0]][1]
            self.rows[number] = row = Reservation(number, money, tokens, p[48:80].hex(), campaign)
            row.path = path
            self.add(row, money)
        elif kind == 147:
            number, money, tokens = struct.unpack("<QQQ", p)
            row = self.rows[number]
            assert row.settled is None, f"reservation {number} was settled twice"
            self.add(row, money - row.money)
            row.settled = money, tokens
        elif kind == 148:
            self.rows[struct.unpack("<Q", p)[0]].is_excused = True
        elif kind == 150:
            number, money, _ = struct.unpack("<IQQ", p)
            scope, name, _ = self.accounts[path][number]
            if scope == 0:
                self.covers[path][name] = money
        elif kind in (149, 151):
            self.begin_life(path, kind == 151 and p[8])

    def begin_life(self, path, is_lost):
        for row in self.rows.values():
            row.is_unknown |= row.path == path and row.settled is None
        for campaign, money in self.covers.pop(path, {}).items():
            lost = money - self.used[path, campaign]
            if is_lost and lost > 0:
                self.lost[campaign] += lost
                self.charge(path, campaign, lost)

    def add(self, row, money):
        self.charge(row.path, row.campaign, money)

    def charge(self, path, campaign, money):
        self.sums[campaign] += money
        self.used[path, campaign] += money
        self.highest[campaign] = max(self.highest[campaign], self.sums[campaign])

    def by_request(self):
        found = collections.defaultdict(list)
        for row in self.rows.values():
            found[row.request].append(row)
        return found


def exchanges(path):
    """(reservation, id, status, key, request as JSON text) of all whole records of a store; checksums are the ledger's matter."""
    data = pathlib.Path(path).read_bytes()
    at = 0
    while len(data) - at >= 24:
        magic, _, kind, length, _, _, _ = struct.unpack_from("<4sHHIIII", data, at)
        if magic != b"ATLF" or len(data) - at - 24 < length:
            return
        p = data[at + 40:at + 24 + length]
        at += 24 + length
        if kind == 161:
            reservation, = struct.unpack_from("<Q", p)
            status, = struct.unpack_from("<I", p, 40)
            key, end = spending.text(p, 44)
            yield reservation, p[8:40].hex(), status, key, spending.text(p, end)[0]


class Price:
    """Dollars per million tokens, exactly as they stand in the file; money in whole nanodollars, rounded up per call."""

    def __init__(self, input, cached_input, output):
        self.texts = {"input": input, "cached_input": cached_input, "output": output}
        self.nano = {name: Fraction(text) * 1000 for name, text in self.texts.items()}

    def cost(self, input, output, cached=0):
        nano = (input - cached) * self.nano["input"] + cached * self.nano["cached_input"] + output * self.nano["output"]
        return math.ceil(nano)
