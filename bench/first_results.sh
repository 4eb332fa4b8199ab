#!/usr/bin/env bash
# When each task of a suite had its first result, and how many it had in the end:
#   bench/first_results.sh [BUILD [SUITE [SECONDS [OPTION ...]]]]
# OPTIONs go to `atoll run`.  The compile cache and all scratch are new.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$here/build}" && pwd)
suite=${2:-$here/suites/starter}
seconds=${3:-60}
shift $(($# < 3 ? $# : 3))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/scratch"
ATOLL_SCRATCH=$scratch/scratch "$build/atoll" run "$suite" -o "$scratch/c" --seconds "$seconds" --seed 1 "$@" >"$scratch/out" 2>&1 ||
    { tail -20 "$scratch/out"; exit 1; }
for table in tasks evaluations rivals; do
    "$build/atoll" export "$scratch/c" --jsonl $table >"$scratch/$table" 2>/dev/null || : >"$scratch/$table"
done
grep -h eval.referee.account "$scratch/c/log" | tail -1 | sed 's/.*account *//' || :
python3 - "$scratch" <<'EOF'
import json
import statistics
import sys

rows = {t: [json.loads(line) for line in open(f"{sys.argv[1]}/{t}")] for t in ("tasks", "evaluations", "rivals")}
tried = [e for e in rows["evaluations"] if e["level"]]
firsts = []
for i, task in enumerate(rows["tasks"]):
    own = sorted(e["campaign_ns"] / 1e9 for e in tried if e["task"] == i)
    rival = sorted(r["campaign_ns"] / 1e9 for r in rows["rivals"] if r["task"] == i)
    firsts.append(own[0] if own else float("inf"))
    print(f"{task['name']:24} {'%7.2f s' % own[0] if own else '   never '}  {len(own):5} evaluations"
          + (f", first rival {rival[0]:7.2f} s" if rival else ""))
counts = sorted(sum(e["task"] == i for e in tried) for i in range(len(firsts)))
print(f"first results: median {statistics.median(firsts):.2f} s, last {max(firsts):.2f} s; evaluations a task: median "
      f"{statistics.median(counts)}, least {counts[0]}, all {sum(counts)}")
EOF
