#!/usr/bin/env python3
"""What constraints in C say of results is so: their wrong code is run and gives a wrong one or dies, their right code gives the right one.
Each has a driver in tests/fixtures/knowledge/results; one without is a failure, and so is a driver of nobody.

    knowledge_results.py BUILD SOURCE"""
import json
import pathlib
import subprocess
import sys
import tempfile

build, source = sys.argv[1:3]
drivers = pathlib.Path(source, "tests/fixtures/knowledge/results")
FLAGS = ["-std=gnu11", "-O3", "-march=native", "-fopenmp-simd", "-ffp-contract=fast", "-fno-math-errno", "-w", "-pthread"]
TRY_S = 60


def run(entry, part, folder):
    """None, or what is not as the entry says."""
    text, program = folder / f"{entry['id']}.{part}.c", folder / f"{entry['id']}.{part}"
    text.write_text(entry[part])
    words = ["cc", *FLAGS, *(["-DRIGHT"] if part == "right" else []), f'-DCODE="{text}"', drivers / f"{entry['id']}.c", "-o", program]
    compiled = subprocess.run(words, capture_output=True, text=True)
    if compiled.returncode != 0:
        return f"does not compile:\n{compiled.stderr}"
    ran = subprocess.run([program], capture_output=True, text=True, timeout=TRY_S)
    if ran.returncode == 99:
        return "the driver had no memory or no thread"
    if part == "right":
        return f"status {ran.returncode}: {ran.stdout}" if ran.returncode else None
    died = ran.returncode < 0
    if entry["message"] == "segmentation_fault" and not died:
        return f"status {ran.returncode} instead of a fault"
    return None if died or ran.returncode == 1 else "the result is right"


listed = json.loads(subprocess.run([f"{build}/atoll", "knowledge", "list", "--json"], capture_output=True, text=True, check=True).stdout)
entries = [e for e in listed if e.get("fails") == "result" and e.get("language") == ["c"]]
ours, driven = {e["id"] for e in entries}, {path.stem for path in drivers.glob("*.c")}
failures = [f"{name}: no driver in {drivers}" for name in sorted(ours - driven)]
failures += [f"{drivers}/{name}.c: no constraint of that name whose result is wrong" for name in sorted(driven - ours)]
features = set(pathlib.Path("/proc/cpuinfo").read_text().split())
with tempfile.TemporaryDirectory(prefix="atoll-results-") as folder:
    for entry in entries:
        if entry["id"] not in driven:
            continue
        words = (drivers / f"{entry['id']}.c").read_text().split("\n", 1)[0].split()
        missing = [w for w in words[2:] if w not in features] if words[1] == "needs:" else []
        if missing:
            print(f"skipped: {entry['id']}: this processor has no {', '.join(missing)}")
            continue
        for part in ("wrong", "right"):
            said = run(entry, part, pathlib.Path(folder))
            if said:
                failures.append(f"{entry['id']}, {part}: {said}")
print(f"{len(entries)} constraints, {len(failures)} failures")
sys.exit("\n".join(failures) if failures else 0)
