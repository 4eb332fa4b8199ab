#!/usr/bin/env python3
"""Campaigns that a real model took part in, kept with its answers: every decision is derived again, every prompt worded
again, every answer read again and found in the recording, bit for bit.  Only the engine that wrote them can do that: those of
earlier versions are fixtures of the reader, which finds every decision and every answer in them; of this version there is one
at least (tests/fixtures/cassettes/README.md)."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
cassettes = sorted(p for p in pathlib.Path(source, "tests/fixtures/cassettes").iterdir() if p.is_dir())
replayed = 0
# Who is asked what, in those of this version together.
AGENTS = {"write/universal", "plan/plan", "write/execute", "analyse/staged", "analyse/plan", "order/staged", "write/staged", "write/extract",
          "write/template", "summarise/plan", "distil/plan", "meta/plan", "judge/plan", "write/initialise", "tools"}
agents = set()


def replay(folder, *more):
    return subprocess.run([f"{build}/atoll", "replay", folder, "--json", *map(str, more)], capture_output=True, text=True,
                          timeout=300)


def check(condition, message):
    if not condition:
        sys.exit(message)


def damaged(folder, recording, scratch):
    """A recording with one changed letter in an answer is noticed, or the test could not fail."""
    bytes_ = bytearray(recording.read_bytes())
    at = bytes_.index(b"atoll-plan", bytes_.rindex(b"```c\n"))  # those of requests have their line ends escaped
    bytes_[at] ^= 1
    changed = scratch / "changed.atl"
    changed.write_bytes(bytes_)
    check(replay(folder, "--gateway", f"replay:{changed}").returncode != 0, f"{folder}: a changed recording is believed")


def read(cassette, campaign):
    """Journals of an earlier engine are whole, and what they hold is found."""
    def atoll(*words):
        return subprocess.run([f"{build}/atoll", *map(str, words)], check=True, capture_output=True, text=True, timeout=300).stdout

    expected = json.loads((cassette / "expected.json").read_text())
    check("0 problems" in atoll("verify", campaign), f"{cassette.name}: verify")
    decisions = atoll("export", campaign, "--csv", "decisions").count("\n") - 1
    asks = [json.loads(line) for line in atoll("export", campaign, "--jsonl", "asks").splitlines()]
    answers = sum(1 for ask in asks if ask["answer"])
    check((decisions, answers) == (expected["decisions"], expected["answers"]),
          f"{cassette.name}: {decisions} decisions and {answers} answers instead of {expected}")
    if cassette.name == "starter-h200":  # what follows from a GPU's counters is told of its archive, too
        best = [task["diagnosis"] for task in json.loads(atoll("best", campaign, "--json")) if task["diagnosis"]]
        check(best and all(0 < d["next_stall_percent"] <= d["stall_percent"] for d in best), f"second reasons to wait: {best}")
    print(f"{cassette.name}: of an earlier engine; {decisions} decisions and {answers} answers are read")


def agents_of(campaign):
    """Whose answers are in it, and whether tools were called."""
    def rows(table):
        said = subprocess.run([f"{build}/atoll", "export", campaign, "--jsonl", table], check=True, capture_output=True, text=True,
                              timeout=300)
        return [json.loads(line) for line in said.stdout.splitlines()]
    found = {f"{ask['kind']}/{ask['operator']}" for ask in rows("asks") if ask["status"] == "ok" and ask["answer"]}
    return found | ({"tools"} if rows("tool_calls") else set())


check(cassettes, "no cassette in tests/fixtures/cassettes")
for cassette in cassettes:
    with tempfile.TemporaryDirectory(prefix="atoll-cassette-") as scratch:
        campaign = pathlib.Path(scratch, cassette.name, "campaign")
        shutil.copytree(cassette / "campaign", campaign)
        if (cassette.parent / "knowledge.json").exists():  # of those that were told the same
            shutil.copy(cassette.parent / "knowledge.json", scratch)
        recording = cassette / "exchanges.sqlite"
        result = replay(campaign, "--gateway", f"replay:{recording}")
        if "was written by engine version" in result.stderr:
            read(cassette, campaign)
            continue
        check(result.returncode == 0, f"{cassette.name}: {result.stderr}")
        report = json.loads(result.stdout)
        expected = json.loads((cassette / "expected.json").read_text())
        report["prompts"] += report["other_prompts"]  # of another wording: only what was decided is compared
        check({k: report[k] for k in expected} == expected, f"{cassette.name}: {report} instead of {expected}")
        check(report["recorded"] == report["answers"] > 0, f"{cassette.name}: {report}")
        damaged(campaign, recording, pathlib.Path(scratch))
        header = (cassette / "README.md").read_text()
        check(re.search(r"^ *model: .+$", header, re.M) and re.search(r"^ *answered: \d{4}-\d{2}-\d{2}", header, re.M),
              f"{cassette.name}: README.md does not say which model answered and when")
        replayed += 1
        agents |= agents_of(campaign)
        print(f"{cassette.name}: {report['decisions']} decisions, {report['prompts']} prompts, {report['recorded']} answers, equal")
check(replayed, "no cassette is of this engine's version: make one (tests/fixtures/cassettes/README.md)")
check(agents >= AGENTS, f"no cassette of this engine's version holds an answer of {', '.join(sorted(AGENTS - agents))}")
