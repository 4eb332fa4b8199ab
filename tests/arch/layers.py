#!/usr/bin/env python3
"""Who may include whom, from one table."""
import pathlib
import re
import sys

# folder -> folders whose headers it may include besides its own
MAY_INCLUDE = {
    "base": set(),
    "core": {"base"},
    "evolution": {"base", "core"},
    "archive-h5": {"base", "core"},
    "llm-gateway": {"base", "core"},
    "mpi-eval": {"base", "core", "evolution", "archive-h5", "llm-gateway"},
    "scheduler": {"base", "core", "evolution", "archive-h5", "llm-gateway", "mpi-eval"},
}

# foreign header -> the only folders that may include it
FOREIGN = [
    (r"mpi\.h", {"mpi-eval/comm"}),
    (r"hdf5\.h|H5.*\.h", {"archive-h5"}),
    (r"curl/.*", {"llm-gateway"}),
    (r"microhttpd\.h", {"llm-gateway"}),
    (r"sqlite3\.h", {"llm-gateway"}),
    (r"slurm/.*", {"scheduler/launcher/slurm"}),
    (r"cuda.*|nvrtc\.h|cupti.*|nvml\.h", {"mpi-eval/backend/cuda"}),
    (r"CL/.*", {"mpi-eval/backend/opencl"}),
    (r"jansson\.h", {"base", "core", "archive-h5", "llm-gateway", "scheduler", "mpi-eval"}),
    (r"yaml\.h|cyaml/.*", {"base"}),
    (r"sodium\.h", {"base", "llm-gateway"}),
    (r"seccomp\.h|linux/seccomp\.h|linux/landlock\.h", {"mpi-eval/backend/cpu", "mpi-eval/backend", "base"}),
    (r"hwloc.*", {"mpi-eval", "scheduler"}),
]

# folder -> folders of its own module whose headers it may not include, but for those named last
MAY_NOT_INCLUDE = [
    ("mpi-eval/referee", "mpi-eval/backend", ()),  # it knows backends by their table (referee/backend.h) alone
    ("mpi-eval/backend/cpu", "mpi-eval/backend/cuda", ()),
    ("mpi-eval/backend/cuda", "mpi-eval/backend/cpu", ()),
    ("mpi-eval/backend/sandbox", "mpi-eval/backend", ("mpi-eval/backend/sandbox",)),
    ("mpi-eval/backend/compile", "mpi-eval/backend", ("mpi-eval/backend/compile", "mpi-eval/backend/sandbox")),
]

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def complaints_of(path, text):
    """Yields (line, message) for one file; path is relative to the repository."""
    folder = path.split("/", 1)[0]
    if folder not in MAY_INCLUDE:
        return
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        if kind == '"':
            if "/" not in name:
                yield number, f'include "{name}" by its path from the repository root'
                continue
            other = name.split("/", 1)[0]
            if other != folder and other not in MAY_INCLUDE[folder]:
                yield number, f'{folder} may not include "{name}"'
            for room, others, but in MAY_NOT_INCLUDE:
                if (path.startswith(room + "/") and name.startswith(others + "/")
                        and not any(name.startswith(b + "/") for b in but)):
                    yield number, f'{room} may not include "{name}"'
        for pattern, owners in FOREIGN:
            if re.fullmatch(pattern, name) and not any(path.startswith(o + "/") for o in owners):
                yield number, f"<{name}> belongs to {', '.join(sorted(owners))} alone"


def selftest():
    cases = [
        ("core/a.c", '#include "evolution/engine/engine.h"', 1),
        ("core/a.c", '#include "base/err.h"', 0),
        ("core/a.c", '#include "err.h"', 1),
        ("evolution/a.c", '#include "archive-h5/journal/journal.h"', 1),
        ("archive-h5/a.c", "#include <hdf5.h>", 0),
        ("evolution/a.c", "  #  include <hdf5.h>", 1),
        ("mpi-eval/coordinator/coordinator.c", "#include <mpi.h>", 1),
        ("mpi-eval/comm/mpi_peers.c", "#include <mpi.h>", 0),
        ("scheduler/cli/run.c", '#include "mpi-eval/coordinator/replay.h"', 0),
        ("mpi-eval/a.c", '#include "scheduler/run.h"', 1),
        ("mpi-eval/referee/admit.c", '#include "mpi-eval/backend/cpu/measure/state.h"', 1),
        ("mpi-eval/backend/cpu/measure/trial.c", '#include "mpi-eval/referee/trial.h"', 0),
        ("mpi-eval/backend/cuda/process/worker.c", '#include "mpi-eval/backend/cpu/process/runner.h"', 1),
        ("mpi-eval/backend/cuda/process/worker.c", '#include "mpi-eval/backend/sandbox/spawn.h"', 0),
    ]
    for path, text, expected in cases:
        found = len(list(complaints_of(path, text)))
        if found != expected:
            sys.exit(f"selftest: {path}: {text}: {found} complaints, expected {expected}")


def main():
    if sys.argv[1] == "--selftest":
        return selftest()
    root = pathlib.Path(sys.argv[1])
    bad = files = 0
    for folder in MAY_INCLUDE:
        for path in sorted((root / folder).rglob("*.[ch]")):
            files += 1
            relative = path.relative_to(root).as_posix()
            for line, message in complaints_of(relative, path.read_text()):
                print(f"{relative}:{line}: {message}")
                bad += 1
    print(f"{files} files, {bad} complaints")
    sys.exit(1 if bad or not files else 0)


main()
