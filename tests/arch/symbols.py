#!/usr/bin/env python3
"""What a library of ours exports starts with atoll_, and no other one exports it, too."""
import os
import pathlib
import subprocess
import sys

build = pathlib.Path(sys.argv[1])
bad = count = 0
owners = {}
libraries = (pathlib.Path(folder, name) for folder, _, names in os.walk(build)  # other tests make and remove folders meanwhile
             for name in names if name.startswith("libatoll_") and name.endswith(".a"))
for library in sorted(libraries):
    out = subprocess.run(["nm", "--defined-only", "--extern-only", "--format=posix", str(library)], capture_output=True,
                         text=True, check=True).stdout
    for line in out.splitlines():
        fields = line.split()
        if len(fields) < 2 or fields[0].endswith(":"):
            continue
        count += 1
        name = fields[0]
        if not name.startswith(("atoll_", "__asan", "__odr_asan", "__ubsan", "__tsan")):
            bad += 1
            print(f"{library.name}: exported symbol {name} does not start with atoll_")
        owner = owners.setdefault(name, library.name)
        if owner != library.name and not name.startswith("__"):
            bad += 1
            print(f"{library.name}: {owner} exports {name} as well; a program would get either")
print(f"{count} exported symbols, {bad} bad")
sys.exit(1 if bad or not count else 0)
