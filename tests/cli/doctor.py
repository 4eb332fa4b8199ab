#!/usr/bin/env python3
"""atoll doctor: with whatever this machine has, and with a driver that crashes whoever opens it."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

build = sys.argv[1]


def doctor(*words, environment=None):
    result = subprocess.run([f"{build}/atoll", "doctor", *words], capture_output=True, text=True, timeout=300,
                            env={**os.environ, **(environment or {})})
    return result.returncode, result.stdout


def check(condition, message):
    if not condition:
        sys.exit(message)


status, text = doctor("--json")
found = json.loads(text)
devices = found.pop("devices")
for name, finding in found.items():
    check(set(finding) == {"ok", "needed", "text"} and finding["text"], f"{name}: {finding}")
for name in ("torch", "driver", "nvrtc", "cupti", "nvml", "compute-sanitizer", "atoll-worker-cuda", "atoll-compile-cuda"):
    check(name in found, f"nothing is said of {name}")
check(status == (0 if all(f["ok"] for f in found.values() if f["needed"]) else 1), f"status {status}: {found}")
if not found["driver"]["ok"]:
    check(devices == [], "devices without a driver")
    check("GPU" in found["driver"]["text"], f"no remedy: {found['driver']['text']}")
for device in devices:
    for name in ("model", "uuid", "compute_capability", "memory_bytes", "counters", "held", "host_memory"):
        check(name in device, f"a device lacks {name}: {device}")
status, text = doctor()
check(("--   driver" in text) == (not found["driver"]["ok"]), f"the driver is not said to be missing:\n{text}")

with tempfile.TemporaryDirectory(prefix="atoll-doctor-") as folder:
    source = pathlib.Path(folder, "broken.c")
    source.write_text("#include <stdlib.h>\n__attribute__((constructor)) static void begin(void) { abort(); }\n")
    library = str(pathlib.Path(folder, "libcuda.so.1"))
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", library, str(source)]).returncode != 0:
        print("no cc: the broken driver was not tried")
        sys.exit(77)
    status, text = doctor(environment={"LD_LIBRARY_PATH": folder})
    check(status == 1 and "crashed the process that asked it" in text, f"a broken driver: status {status}\n{text}")
print(f"{len(devices)} devices, driver: {found['driver']['text'][:60]}")
