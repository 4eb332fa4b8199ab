#!/usr/bin/env python3
"""Whole campaigns on a real Slurm, and what may happen to them: campaign.py BUILD SOURCE [SCENARIO|LANE...]

A lane is a cluster of its own on which its scenarios run one after the other; lanes run beside each other.  Every scenario ends
with Campaign.check_done: done, every acknowledged result exactly once in the merged archive, verify and replay pass, and the
user was told.  Each prints one line: seconds, and what it measured.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(__file__))
from campaign_scene import Scene, Site, check
from cluster import Cluster, processes, read_bytes, skip_without_slurm


# --- everything goes well -------------------------------------------------------------------------------------------------

def ranks_of(cluster, campaign):
    """Nodes on which a rank of the campaign's step runs, by the environment that Slurm gave the process."""
    found = set()
    for pid in processes():
        if read_bytes(f"/proc/{pid}/comm").strip() != b"atoll-eval" or str(campaign.dir).encode() not in read_bytes(f"/proc/{pid}/cmdline"):
            continue
        words = read_bytes(f"/proc/{pid}/environ").split(b"\0")
        found |= {word.partition(b"=")[2].decode() for word in words if word.startswith(b"SLURMD_NODENAME=")}
    return found


def whole(scene, launcher):
    campaign = scene.submit("whole", site=Site(launcher, pace_ms=0), real=True, evaluations=12, tasks=("softmax_rows",))
    check(launcher in campaign.history("submitted")[0]["text"], campaign.history())
    seconds = campaign.wait_first()
    campaign.wait(lambda: ranks_of(scene.cluster, campaign) == {"n1", "n2"}, "ranks on both nodes")
    count = campaign.check_done("part")
    check(all(f"evaluator {k}: " in campaign.logs() for k in range(2)), campaign.describe()) # their first words
    return f"{count} results, the first after {seconds:.1f} s"


def library(scene):
    return whole(scene, "libslurm")


def commands(scene):
    return whole(scene, "commands")


def array(scene):
    """Two jobs as one array, each on a part of its own."""
    campaign = scene.submit("two", "--jobs", 2, nodes=1)
    base, = campaign.jobs()
    check("an array" in campaign.said, campaign.said)
    count = campaign.check_done("part")
    takers = {line["text"].split()[-1]: line["job"] for line in campaign.history("part")}
    check(takers == {"0000": takers["0000"], "0001": takers["0001"]}, takers)
    check(set(takers.values()) == {f"{base}_0", f"{base}_1"}, f"parts were taken by {takers}\n{campaign.describe()}")
    return f"{count} results of two jobs"


def dependency(scene):
    first = scene.submit("earlier", evaluations=150)
    second = scene.submit("later", "--after", first.dir, evaluations=100)
    check(not second.jobs() and "waits until" in second.said, second.said)
    check(second.status()["phase"] == "blocked" and str(first.dir) in second.status()["why"], second.status())
    first.wait_acks(20)
    check(not second.jobs(), second.history())
    second.check_done()
    first.check_done()
    check(second.history("submitted")[0]["unix_s"] >= first.history("done")[0]["unix_s"], second.history())
    return "the second began when the first was done"


def finished_by_hand(scene):
    """The last part has ended and the job was killed before it said so: the user's resume does, and starts what waits."""
    first = scene.submit("almost", evaluations=60)
    first.check_done()
    (first.dir / "done.json").unlink()
    second = scene.submit("behind", "--after", first.dir, evaluations=60)
    check(not second.jobs(), second.history())
    text = scene.atoll("resume", first.dir)
    check("every part has ended" in text and second.jobs(), text)
    second.check_done()
    first.check_done("resumed")
    return f"job {second.jobs()[0]} followed"


def pause(scene):
    campaign = scene.submit("rests")
    job, = campaign.jobs()
    campaign.wait_acks(30)
    text = scene.atoll("pause", campaign.dir)
    check("paused" in text, text)
    campaign.wait_no_job()
    check("COMPLETED" in scene.slurm("scontrol", "-o", "show", "job", job), campaign.describe())
    resting = len(campaign.acknowledged())
    status = campaign.status()
    check(status["phase"] == "paused" and "atoll continue" in status["why"], status)
    check("paused" in scene.atoll("queue"), scene.atoll("queue"))
    check(resting < 300 and not (campaign.dir / "done.json").exists(), "it did not rest")
    scene.atoll("continue", campaign.dir)
    count = campaign.check_done("paused", "continued")
    check(len(campaign.jobs()) == 2, campaign.history())
    return f"rested after {resting} of {count} results"


