"""An independent reader of journals (docs/spec/journal.md), the oracle of the kill tests: it shares no code with Atoll."""
import pathlib
import struct

MAGIC = b"ATLF"
EVENT = 129
EVALUATED, DUELLED = 4, 5


def table():
    rows = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        rows.append(value)
    return rows


TABLE = table()


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


def results(campaign):
    """Evaluation numbers of all results in the journals of a campaign, in order of attempts, doubles kept."""
    found = []
    journals = sorted(pathlib.Path(campaign).glob("jobs/*/journal.atl"), key=lambda p: int(p.parent.name.rsplit(".", 1)[1]))
    for path in journals:
        for kind, payload in frames(path.read_bytes()):
            if kind == EVENT and len(payload) >= 45 and payload[20] in (EVALUATED, DUELLED):
                found.append(struct.unpack_from("<Q", payload, 37)[0])
    return found
