#!/usr/bin/env python3
"""Submitted campaigns on this machine, as a person meets them: submit, status, watch, pause, continue, cancel, resume, queue, and
every command that reads an archive.  campaign.py BUILD SOURCE"""
import atexit
import csv
import io
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 400
build, source = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
root = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="atoll-campaign-")))
atexit.register(shutil.rmtree, root, ignore_errors=True)
os.environ["OMPI_MCA_orte_tmpdir_base"] = str(root)  # an mpirun that is killed leaves its files here
environment = {**os.environ, "ATOLL_QUEUE": str(root / "queue"), "XDG_STATE_HOME": str(root / "state")}
environment.pop("ATOLL_SITE", None)


def fail(text):
    sys.exit(f"{text}\n" + "".join(f"--- {p}\n{p.read_text(errors='replace')[-1500:]}" for p in sorted(root.glob("*/log/*"))[-4:]))


def check(condition, text):
    if not condition:
        fail(text)


def run(*words, status=0, **options):
    done = subprocess.run([f"{build}/atoll", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S, cwd=root,
                          **{"env": environment, **options})
    if done.returncode != status:
        fail(f"atoll {' '.join(map(str, words))}: status {done.returncode}, not {status}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout + (done.stderr if status else "")


def slow_site():
    """This machine, with a null backend that waits for each result as a device would."""
    profile = root / "slow.yaml"
    add = r's/^options:.*/&\n  sample-device: "20ms"/'
    profile.write_text(pathlib.Path(f"{source}/jobscripts/sites/local.yaml").read_text() + "setup:\n" +
                       f"  - 'for f in parts/*/campaign.yaml; do grep -q sample-device \"$f\" || sed -i {json.dumps(add)} \"$f\"; done'\n")
    return profile


def submit(name, *words, status=0, tasks=("transpose", "row_reduce"), evaluations=60, site="local"):
    only = [word for task in tasks for word in ("--only", task)]
    return run("submit", f"{source}/suites/starter", *only, "--backend", "null", "--site", site, "--time", "10m", "--seconds",
               "400", "--evaluations", evaluations, "--seed", 5, "-o", name, *words, status=status)


def status_of(name):
    return json.loads(run("status", "--fresh", "--json", name))[0]


def count_of(name):
    return sum(p["evaluated"] for p in status_of(name)["parts"])


def wait(name, condition, what):
    end = time.monotonic() + PATIENCE_S
    while not condition(status_of(name)):
        if time.monotonic() > end:
            fail(f"{name}: {what} does not come: {status_of(name)}")
        time.sleep(0.1)


def wait_done(name):
    wait(name, lambda s: s["phase"] == "done", "its end")
    check((root / name / "report.html").exists() and (root / name / "archive.h5").exists(), f"{name}: archive or report is missing")


def jobs_of(name):
    return [j for j in status_of(name)["jobs"] if j["state"] not in ("completed", "failed", "cancelled", "timeout")]


def evaluations(path):
    return list(csv.DictReader(io.StringIO(run("export", path, "--csv", "evaluations"))))


def a_profiles_python():
    """The site says which Python its nodes have; the user may say another."""
    profile = root / "python.yaml"
    profile.write_text(pathlib.Path(f"{source}/jobscripts/sites/local.yaml").read_text() + "python: /opt/of/the/site/python3\n")
    for words, python in (((), "/opt/of/the/site/python3"), (("--python", "none"), "none")):
        submit("pythons", *words, tasks=("transpose",), evaluations=5, site=profile)
        text = (root / "pythons/parts/0000/campaign.yaml").read_text()
        check(f'python: "{python}"' in text, text)
        run("cancel", "pythons")
        wait("pythons", lambda s: not jobs_of("pythons"), "its rest")
        shutil.rmtree(root / "pythons")
    profile.write_text(profile.read_text().replace("/opt/of", "opt/of"))
    said = submit("pythons", tasks=("transpose",), site=profile, status=65)
    check("python 'opt/of/the/site/python3' must be the absolute path of a Python with torch on the nodes" in said, said)


# ---- one campaign from its beginning to its end ----

def a_tour():
    said = submit("tour", "--jobs", 2)
    check(said.count("is in the queue (local)") == 2 and "2 tasks in 2 parts" in said, said)
    wait_done("tour")
    status = status_of("tour")
    check({p["part"] for p in status["parts"]} == {"0000", "0001"}, status)
    check(sum(p["evaluated"] for p in status["parts"]) == 60, f"60 evaluations were asked for: {status}")
    text = run("status", "tour", "--tasks")
    check("transpose" in text and "row_reduce" in text and "done" in text, text)
    check("no campaign wants jobs" in run("queue"), "a campaign that is done stays in the queue")
    rows = evaluations("tour")
    check(len(rows) == 60 and len(evaluations("tour/archive.h5")) == 60, f"{len(rows)} rows of 60")
    best = {r["task"]: r for r in json.loads(run("best", "tour", "--json"))}
    check(set(best) == {"transpose", "row_reduce"}, best)
    check(best["transpose"]["candidate"][:12] in run("show", "tour", best["transpose"]["candidate"]), "show lacks the candidate")
    run("report", "tour", "-o", "again.html")
    check("<svg" in (root / "again.html").read_text(), "the report holds no picture")
    for part in ("tour/parts/0000", "tour/parts/0001"):
        run("verify", part)
        run("replay", part)
    run("verify", "tour/archive.h5")
    check("every part has ended" in run("resume", "tour"), "resume of what is done")
    check("less than one for each" in run("resume", "tour", "--evaluations", 1, status=2), "an extension too small to share")
    run("resume", "tour", "--evaluations", 21)
    wait_done("tour")
    check(len(evaluations("tour")) == 81, f"60 and 21 evaluations are {len(evaluations('tour'))}")
    check(sum(p["evaluation_budget"] for p in status_of("tour")["parts"]) == 81, f"the budget of 60 and 21: {status_of('tour')}")
    for part in ("tour/parts/0000", "tour/parts/0001"):
        run("verify", part)
        run("replay", part)
    check("is there already; go on with `atoll resume`" in submit("tour", status=73), "a campaign was written over")


def nothing_is_made(name, words, status, text):
    before = sorted(root.iterdir())
    said = submit(name, *words, status=status)
    check(text in said, f"'{text}' is not in: {said}")
    check(sorted(p for p in root.iterdir() if p.name not in ("queue", "state")) ==
          [p for p in before if p.name not in ("queue", "state")], f"{words} left something")


def no_cluster():
    """Slurm's commands without a cluster: the launcher that works is taken, and said with the reason; a profile that was named is kept."""
    words = ["submit", f"{source}/suites/starter", "--only", "transpose", "--backend", "null", "--dry-run", "-o", "none"]
    planned = json.loads(subprocess.run([f"{build}/atoll", *words, "--site", "generic-slurm", "--json"], capture_output=True, text=True,
                                        cwd=root, env=environment).stdout)
    check(planned["parts"][0]["tasks"] == ["transpose"] and planned["jobs"] == 1 and planned["script"].startswith("#!/bin/bash"), planned)
    for named in ([], ["--site", "generic-slurm"]):
        done = subprocess.run([f"{build}/atoll", *words, *named], capture_output=True, text=True, cwd=root,
                              env={**environment, "SLURM_CONF": str(root / "nowhere.conf")})
        check(done.returncode == 0 and ("as with --site local (" in done.stderr) == (not named), done.stderr)


def refusals():
    for name, words, status, text in (
            ("deep/er/x", ("--dry-run",), 0, "#SBATCH --job-name=atoll-"),
            ("deep/er/x", ("--only", "nobody"), None, "nobody"),
            ("few", ("--jobs", 2, "--evaluations", 1), 2, "--evaluations 1 is less than one for each of 2 parts"),
            ("endless", ("--seconds", 0, "--evaluations", 0), 2, "never ends"),
            ("a\nb", (), 2, "control characters"),
            ("later", ("--after", "nowhere"), None, "is not a submitted campaign"),
            ("site", ("--site", "nowhere.yaml"), None, "nowhere.yaml"),
            ("lease", ("--lease-time", "soon"), 2, "soon"),
            ("gone/../x", (), 2, "the folder is not there")):
        if status is None:
            words = [*words]
            done = subprocess.run([f"{build}/atoll", "submit", f"{source}/suites/starter", "-o", name, "--site", "local", *words],
                                  capture_output=True, text=True, cwd=root, env=environment)
            check(done.returncode != 0 and text in done.stderr and not (root / name.split("/")[0]).exists(),
                  f"{words}: {done.returncode} {done.stderr}")
        else:
            nothing_is_made(name, words, status, text)
    both = [subprocess.Popen([f"{build}/atoll", "submit", f"{source}/suites/starter", "--only", "transpose", "--backend", "null",
                              "--site", "local", "--evaluations", "20", "-o", "same"], cwd=root, env=environment,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(4)]
    said = [(p.communicate(timeout=PATIENCE_S)[0], p.returncode) for p in both]
    check(sorted(code for _, code in said) == [0, 73, 73, 73], f"four submissions of one folder: {said}")
    wait_done("same")


def odd_names():
    name = "it's \"a\" 50%j \\ \N{GRINNING FACE} #1"
    submit(name, tasks=("transpose",), evaluations=10)
    wait_done(name)
    check(list((root / name / "log").glob("*.log")), "the log of a folder with a percent sign is elsewhere")
    submit("behind", "--after", name, tasks=("transpose",), evaluations=10)
    wait_done("behind")


# ---- what a user does to it ----

def rests():
    submit("rests", evaluations=1000000, site=slow_site())
    wait("rests", lambda s: count_of("rests") > 0, "a first result")
    said = run("pause", "rests")
    check("paused" in said, said)
    wait("rests", lambda s: s["phase"] == "paused", "its rest")
    count = count_of("rests")
    check("paused" in run("queue") and "atoll continue" in run("queue", "--submit"), "a pause is not told")
    check(not jobs_of("rests"), "a job works on a campaign that rests")
    run("continue", "rests")
    wait("rests", lambda s: count_of("rests") > count, "results after the rest")
    said = run("cancel", "rests")
    check("archive.h5 and report.html" in said, said)
    check(status_of("rests")["phase"] in ("cancelled", "running") and "no campaign wants jobs" in run("queue"), "cancel")
    wait("rests", lambda s: s["phase"] == "cancelled", "its cancel")
    check(len(evaluations("rests/archive.h5")) > 0 and not (root / "rests/done.json").exists(), "the archive of a cancelled campaign")
    run("resume", "rests")
    wait("rests", lambda s: s["phase"] == "running", "its second life")
    run("pause", "--now", "rests")
    wait("rests", lambda s: s["phase"] == "paused", "its rest at once")
    run("cancel", "rests", "nowhere", status=66)
    run("verify", "rests/parts/0000")
    run("replay", "rests/parts/0000")


def one_after_the_other():
    submit("first", evaluations=100, tasks=("transpose",), site=slow_site())
    said = submit("second", "--after", "first", tasks=("transpose",))
    check("waits until" in said, said)
    status = status_of("second")
    check(status["phase"] in ("blocked", "queued", "running", "done"), status)
    check(status["phase"] != "blocked" or str(root / "first") in status["why"], status)
    watched = run("watch", "--interval", "1s", "first", "second")
    check("done" in watched, watched[-500:])
    wait_done("second")
    text = [(root / name / "history.jsonl").read_text() for name in ("first", "second")]
    ended, begun = (next(json.loads(line) for line in lines.splitlines() if json.loads(line)["what"] == what)
                    for lines, what in zip(text, ("done", "submitted")))
    check(begun["unix_s"] >= ended["unix_s"], f"second began before first was done: {begun} {ended}")


def supervisors_are_killed():
    """Whoever runs this machine's jobs may be killed at any instant: the next command starts another one, and nothing is lost."""
    for name in ("killed", "behind-killed"):
        submit(name, evaluations=200, tasks=("transpose",), site=slow_site())
    end, kills = time.monotonic() + PATIENCE_S, 0
    path = next(root.glob("state/atoll/jobs/*/supervisor"))
    while '"state": "running"' not in "".join(job.read_text() for job in root.glob("state/atoll/jobs/*/*/job.json")):
        check(time.monotonic() < end, "no job runs")  # the first kill hits one; those behind it hit whatever there is
        time.sleep(0.02)
    while kills < 5:
        check(time.monotonic() < end, f"{kills} kills, and no supervisor is left")
        words = path.read_text().split()  # "pid 12 on host ..."
        try:
            os.kill(int(words[1]), signal.SIGKILL)
            kills += 1
        except (IndexError, ProcessLookupError):
            pass
        time.sleep(random.uniform(0.05, 0.9))
        status_of("killed")
    wait_done("killed")
    wait_done("behind-killed")
    for name in ("killed", "behind-killed"):
        run("verify", f"{name}/parts/0000")
        check(len(evaluations(name)) == 200, f"{len(evaluations(name))} results of 200 after {kills} kills")
    restarts = sum(json.loads(path.read_text())["restart_count"] for path in root.glob("state/atoll/jobs/*/*/job.json"))
    check(kills == 5 and restarts > 0, f"{kills} kills, {restarts} restarts")


def places():
    submit("waiting", evaluations=1000000, site=slow_site())
    run("pause", "waiting")
    run("queue", "waiting", "--priority", 7, "--share", 2)
    row = json.loads(run("queue", "--json"))
    check([(r["priority"], r["share"], r["state"]) for r in row if r["campaign"].endswith("/waiting")] == [(7, 2, "paused")], row)
    run("queue", "waiting", status=2)
    run("queue", "nowhere", "--share", 2, status=66)
    # a campaign whose folder cannot be seen stays, one that was removed does not
    # those that are done leave the queue a moment after they say so
    entry = next(p for p in (root / "queue").glob("[0-9a-f]*.json") if str(root / "waiting") in p.read_text())
    text = entry.read_text()
    entry.write_text(text.replace(str(root / "waiting"), "/no-such-file-system/me/waiting"))
    check("stays in the queue" in run("queue", "--submit") and entry.exists(), "an unseen campaign was taken out")
    (root / "waiting").rename(root / "moved")
    check("unseen" in run("queue"), run("queue"))
    run("continue", "moved")
    check(str(root / "moved") in entry.read_text(), f"a moved campaign is queued under its old place: {entry.read_text()}")
    run("cancel", "moved")
    shutil.rmtree(root / "moved", ignore_errors=True)
    entry.write_text(text)
    run("queue", "--submit")
    check(not entry.exists(), "a campaign that was removed stays in the queue")


# ---- damage ----

def damaged_ones():
    submit("hurt", "--jobs", 2, evaluations=200, site=slow_site())
    run("pause", "--now", "hurt")
    part = root / "hurt/parts/0001/campaign.yaml"
    kept = part.read_text()
    part.write_text("version: [")
    check("campaign.yaml" in run("status", "hurt"), "the damaged part is not told of")
    run("continue", "hurt")
    wait("hurt", lambda s: s["parts"][0]["state"] == "ended" and not jobs_of("hurt"), "the end of the whole part")
    check(not (root / "hurt/done.json").exists(), "done without a part")
    submit("well", tasks=("transpose",), evaluations=10)  # a damaged neighbour in the queue is no error of this one
    wait_done("well")
    part.write_text(kept)
    run("resume", "hurt")
    wait_done("hurt")
    check(len(evaluations("hurt")) == 200, "results of the part that was damaged")
    for name in ("site.yaml", "job.sh"):
        submit("torn", evaluations=1000000, site=slow_site())
        run("pause", "--now", "torn")
        wait("torn", lambda s: not jobs_of("torn"), "its rest")
        path = root / "torn" / name
        kept = path.read_text()
        path.write_text(kept[:len(kept) // 3] + "\0") if name == "site.yaml" else path.unlink()
        check("0000" in run("status", "torn"), f"status without {name}")
        said = subprocess.run([f"{build}/atoll", "continue", "torn"], capture_output=True, text=True, cwd=root, env=environment)
        check(said.returncode != 0 and name in said.stderr, f"continue without {name}: {said.stdout}{said.stderr}")
        path.write_text(kept)
        run("cancel", "torn")
        shutil.rmtree(root / "torn")
    (root / "queue/0123.json").write_text("{")
    (root / "queue/4567.json").write_text("")
    check("no campaign" in run("queue", env={**environment, "MALLOC_PERTURB_": "165"}), "an unreadable entry")
    for name in ("0123", "4567"):
        (root / f"queue/{name}.json").unlink()


def history_is_hostile():
    with open(root / "tour/history.jsonl", "ab") as file:
        file.write(b'{"what":"lost","job":1}\n[]\n\xff\xfe\n' + b"x" * 100000 + b"\n" + b"[" * 5000 +
                   b'\n{"unix_s":1,"what":"lost","job":"1","text":"\\u001b[2Jcleared"}\n'
                   b'{"unix_s":9223372036854775807,"what":"lost","job":"1","text":"late"}\n{"unix_s":1,"what":"lo')
    text = run("status", "tour")
    check("done" in text and "\x1b" not in text and "cleared" in text, repr(text))
    run("resume", "tour")


def a_colleague_looks():
    """Somebody who may read and not write, with a home of his own."""
    if os.geteuid() != 0:
        print("a colleague's look is left out: only root can become another user")
        return
    home = root / "colleague"
    home.mkdir()
    os.chown(home, 65534, 65534)
    os.chmod(root, 0o755)
    own = {**environment, "ATOLL_QUEUE": str(home / "queue"), "XDG_STATE_HOME": str(home / "state"), "HOME": str(home)}
    other = {"env": own, "user": 65534, "group": 65534, "extra_groups": []}
    probe = subprocess.run([f"{build}/atoll", "--help"], capture_output=True, cwd=root, **other)
    if probe.returncode != 0:
        print("a colleague's look is left out: another user cannot start this build")
        return
    before = {p: p.stat().st_mtime_ns for p in (root / "tour").rglob("*")}
    check("done" in run("status", "tour", **other), "a colleague's status")
    check(json.loads(run("status", "--json", "tour", **other))[0]["phase"] == "done", "a colleague's status as JSON")
    check(len(json.loads(run("best", "tour", "--json", **other))) == 2, "a colleague's best")
    run("export", "tour", "--csv", "evaluations", **other)
    submit("theirs", evaluations=1000000, site=slow_site())
    run("pause", "--now", "theirs")
    wait("theirs", lambda s: s["phase"] == "paused", "its rest")
    (root / "theirs/paused").unlink()
    check("cannot be seen by you" in run("status", "theirs", **other), run("status", "theirs", **other))
    run("pause", "theirs", status=77, **other)
    run("cancel", "theirs")
    check(before == {p: p.stat().st_mtime_ns for p in (root / "tour").rglob("*")}, "looking changed the campaign")


def stop_all():
    """No job goes on when this ends."""
    campaigns = [d.name for d in root.iterdir() if (d / "sweep.yaml").exists()]
    if campaigns:
        subprocess.run([f"{build}/atoll", "pause", "--now", *campaigns], cwd=root, env=environment, capture_output=True, timeout=PATIENCE_S)
    end = time.monotonic() + 30
    while time.monotonic() < end and any(f'"state": "{word}"' in path.read_text() for word in ("running", "completing")
                                         for path in root.glob("state/atoll/jobs/*/*/job.json")):
        time.sleep(0.1)


scenes = (a_tour, a_profiles_python, no_cluster, refusals, odd_names, rests, one_after_the_other, supervisors_are_killed, places, damaged_ones, history_is_hostile, a_colleague_looks)
chosen = [s for s in scenes if not sys.argv[3:] or s.__name__ in sys.argv[3:]]
try:
    for scene in chosen:
        began = time.monotonic()
        scene()
        print(f"{scene.__name__}: {time.monotonic() - began:.1f} s", flush=True)
finally:
    stop_all()