def priority(scene):
    """A ceiling of one job; three campaigns want one each."""
    site = Site(limits="  queued: 1\n")
    first = scene.submit("first", site=site, evaluations=150)
    low = scene.submit("low", site=site, evaluations=60)
    high = scene.submit("high", "--priority", 5, site=site, evaluations=60)
    check(first.jobs() and not low.jobs() and not high.jobs(), first.describe())
    text = scene.atoll("queue")
    check(0 < text.find("high") < text.find("low"), text)
    for campaign in (first, high, low):
        campaign.check_done()
    starts = [campaign.history("part")[0]["unix_s"] for campaign in (first, high, low)]
    ids = [int(campaign.jobs()[0]) for campaign in (first, high, low)]
    check(starts == sorted(starts) and ids == sorted(ids), f"started at {starts}, jobs {ids}")
    return "first, high, low"


def ceiling(scene):
    """The site lets the user have one job in the queue; three are wanted."""
    campaign = scene.submit("narrow", "--jobs", 3, site=Site(limits="  queued: 1\n"), nodes=1, evaluations=180,
                            tasks=("softmax_rows", "transpose", "matmul"))
    most = 0
    while not (campaign.dir / "done.json").exists():
        live = scene.slurm("squeue", "-h", "-t", "PD,R,CG", "-o", "%i").split()
        most = max(most, len(live))
        check(time.monotonic() - campaign.submitted < 120, campaign.describe())
        time.sleep(0.2)
    check(most == 1, f"{most} jobs at once")
    count = campaign.check_done()
    check(len(campaign.history("part")) == 3, campaign.history())
    return f"{count} results of 3 parts, {len(campaign.jobs())} job, never more than {most} at once"


# --- jobs are lost --------------------------------------------------------------------------------------------------------

def scancel(scene):
    campaign = scene.submit("ended")
    job, = campaign.jobs()
    campaign.wait_acks(30)
    scene.slurm("scancel", job)
    campaign.wait_no_job()
    check(len(campaign.jobs()) == 1, f"a job that the user cancelled was submitted again\n{campaign.describe()}")
    status = campaign.status()
    check(status["phase"] == "idle" and "atoll resume" in status["why"], f"{status}\n{campaign.describe()}")
    check("cancelled" in scene.atoll("status", campaign.dir), scene.atoll("status", campaign.dir))
    left = len(campaign.acknowledged())
    scene.atoll("resume", campaign.dir)
    campaign.wait_acks(left + 30)
    text = scene.atoll("cancel", campaign.dir)
    check("cancelled, 1 jobs" in text and (campaign.dir / "archive.h5").exists(), text)
    campaign.wait_no_job()
    check(campaign.status()["phase"] == "cancelled", campaign.status())
    scene.atoll("resume", campaign.dir)
    count = campaign.check_done("cancelled", "resumed")
    return f"{left} results before scancel, {count} in the end"


def resumed_events(campaign):
    return campaign.logs().count(" eval.resume ")


def requeue(scene):
    """The same job again: its log goes on, its part is taken up at once."""
    campaign = scene.submit("again")
    job, = campaign.jobs()
    campaign.wait_acks(30)
    begin = time.monotonic()
    scene.slurm("scontrol", "requeue", job)
    campaign.hurry(job)
    campaign.wait_told("part", 2)
    restart, part = campaign.history("restart")[0], campaign.history("part")[1]
    before = len(campaign.acknowledged())
    campaign.wait_acks(before + 1)
    waited = time.monotonic() - begin
    check(part["unix_s"] - restart["unix_s"] <= 5, f"the part was waited for\n{campaign.describe()}")
    count = campaign.check_done("restart")
    check(campaign.jobs() == [job], campaign.history())
    logs = list((campaign.dir / "log").iterdir())
    text = logs[0].read_text()
    check(len(logs) == 1 and "(start 1)" in text and "(start 2)" in text and resumed_events(campaign), campaign.describe())
    attempts = sorted(path.name for path in (campaign.dir / "parts/0000/jobs").iterdir())
    check(attempts == [f"{job}.0", f"{job}.1"], attempts)
    return f"{count} results, {lost_text(campaign)}; back after {waited:.1f} s"


def lost_text(campaign):
    return f"{campaign.sent_again()} orders that were under way were sent again"


def preemption(scene):
    nodes = scene.cluster.nodes
    campaign = scene.submit("scavenges", "--partition", "scav", nodes=2)
    job, = campaign.jobs()
    campaign.wait_acks(30)
    scene.slurm("sbatch", "-p", "main", "-N", nodes, "--exclusive", "-o", "/dev/null", "--wrap", "sleep 3")
    campaign.wait(lambda: scene.slurm("squeue", "-h", "-j", job, "-o", "%T").strip() == "PENDING", "the preemption")
    status = campaign.status()
    check(status["phase"] == "queued" and f"job {job} waits" in status["why"], status)
    campaign.hurry(job)
    count = campaign.check_done("restart")
    check(campaign.jobs() == [job], campaign.history())
    return f"{count} results, {lost_text(campaign)}"


