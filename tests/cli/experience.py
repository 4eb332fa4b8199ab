#!/usr/bin/env python3
"""Hints from file to file: what comes with Atoll is listed, what others send is checked and merged, statistics of a campaign count
once, and what is refused changes nothing.

    experience.py BUILD SOURCE
"""
import atexit
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-experience-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)


def check(condition, message):
    if not condition:
        sys.exit(message)


def atoll(*words, status=0):
    result = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=240)
    check(result.returncode == status, f"atoll {' '.join(map(str, words))}: status {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout if status == 0 else result.stderr


def write(name, text):
    (root / name).write_text(text)
    return root / name


def hint(name, wins, advice="Do \\\"it\\\"."):
    return (f'{{"name": "{name}", "trigger": "limiter dram", "device": "hopper", "advice": "{advice} {name[0]}", '
            f'"statistics": {{"uses": 12, "outcomes": 10, "wins": {wins}, "expected": 8.0}}}}')


own = json.loads(atoll("experience", "list", "--json"))
check(len(own) >= 40, f"{len(own)} hints come with Atoll")
check(all(h["origin"] == "curated" and len(h["id"]) == 64 and h["confidence"] == 0.25 and h["lift"] == 1 and not h["dropped"] for h in own), own[0])
check(len(atoll("experience", "list").splitlines()) == len(own) + 1, "not a line per hint")
tasks = {h["name"]: h.get("category") or "all" for h in own}
lines = {line.split()[0]: line for line in atoll("experience", "list").splitlines()[1:]}
check(len(set(tasks.values())) > 4 and all(lines[name].endswith("  " + tasks[name]) for name in tasks), "the tasks that a hint is for")

# JSON into a new library, then YAML with a hint that is known; the same campaign again adds nothing.
campaign = "ab" * 32
first = write("first.json", f'{{"version": 1, "campaigns": ["{campaign}"], "hints": [{hint("a-1", 6)}, {hint("b-1", 0)}]}}')
library = root / "library.yaml"
told = json.loads(atoll("experience", "import", library, first, "--json"))
check(told == {"library": str(library), "hints": 2, "new": 2, "known": 0}, told)
bytes_then = library.read_bytes()
check("0 of them new, 2 were known" in atoll("experience", "import", library, first), "again")
check(library.read_bytes() == bytes_then, "a campaign counted twice")
second = write("second.yaml", 'version: 1\nhints:\n  - {name: a-2, trigger: dram, device: hopper, advice: "Do \\"it\\". a",\n'
               "     statistics: {uses: 5, outcomes: 5, wins: 3, expected: 1}}\n  - {name: c, trigger: error race, advice: Wait., origin: distilled}\n")
atoll("experience", "import", library, second)
rows = {h["name"]: h for h in json.loads(atoll("experience", "list", library, "--json"))}
check(sorted(rows) == ["a-1", "b-1", "c"], sorted(rows))
check(rows["a-1"]["statistics"] == {"uses": 17, "outcomes": 15, "wins": 9, "expected": 9, "gains": 0, "log_gain": 0}, rows["a-1"])
check(rows["b-1"]["dropped"] and not rows["a-1"]["dropped"] and rows["a-1"]["lift"] == 1, rows)
check(rows["a-1"]["origin"] == "imported" and rows["c"]["origin"] == "distilled", rows)
check("9 of 15, 1.0x" in atoll("experience", "list", library) and "dropped" in atoll("experience", "list", library), "list")

# What is refused names its line, and leaves the library as it is.
bytes_then = library.read_bytes()
for text, words in [("version: 1\nhints:\n  - {name: d, trigger: limiter dramm, advice: x}\n", ["bad.yaml:3:", "did you mean 'limiter dram'?"]),
                    ("version: 1\nhints:\n  - {name: d, trigger: dram, advice: x, colour: red}\n", ["bad.yaml:3:", "colour"]),
                    ("version: 1\nhints:\n  - {name: d, trigger: dram, advice: \"\\e[2J\"}\n", ["bad.yaml:3:", "control character"]),
                    ('{"version": 1, "hints": [', ["bad.yaml"])]:
    said = atoll("experience", "import", library, second, write("bad.yaml", text), status=65)
    check(all(word in said for word in words), said)
    check(library.read_bytes() == bytes_then, "a refused file changed the library")
check("no such file" in atoll("experience", "import", library, root / "none.yaml", status=66).lower(), "a file that is not there")
atoll("experience", "import", library, status=2)

# A run that asks no model opens the file, too: what is wrong with it is said before anything is made.
for name, status, word in [(root / "none.yaml", 66, "none.yaml"), (root / "bad.yaml", 65, "bad.yaml")]:
    said = atoll("run", f"{source}/suites/starter", "--only", "transpose", "--backend", "null", "--evaluations", 5, "-o", root / "never",
                 "--experience", name, status=status)
    check(word in said and not (root / "never").exists(), said)

# A campaign that asked no model has learned nothing; what is exported can be imported.
subprocess.run([f"{build}/tests/bin/sample_campaign", root], check=True, stdout=subprocess.DEVNULL)
check("hints: []" in atoll("experience", "export", root / "campaign"), "export")
atoll("experience", "export", root / "campaign", "--json", "-o", root / "out.json")
check(json.loads((root / "out.json").read_text())["hints"] == [], "JSON")
atoll("experience", "import", library, root / "out.json")
