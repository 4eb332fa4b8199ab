#!/usr/bin/env bash
# Static checks over every source of ours: static.sh format|tidy|cppcheck SOURCE BUILD
set -u
check=$1 source=$2 build=$3
cd "$source" || exit 1
mapfile -t files < <(find base core evolution archive-h5 llm-gateway mpi-eval scheduler tests bench -name '*.[ch]' \
    -not -path 'tests/fixtures/*' 2>/dev/null | sort)
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep '\.c$' | grep -v '^tests/\|^bench/')
need() {
    command -v "$1" >/dev/null || { echo "skipped: no $1 on this machine (./setup test installs it)"; exit 77; }
}
case $check in
    format)
        need clang-format-16
        printf '%s\0' "${files[@]}" | xargs -0 -n 64 -P "$(nproc)" clang-format-16 --dry-run -Werror || exit 1
        if grep -nE '\bsizeof +[^(]' "${files[@]}" | grep -vE '^[^:]+:[0-9]+: *"'; then # lists of words begin with a quote
            echo "sizeof has parentheses here: sizeof(x)"
            exit 1
        fi
        echo "${#files[@]} files are formatted"
        ;;
    tidy)
        need clang-tidy
        # A ninth of the paths that the analyzer would walk by itself: of 41 s (35 files) 22 are left, 4 without any.
        bound=(--extra-arg=-Wno-unknown-warning-option) # of gcc, whose commands these are
        for word in -analyzer-config max-nodes="${ATOLL_TIDY_NODES:-25000}"; do
            bound+=(--extra-arg=-Xclang --extra-arg="$word")
        done
        # A file of several programs is looked at once for each of its commands: once, where all define the same.
        once=$build/tests/tidy
        mkdir -p "$once"
        python3 - "$build/compile_commands.json" "$once/compile_commands.json" <<'END' || exit 1
import json, re, sys
rows = json.load(open(sys.argv[1]))
kept = {(row["file"], *sorted(re.findall(r" -[DU]\S+", row["command"]))): row for row in rows}
json.dump(list(kept.values()), open(sys.argv[2], "w"))
END
        # Eight to a process: each reads the commands of all files first, which takes as long as a file of middle size.
        printf '%s\0' "${sources[@]}" | xargs -0 -n 8 -P "$(nproc)" clang-tidy --quiet -p "$once" "${bound[@]}" 2>/dev/null
        status=$?
        echo "${#sources[@]} files"
        exit $status
        ;;
    cppcheck)
        need cppcheck
        # objectIndex: false for the lanes of a vector; -D: some files know the processors they run on, and what
        # jansson's loops are
        cppcheck --quiet --error-exitcode=1 --enable=warning,performance,portability --inline-suppr \
            --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress=uninitvar \
            --suppress=objectIndex --std=c11 -D_GNU_SOURCE -D__x86_64__ \
            '-Djson_array_foreach(a,i,v)=while ((i = json_array_size(a)) && (v = json_array_get(a, i)))' \
            '-Djson_object_foreach(o,k,v)=while ((k = json_first(o)) && (v = json_object_get(o, k)))' \
            -I. -j "$(nproc)" "${sources[@]}"
        ;;
esac
