#!/usr/bin/env python3
"""Campaigns that a real model took part in, kept with its answers: every decision is derived again, every prompt worded
again, every answer read again and found in the recording, bit for bit.  Only the engine that wrote them can do that: after
a change of its version a cassette has to be made anew (tests/fixtures/cassettes/README.md), and until then this is skipped,
which is said."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
cassettes = sorted(p for p in pathlib.Path(source, "tests/fixtures/cassettes").iterdir() if p.is_dir())
skipped = 0


def replay(folder, *more):
    return subprocess.run([f"{build}/atoll", "replay", folder, "--json", *map(str, more)], capture_output=True, text=True,
                          timeout=300)


def check(condition, message):
    if not condition:
        sys.exit(message)


def damaged(folder, recording, scratch):
    """A recording with one changed letter in an answer is noticed, or the test could not fail."""
    bytes_ = bytearray(recording.read_bytes())
    at = bytes_.index(b"atoll-plan", bytes_.rindex(b"```c"))
    bytes_[at] ^= 1
    changed = scratch / "changed.atl"
    changed.write_bytes(bytes_)
    check(replay(folder, "--gateway", f"replay:{changed}").returncode != 0, f"{folder}: a changed recording is believed")


check(cassettes, "no cassette in tests/fixtures/cassettes")
for cassette in cassettes:
    with tempfile.TemporaryDirectory(prefix="atoll-cassette-") as scratch:
        campaign = pathlib.Path(scratch, "campaign")
        shutil.copytree(cassette / "campaign", campaign)
        recording = cassette / "exchanges.sqlite"
        result = replay(campaign, "--gateway", f"replay:{recording}")
        if "was written by engine version" in result.stderr:
            print(f"skipped: {cassette.name}: {result.stderr.strip()}")
            skipped += 1
            continue
        check(result.returncode == 0, f"{cassette.name}: {result.stderr}")
        report = json.loads(result.stdout)
        expected = json.loads((cassette / "expected.json").read_text())
        check({k: report[k] for k in expected} == expected, f"{cassette.name}: {report} instead of {expected}")
        check(report["recorded"] == report["answers"] > 0, f"{cassette.name}: {report}")
        damaged(campaign, recording, pathlib.Path(scratch))
        header = (cassette / "README.md").read_text()
        check(re.search(r"^ *model: .+$", header, re.M) and re.search(r"^ *answered: \d{4}-\d{2}-\d{2}", header, re.M),
              f"{cassette.name}: README.md does not say which model answered and when")
        print(f"{cassette.name}: {report['decisions']} decisions, {report['prompts']} prompts, {report['recorded']} answers, equal")
sys.exit(77 if skipped == len(cassettes) else 0)