def node(scene):
    """Power is lost on the second node of two in the middle of a step."""
    campaign = scene.submit("dark", evaluations=700, site=Site(pace_ms=50))
    job, = campaign.jobs()
    campaign.wait_acks(30)
    batch = scene.slurm("squeue", "-h", "-j", job, "-o", "%B").strip()
    nodes = scene.slurm("scontrol", "show", "hostnames", scene.slurm("squeue", "-h", "-j", job, "-o", "%N").strip()).split()
    other, = [name for name in nodes if name != batch]
    scene.cluster.node_kill(other)
    try:
        campaign.wait_told("node")
        check(not (campaign.dir / "done.json").exists() and len(campaign.history("part")) == 1, campaign.describe())
        campaign.wait_acks(len(campaign.acknowledged()) + 10)
        count = campaign.check_done("node")
    finally:
        scene.cluster.node_start(other)
    check(any(f"node {other}" in line["text"] for line in campaign.history("node")), campaign.history())
    check(campaign.jobs() == [job] and not campaign.history("restart"), campaign.history())
    return f"{count} results; {campaign.history('node')[0]['text']}"


# --- time is over ---------------------------------------------------------------------------------------------------------

def limit(scene, go_on):
    campaign = scene.submit(go_on, site=Site(go_on=go_on, pace_ms=100), minutes=1, evaluations=700)
    job, = campaign.jobs()
    campaign.wait_told("requeue" if go_on == "requeue" else "successor")
    check("eval.drained" in campaign.logs(), campaign.describe())
    if go_on == "requeue":
        campaign.wait(lambda: campaign.push(job) or (campaign.dir / "done.json").exists(), "the end of a job that starts again")
    count = campaign.check_done("requeue" if go_on == "requeue" else "successor")
    check((len(campaign.jobs()) == 1) == (go_on == "requeue"), campaign.history())
    return f"{count} results, {lost_text(campaign)}"


def limit_requeue(scene):
    return limit(scene, "requeue")


def limit_successor(scene):
    return limit(scene, "successor")


def limit_sudden(scene):
    """The end comes earlier than the job was told."""
    campaign = scene.submit("sudden", site=Site(go_on="none", pace_ms=100), evaluations=1000)  # Slurm looks at limits every 30 s
    job, = campaign.jobs()
    campaign.wait_acks(30)
    scene.slurm("scontrol", "update", f"JobId={job}", "EndTime=now+1")
    campaign.wait(lambda: "TIMEOUT" in scene.slurm("scontrol", "-o", "show", "job", job), "the limit")
    campaign.wait_no_job()
    status = campaign.status()
    if status["phase"] != "done":
        check(status["phase"] == "idle" and "atoll resume" in status["why"], status)
        check("timeout" in scene.atoll("status", campaign.dir), scene.atoll("status", campaign.dir))
        scene.atoll("resume", campaign.dir)
    count = campaign.check_done("resumed")
    return f"{count} results, {lost_text(campaign)}"


# --- the controller fails -------------------------------------------------------------------------------------------------

def controller_killed(scene):
    campaign = scene.submit("headless", evaluations=1000, site=Site(pace_ms=50))  # it must outlast Slurm's notes
    campaign.wait_acks(30)
    scene.cluster.wait_for_notes(campaign.jobs()[0])
    scene.cluster.ctld_kill()
    before = len(campaign.acknowledged())
    check(not campaign.history("done"), "the campaign was over before the controller")
    campaign.wait_acks(before + 30)
    scene.cluster.ctld_start()
    count = campaign.check_done()
    check(len(campaign.jobs()) == 1 and not campaign.history("lost"), campaign.history())
    return f"{count} results"


def controller_silent(scene):
    """It answers nothing at submit: an error in time; later resume submits.  Meanwhile status tells what it knew."""
    first = scene.submit("known", evaluations=1000)
    first.wait_acks(1)
    first.status()
    scene.cluster.ctld_stop()
    try:
        begin = time.monotonic()
        second = scene.submit("unheard", "--call-timeout", "2s", evaluations=60, status=81)
        seconds = time.monotonic() - begin
        check("within 2 s" in second.said and "atoll resume" in second.said, second.said)
        check(seconds < 15, f"the error came after {seconds:.0f} s")
        check((second.dir / "sweep.yaml").exists() and not second.jobs(), second.said)
        text = scene.atoll("status", first.dir, "--fresh", "--call-timeout", "2s")
        check("did not answer" in text and " ago" in text and f"job {first.jobs()[0]} " in text, text)
    finally:
        scene.cluster.ctld_cont()
    scene.atoll("resume", second.dir)
    second.check_done("resumed")
    first.check_done()
    return f"error after {seconds:.1f} s"


