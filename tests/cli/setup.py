#!/usr/bin/env python3
"""./setup says what it does from its first second on, and why it cannot go on.  Installer and builder are stand-ins.  Usage: setup.py SOURCE"""
import os
import pathlib
import subprocess
import sys
import tempfile

source = os.path.abspath(sys.argv[1])


def run(folder, apt_status):
    tools = pathlib.Path(folder) / "tools"
    tools.mkdir(exist_ok=True)
    apt = ["echo '0 upgraded, 25 newly installed, 0 to remove and 3 not upgraded.'", "for i in $(seq 25); do echo \"Get:$i http://x y\"; done",
           "for i in $(seq 25); do echo 'Unpacking y'; done", "echo 'E: no such package' >&2", f"exit {apt_status}"]
    for name, lines in {"apt-get": apt, "cmake": ["exit 0"], "pkg-config": ["exit 1"], "sudo": ['shift; exec "$@"']}.items():
        (tools / name).write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
        (tools / name).chmod(0o755)
    return subprocess.run([f"{source}/setup", "build"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "ATOLL_BUILD": f"{folder}/build"})


with tempfile.TemporaryDirectory(prefix="atoll-setup-") as folder:
    done = run(folder, 0)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[0].endswith("] looking at what is installed"), lines
    for words in ("installing with apt: libjansson-dev", "reading the lists", "downloaded 20 of 25 packages", "unpacked 10 of 25", "configuring",
                  "building", "built"):
        assert any(words in line for line in lines), f"nothing said of '{words}': {lines}"
    done = run(folder, 100)
    assert done.returncode == 69 and "E: no such package" in done.stderr, (done.returncode, done.stderr)
    assert sorted(p.name for p in pathlib.Path(folder).iterdir()) == ["tools"], "something was left"
