#!/usr/bin/env python3
"""bench/gpu/prove: rows that end, fail, want another call or more time than is left; a campaign in pieces; the rows that are kept."""
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

build, source = sys.argv[1], pathlib.Path(sys.argv[2])
prove = source / "bench/gpu/prove"


def check(condition, message):
    if not condition:
        sys.exit(message)


def call(*words, status):
    environment = {k: v for k, v in os.environ.items() if k != "KERNELBENCH"} | {"ATOLL_BUILD": build}
    result = subprocess.run([prove, *map(str, words)], capture_output=True, text=True, timeout=120, env=environment)
    check(result.returncode == status, f"{words}: status {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


with tempfile.TemporaryDirectory(prefix="atoll-prove-") as scratch:
    folder, rows = pathlib.Path(scratch, "out"), pathlib.Path(scratch, "rows")
    check("mix-none" in call(folder, "--list", status=0) and not folder.exists(), "the rows that are kept")

    rows.write_text("# a comment\nends | 1 | echo $LEFT >$DIR/left\nfails | 1 | exit 3\ntwice | 1 | [ -e $DIR/once ] && exit 0; touch $DIR/once; exit 75\n"
                    "long | 1 | trap 'touch $DIR/ended; exit 1' TERM; sleep 60 & wait\ndear | 500 | true\nabsent | 1 | ls $KERNELBENCH\n")
    said = call(folder, "--rows", rows, "--seconds", "18", "--pack", pathlib.Path(scratch, "all.tar.gz"), status=1)
    for part in ("ends: done", "fails: failed", "twice: open", "long: open", "dear: 500 s wanted", "absent: left out, KERNELBENCH", "1 done, 4 open, 1 failed"):
        check(part in said, f"'{part}' is not in {said}")
    check(0 < int((folder / "ends/left").read_text()) <= 18 and (folder / "long/ended").exists(), "a command is told its time, and asked to end")
    with tarfile.open(pathlib.Path(scratch, "all.tar.gz")) as archive:
        check({"ends/log", "ends/state", "fails/log", "long/ended"} <= set(archive.getnames()), archive.getnames())
    said = call(folder, "--rows", rows, "--seconds", "20", "twice", status=1)
    check("twice: done" in said and "ends" not in said and "2 done" in said, said)
    check("status 3" in (folder / "fails/log").read_text(), "a failure's log")
    check("no row 'none'" in call(folder, "--rows", rows, "none", status=1), "a row of nobody")

    # Side by side: each sees its GPU, one waits for what it reads, one wants both.
    rows.write_text("both | 1x2 | echo ${CUDA_VISIBLE_DEVICES-all} >$DIR/seen; cat $DIR/../reads/seen\nreads | 1 | cat $DIR/../left/seen >$DIR/seen\n"
                    + "".join(f"{name} | 1 | touch $DIR/begun; while [ ! -e $DIR/../{other}/begun ]; do sleep 0.1; done; sleep 0.5; "
                              f"echo $CUDA_VISIBLE_DEVICES >$DIR/seen\n" for name, other in (("left", "$OTHER"), ("right", "left")))
                    .replace("$DIR/../$OTHER", "${DIR%/*}/right").replace("$DIR/../left/begun", "${DIR%/*}/left/begun"))
    said = call(folder / "pairs", "--rows", rows, "--gpus", "2", "--seconds", "40", status=0)
    seen = {name: (folder / "pairs" / name / "seen").read_text().strip() for name in ("left", "right", "reads", "both")}
    check({seen["left"], seen["right"]} == {"0", "1"} and seen["reads"] == seen["left"] and seen["both"] == "all", f"{seen} {said}")
    for text, what in (("a | b | c\n", "NAME | SECONDS | COMMAND"), ("a | 1 | b\na | 1 | c\n", "'a' is there twice")):
        rows.write_text(text)
        check(f"rows:{text.count(chr(10))}: " in call(folder, "--rows", rows, status=1) and what in call(folder, "--rows", rows, status=1), text)

    # A campaign in pieces: interrupted in order, gone on with, ended.
    campaign = pathlib.Path(scratch, "campaign")
    words = [source / "bench/gpu/piece", campaign, "600", source / "suites/starter", "--only", "softmax_rows", "--backend", "null", "--evaluations", "2000", "--quiet"]
    statuses = []
    for left in ("3", "100"):
        statuses.append(subprocess.run(words, env=dict(os.environ, ATOLL_BUILD=build, LEFT=left), stdout=subprocess.DEVNULL, timeout=200).returncode)
        check((campaign / "campaign.yaml").exists(), f"no campaign after {left} s")
    check(statuses[-1] == 0 and statuses[0] in (0, 75), f"pieces ended with {statuses}")
