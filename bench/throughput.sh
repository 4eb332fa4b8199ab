#!/usr/bin/env bash
# bench_throughput on N GPUs at once, one process each on an equal share of the cores, against one GPU with the same share:
#   bench/throughput.sh N [BUILD] [OUT] [OPTION OF bench_throughput...]
# OUT (a folder, default .) gets the output and JSON of each process.  All warm up, then start the same mix together.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
gpus=${1:?usage: throughput.sh N [BUILD] [OUT] [OPTION...]}
build=$(cd "${2:-$here/build}" && pwd)
mkdir -p "${3:-.}"
out=$(cd "${3:-.}" && pwd)
shift $(($# < 3 ? $# : 3))
cd "$here"
mapfile -t cores < <(taskset -cp $$ | sed 's/.*: *//' | tr ',' '\n' |
    awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
share=$((${#cores[@]} / gpus))
[ "$share" -ge 1 ] || { echo "throughput.sh: ${#cores[@]} cores are too few for $gpus processes" >&2; exit 1; }

# run NAME COUNT: processes for GPUs 0 to COUNT-1; adds their totals up
run() {
    local name=$1 count=$2 pids=() scratch i list failed=0
    shift 2
    scratch=$(mktemp -d)
    for ((i = 0; i < count; i++)); do
        list=$(IFS=,; echo "${cores[*]:i * share:share}")
        taskset -c "$list" "$build/bench/bench_throughput" --gpu "$i" --barrier "$scratch" \
            --json "$out/$name.gpu$i.json" "$@" >"$out/$name.gpu$i.txt" 2>&1 &
        pids+=($!)
    done
    while [ "$(find "$scratch" -name 'ready.*' | wc -l)" -lt "$count" ]; do
        for i in "${pids[@]}"; do
            kill -0 "$i" 2>/dev/null || failed=1
        done
        [ $failed = 0 ] || break
        sleep 0.05
    done
    [ $failed = 0 ] || kill "${pids[@]}" 2>/dev/null || true
    touch "$scratch/go"
    for i in "${pids[@]}"; do
        wait "$i" || failed=1
    done
    rm -rf "$scratch"
    if [ $failed != 0 ]; then
        echo "throughput.sh: a process failed:" >&2
        tail -n 3 "$out/$name".gpu*.txt >&2
        return 1
    fi
    awk '$1 == "total" { n += $2; w = $3 > w ? $3 : w; r += $2 / $3; o += $4; c += $5; k++ }
         END { printf "%d %.3f %.1f %.1f %.4f %.4f\n", n, w, 3600 * r, 3600 * n / w, o / k, c / k }' \
        "$out/$name".gpu*.txt >"$out/$name.total"
}

rm -f "$out"/one.gpu*.txt "$out"/all.gpu*.txt
run one 1 "$@"
read -r _ _ one _ occupied candidate <"$out/one.total"
printf '1 GPU:  %s candidates per hour, occupied %s, candidates %s\n' "$one" "$occupied" "$candidate"
if [ "$gpus" -gt 1 ]; then
    run all "$gpus" "$@"
    read -r count wall sum slowest occupied candidate <"$out/all.total"
    printf '%s GPUs: %s candidates in %s s, %s per hour (by the last one to end %s), occupied %s, candidates %s\n' \
        "$gpus" "$count" "$wall" "$sum" "$slowest" "$occupied" "$candidate"
    awk -v n="$gpus" -v one="$one" -v sum="$sum" -v slow="$slowest" 'BEGIN {
        printf "scaling efficiency: %.1f %% (by the last one to end %.1f %%)\n", 100 * sum / one / n, 100 * slow / one / n }'
fi