def shimmed(scene, name, line):
    """A campaign whose submission went through another sbatch; seconds until atoll submit gave up on it."""
    shims = scene.root / f"{name}.shims"
    shims.mkdir()
    real = shutil.which("sbatch", path=scene.environment()["PATH"])
    (shims / "sbatch").write_text(f"#!/bin/bash\n[ \"$1\" = --version ] && exec {real} --version\n{line.format(real=real)}\n")
    (shims / "sbatch").chmod(0o755)
    begin = time.monotonic()
    campaign = scene.submit(name, "--call-timeout", "3s", evaluations=60, status=81, PATH=f"{shims}:{scene.environment()['PATH']}")
    check("sbatch" in campaign.said and "within 3 s" in campaign.said and "atoll resume" in campaign.said, campaign.said)
    return campaign, time.monotonic() - begin


def command_hangs(scene):
    """sbatch hangs before it did anything, and after it submitted a job: nothing is lost, nothing is submitted twice."""
    campaign, seconds = shimmed(scene, "stuck", "exec sleep 7773")
    scene.atoll("resume", campaign.dir)
    campaign.check_done("resumed", "submitted")
    campaign, _ = shimmed(scene, "mute", '{real} "$@" >/dev/null; exec sleep 7773')
    scene.atoll("resume", campaign.dir)
    campaign.check_done("resumed")
    names = scene.slurm("squeue", "-h", "-a", "-t", "all", "-o", "%Z").split()
    check(names.count(str(campaign.dir)) == 1, f"submitted again: {names}\n{campaign.describe()}")
    return f"error after {seconds:.1f} s"


def queue_full(scene):
    """The cluster itself takes two jobs (its limit is one above), and one is somebody's."""
    other = scene.slurm("sbatch", "-H", "-o", "/dev/null", "--parsable", "--wrap", "true").strip()
    campaign = scene.submit("crowded", "--jobs", 3, site=Site(limits="  arrays: false\n"), nodes=1, evaluations=180,
                            tasks=("softmax_rows", "transpose", "matmul"))
    check("queue is full" in campaign.said and "the rest" in campaign.said and len(campaign.jobs()) == 1, campaign.said)
    count = campaign.check_done()
    scene.slurm("scancel", other)
    return f"{count} results of 3 parts, {len(campaign.jobs())} jobs"


# --- a job elsewhere was lost without a word ------------------------------------------------------------------------------

def stranger(scene, campaign):
    """atoll-eval as another host runs it: its name, and processes that cannot be looked up here."""
    part, acks = campaign.dir / "parts/0000", scene.root / "stranger.acks"
    words = ["unshare", "-r", "--pid", "--fork", "--kill-child", "--uts", "sh", "-c",
             "hostname elsewhere; exec \"$@\"", "sh", f"{scene.build}/atoll-eval", "--local", "--job", "4711",
             "--lease-time", "1h", "--ack-log", str(acks), str(part)]
    with open(scene.root / "stranger.log", "wb") as log:
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=scene.environment(),
                                start_new_session=True), acks


def signal_session(leader, number):
    for pid in processes():
        try:
            if os.getsid(pid) == leader.pid:
                os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            pass


