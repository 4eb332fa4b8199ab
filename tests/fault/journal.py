"""An independent reader of journals (docs/spec/journal.md), the oracle of the kill tests: it shares no code with Atoll."""
import functools
import pathlib
import struct

MAGIC = b"ATLF"
EVENT = 129
EVALUATED, DUELLED, RIVAL = 4, 5, 13
RESULTS = (EVALUATED, DUELLED, RIVAL)
CAPACITY = 3


def table():
    rows = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        rows.append(value)
    return rows


TABLE = table()


@functools.cache  # journals are read again and again, and only their ends are new
def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def frames(data, check=False):
    """Yields (type, payload) of all whole frames; stops at a torn tail."""
    offset = 0
    while offset + 24 <= len(data):
        magic, version, kind, length, crc, _, _ = struct.unpack_from("<4sHHIIII", data, offset)
        if magic != MAGIC or offset + 24 + length > len(data):
            return
        payload = data[offset + 24:offset + 24 + length]
        if check and crc32c(payload) != crc:
            return
        yield kind, payload
        offset += 24 + length


def results(campaign, kinds=RESULTS):
    """Evaluation numbers of all results in the journals of a campaign, in order of attempts, doubles kept."""
    found = []
    journals = sorted(pathlib.Path(campaign).glob("jobs/*/journal.atl"), key=lambda p: int(p.parent.name.rsplit(".", 1)[1]))
    for path in journals:
        for kind, payload in frames(path.read_bytes()):
            if kind == EVENT and len(payload) >= 45 and payload[20] in kinds:
                found.append(struct.unpack_from("<Q", payload, 37)[0])
    return found


HEADER, CLOSE = 128, 133


class Attempt:
    """One journal: its header, how it was closed, and the offset up to which its successor lets it count."""

    def __init__(self, path):
        self.data, self.seal, self.reason = path.read_bytes(), None, None
        self.name = self.previous = ""
        for kind, payload in frames(self.data, check=True):
            if kind == HEADER:
                self.header(payload)
            if kind == CLOSE:
                self.reason = text_at(payload, 16)[0]

    def header(self, payload):
        _, at = text_at(payload, 16)  # durable bytes, schema, engine; the version of Atoll
        self.number, = struct.unpack_from("<I", payload, at + 32)
        self.name, at = text_at(payload, at + 36)
        self.previous, at = text_at(payload, at)
        self.sealed, = struct.unpack_from("<Q", payload, at)

    def results(self):
        return [struct.unpack_from("<Q", payload, 37)[0] for kind, payload in frames(self.data[:self.seal], check=True)
                if kind == EVENT and len(payload) >= 45 and payload[20] in RESULTS]


    def times(self, kinds=RESULTS):
        """Unix time, in seconds, of its events of these kinds."""
        return [struct.unpack_from("<q", payload, 29)[0] / 1e9 for kind, payload in frames(self.data[:self.seal], check=True)
                if kind == EVENT and len(payload) >= 37 and payload[20] in kinds]


def text_at(payload, at):
    length, = struct.unpack_from("<I", payload, at)
    return payload[at + 4:at + 4 + length].decode(), at + 4 + length


def attempts(campaign):
    """Those that count, in order: the chain of predecessors from the highest number back, each cut at its successor's seal."""
    found = {a.name: a for a in map(Attempt, pathlib.Path(campaign).glob("jobs/*/journal.atl")) if a.name}
    chain = sorted(found.values(), key=lambda a: a.number)[-1:]
    while chain and chain[0].previous:
        before = found[chain[0].previous]
        before.seal = chain[0].sealed
        chain.insert(0, before)
    return chain


def counted_results(campaign):
    return [n for attempt in attempts(campaign) for n in attempt.results()]
