#!/usr/bin/env python3
"""Warm timing from the option to the archive: one way for a campaign, said wherever times are, kept over a resume."""
import json
import pathlib
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]


def run(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=120)
    if result.returncode != status:
        sys.exit(f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result


def check(condition, message):
    if not condition:
        sys.exit(message)


def rows(archive, table):
    return [json.loads(line) for line in run("export", archive, "--jsonl", table).stdout.splitlines()]


with tempfile.TemporaryDirectory(prefix="atoll-timing-") as folder:
    suite = pathlib.Path(source, "suites/starter")
    said = run("run", suite, "-o", f"{folder}/none", "--timing", "hot", "--create-only", status=2).stderr
    check("'hot' is no way of timing; there are cold and warm" in said, said)
    check(not pathlib.Path(folder, "none").exists(), "a campaign was made all the same")
    for timing in ("cold", "warm"):
        campaign = pathlib.Path(folder, timing)
        run("run", suite, "--only", "prefix_sum", "-o", campaign, "--seed", 1, "--evaluations", 3, "--backend", "null", "-q",
            "--create-only", *(() if timing == "cold" else ("--timing", timing)))
        check(f'timing: "{timing}"' in (campaign / "campaign.yaml").read_text(), f"{timing}: campaign.yaml")
        run("resume", campaign, "-q")
        row = rows(campaign, "campaign")[0]
        check(row["timing"] in (timing, ["cold", "warm"].index(timing)), f"{timing}: the archive says {row['timing']}")
        candidate = rows(campaign, "candidates")[0]["id"]
        check(json.loads(run("show", campaign, candidate, "--json").stdout)["timing"] == timing, f"{timing}: show --json")
        check(f"timed with {timing} caches" in run("show", campaign, candidate).stdout, f"{timing}: show")
        check(f"timed with {timing} caches" in (campaign / "report.html").read_text(), f"{timing}: the report")
print("cold and warm campaigns say how they were timed")