def stale_lease(scene):
    """A job of another host holds the part and stands still; what it writes when it comes back is kept aside."""
    if subprocess.run(["unshare", "-r", "--pid", "--fork", "--uts", "true"], capture_output=True).returncode != 0:
        return "skipped: no user namespaces here"
    scene.slurm("scontrol", "update", "NodeName=n[1-2]", "State=DRAIN", "Reason=test")
    campaign = scene.submit("left", "--lease-time", "3s", nodes=1, evaluations=500)
    for path in (campaign.dir / "parts").glob("*/campaign.yaml"):
        path.write_text(path.read_text().replace("options:\n", "options:\n  sample-device: \"20ms\"\n", 1))
    leader, acks = stranger(scene, campaign)
    try:
        campaign.wait(lambda: acks.exists() and len(acks.read_text().split()) > 30, "results of the stranger")
        signal_session(leader, signal.SIGSTOP)
        check(campaign.status()["parts"][0]["holder"] == "4711", campaign.status())
        before = [int(word) for word in acks.read_text().split()]
        scene.slurm("scontrol", "update", "NodeName=n[1-2]", "State=RESUME")
        campaign.wait_told("takeover")
        campaign.wait_acks(30)
        late, = (campaign.dir / "parts/0000/jobs").glob("4711.*/journal.atl")
        size = late.stat().st_size
        signal_session(leader, signal.SIGCONT)
        campaign.wait(lambda: late.stat().st_size > size + 2000, "late records")
    finally:
        signal_session(leader, signal.SIGCONT)
        signal_session(leader, signal.SIGKILL)
        leader.wait()
    count = campaign.check_done("takeover", "quarantined")
    there = {number for numbers in campaign.part_results().values() for number in numbers}
    check(not set(before) - there, "results that the stranger had acknowledged are lost")
    text = scene.atoll("verify", campaign.dir)
    check("written after its lease was lost are kept aside" in text, text)
    check("are kept aside" in scene.atoll("status", campaign.dir), scene.atoll("status", campaign.dir))
    waited = campaign.history("takeover")[0]["unix_s"] - campaign.history("submitted")[0]["unix_s"]
    return f"{count} results, {len(before)} of the stranger's; taken over within {waited} s; " + text.splitlines()[0]


LANES = {  # launcher, cluster, scenarios; the longest first
    "time-again": ("libslurm", dict(nodes=2), (limit_requeue,)),
    "time-next": ("commands", dict(nodes=2), (limit_successor,)),
    "node": ("libslurm", dict(nodes=2, node_timeout_s=10), (node,)),
    "losses": ("libslurm", dict(nodes=2), (requeue, preemption, scancel)),
    "losses-by-commands": ("commands", dict(nodes=2), (requeue, preemption, scancel)),
    "plain": ("libslurm", dict(nodes=2), (library, array, finished_by_hand)),
    "plain-by-commands": ("commands", dict(nodes=2), (commands, dependency, pause)),
    "controller": ("libslurm", dict(nodes=2), (controller_killed, controller_silent)),
    "controller-by-commands": ("commands", dict(nodes=2), (controller_silent, command_hangs)),
    "limits": ("libslurm", dict(nodes=3), (ceiling, priority)),
    "time-sudden": ("libslurm", dict(nodes=2), (limit_sudden,)),
    "full": ("commands", dict(nodes=3, more="MaxJobCount=3", min_job_age_s=2), (queue_full,)),
    "stale": ("libslurm", dict(nodes=2), (stale_lease,)),
}


STARTING = threading.Lock()
ROOM = threading.Semaphore(8)  # more clusters at once start their steps too slowly on two cores


def run_one(lane, scenario, cluster, build, source, failures):
    begin = time.monotonic()
    name = f"{lane}/{scenario.__name__}"
    try:
        told = scenario(Scene(cluster, LANES[lane][0], build, source, scenario.__name__))
        print(f"{name}: {time.monotonic() - begin:.0f} s, {told}", flush=True)
    except BaseException:  # the other scenarios of the lane, and other lanes, go on
        failures.append(name)
        print(f"{name}: FAILED after {time.monotonic() - begin:.0f} s\n{traceback.format_exc()}", flush=True)


def run_lane(lane, scenarios, build, source, failures):
    try:
        with ROOM:
            with STARTING:  # ports that one chose and has not opened yet are not chosen by another
                cluster = Cluster(**LANES[lane][1]).up()
            try:
                for scenario in scenarios:
                    run_one(lane, scenario, cluster, build, source, failures)
            finally:
                cluster.down()
    except BaseException:
        failures.append(lane)
        print(f"lane {lane}: FAILED\n{traceback.format_exc()}", flush=True)


def chosen(words):
    """Scenarios of each lane that were asked for, by name of lane or scenario; all without words."""
    known = {s.__name__ for _, _, scenarios in LANES.values() for s in scenarios} | set(LANES)
    unknown = [word for word in words if word not in known]
    if unknown:
        sys.exit(f"no scenario or lane is called {unknown[0]}; there are {' '.join(sorted(known))}")
    found = {}
    for name, (_, _, scenarios) in LANES.items():
        found[name] = [s for s in scenarios if not words or name in words or s.__name__ in words]
    return {name: scenarios for name, scenarios in found.items() if scenarios}


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    skip_without_slurm()
    build, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    failures = []
    lanes = [threading.Thread(target=run_lane, args=(name, scenarios, build, source, failures))
             for name, scenarios in chosen(sys.argv[3:]).items()]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    if failures:
        sys.exit(f"failed: {' '.join(failures)}")


if __name__ == "__main__":
    main()
