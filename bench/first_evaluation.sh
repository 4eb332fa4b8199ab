#!/usr/bin/env bash
# Time from the start of atoll-eval to the first durable evaluation: bench/first_evaluation.sh [BUILD] [REPEATS]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$here/build}" && pwd)
repeats=${2:-5}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for i in $(seq "$repeats"); do
    "$build/atoll" run "$here/suites/starter" -o "$scratch/c$i" --create-only --seed 1 >/dev/null
    start=$(date +%s.%N)
    "$build/atoll-eval" --local --ack-log "$scratch/acks$i" "$scratch/c$i" 2>"$scratch/log$i" &
    pid=$!
    for _ in $(seq 2000); do
        [ -s "$scratch/acks$i" ] && break
        sleep 0.005
    done
    end=$(date +%s.%N)
    kill -9 $pid 2>/dev/null || true
    wait $pid 2>/dev/null || true
    awk -v a="$start" -v b="$end" 'BEGIN {printf "first durable evaluation after %.2f s\n", b - a}'
done
