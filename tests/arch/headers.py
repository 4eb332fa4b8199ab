#!/usr/bin/env python3
"""Every header compiles alone."""
import pathlib
import subprocess
import sys

root, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]


def flags(package):
    out = subprocess.run(["pkg-config", "--cflags", package], capture_output=True, text=True)
    return out.stdout.split()


extra = {"archive-h5": flags("hdf5-serial") or flags("hdf5"), "mpi-eval": flags("ompi-c")}
bad = count = 0
has_slurm = subprocess.run([compiler, "-x", "c", "-fsyntax-only", "-"], input="#include <slurm/slurm.h>\n", capture_output=True,
                           text=True).returncode == 0
for folder in ("base", "core", "evolution", "archive-h5", "llm-gateway", "mpi-eval", "scheduler"):
    for header in sorted((root / folder).rglob("*.h")):
        relative = header.relative_to(root).as_posix()
        if not has_slurm and "#include <slurm/" in header.read_text():
            print(f"skipped: {relative} needs slurm/slurm.h (libslurm-dev)")
            continue
        run = subprocess.run([compiler, "-x", "c", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{root}",
                              *extra.get(folder, []), "-fsyntax-only", "-"], input=f'#include "{relative}"\n',
                             capture_output=True, text=True)
        count += 1
        if run.returncode:
            bad += 1
            print(f"{relative} does not compile alone:\n{run.stderr}")
print(f"{count} headers, {bad} bad")
sys.exit(1 if bad or not count else 0)
