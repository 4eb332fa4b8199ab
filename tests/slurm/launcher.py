#!/usr/bin/env python3
"""Every launcher against the real thing: one list of checks for Slurm's library, its commands and this machine alone, then
what only Slurm can suffer: a controller that hangs, dies and comes back, a full queue, a lost node, a command that hangs."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from cluster import Cluster, is_alive, read_bytes, processes, skip_without_slurm, wait_until

BUILD = pathlib.Path(sys.argv[1]).resolve()
DRIVER = str(BUILD / "tests" / "bin" / "atoll_launch")
ENDED = {"completed", "failed", "cancelled", "timeout", "node-fail", "preempted", "out-of-memory"}
PATIENCE_S = 90  # for what comes by itself on a loaded machine


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def together(*functions):
    """Side by side: most of a check is waiting for Slurm.  The first failure is raised when all have ended."""
    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        for done in [pool.submit(function) for function in functions]:
            done.result()


class Launcher:
    """The driver at the other end of a pipe."""

    def __init__(self, kind, environment, timeout_s=30, work_dir=None, cluster=None):
        self.kind, self.work_dir, self.cluster = kind, work_dir, cluster
        self.process = subprocess.Popen([DRIVER, kind, str(timeout_s)], env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.hello = json.loads(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()

    def say(self, do, **words):
        self.process.stdin.write(json.dumps({"do": do, **words}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        check(line, f"{self.kind}: the driver died at {do}")
        return json.loads(line)

    def good(self, do, **words):
        answer = self.say(do, **words)
        check(answer["ok"], f"{self.kind}: {do} {words}: {answer}")
        return answer

    def bad(self, code, do, remedy="", **words):
        answer = self.say(do, **words)
        check(not answer["ok"] and answer["code"] == code, f"{self.kind}: {do} {words}: not {code}: {answer}")
        check(remedy in answer["text"], f"{self.kind}: no '{remedy}' in {answer['text']}")
        return answer

    def submit(self, name, script, **words):
        words.setdefault("work_dir", self.work_dir)
        words.setdefault("log_path", f"{self.work_dir}/{name}.log")
        return self.good("submit", name=f"{self.kind}.{name}", script="#!/bin/bash\n" + script, **words)["id"]

    def listed(self, prefix):
        """Names and ids of this launcher's jobs: another one's stand in the same queue."""
        return [(job["name"].split(".")[1], job["id"]) for job in self.good("list", prefix=f"{self.kind}.{prefix}")["jobs"]]

    def state(self, job):
        return self.good("ask", id=job)["state"]

    def wait_for(self, job, *states):
        def look():
            told = self.good("ask", id=job)
            check(told["state"] in states or told["state"] not in ENDED, f"{self.kind}: job {job} is {told}: " + self.log(told["name"].split(".")[-1]))
            return told if told["state"] in states else None
        return wait_until(look, PATIENCE_S, f"{self.kind}: job {job} {'/'.join(states)}")

    def log(self, name):
        return read_bytes(f"{self.work_dir}/{name}.log").decode()

    def wait_log(self, name, text):
        wait_until(lambda: text in self.log(name), PATIENCE_S, f"{self.kind}: '{text}' in the log of {name}: {self.log(name)}")


# --- what every launcher does ---------------------------------------------------------------------------------------------

def check_ends(launcher):
    pathlib.Path(launcher.work_dir, "e-zero.log").write_text("kept\n")
    zero = launcher.submit("e-zero", "pwd; echo \"id ${SLURM_JOB_ID:-$ATOLL_JOB_ID}\"", time=5)
    three = launcher.submit("e-three", "exit 3")
    killed = launcher.submit("e-killed", "kill -9 $$")
    told = launcher.wait_for(zero, "completed")
    check(told["exit_status"] == 0 and told["name"] == f"{launcher.kind}.e-zero", told)
    check(0 < told["submit"] <= told["start"] <= told["end"], told)
    launcher.wait_log("e-zero", f"id {zero}\n")
    check(launcher.log("e-zero") == f"kept\n{launcher.work_dir}\nid {zero}\n", launcher.log("e-zero"))
    told = launcher.wait_for(three, "failed")
    check(told["exit_status"] == 3 and told["reason"], told)
    check(launcher.wait_for(killed, "failed")["exit_status"] == 128 + 9, "a killed script")
    check(launcher.listed("e-") == [("e-zero", zero), ("e-three", three), ("e-killed", killed)], launcher.listed("e-"))
    check(launcher.listed("nothing-") == [], "a prefix of nothing")
    check(launcher.good("cancel", id=zero), "cancelling what has ended")


def check_unknown(launcher):
    told = launcher.good("ask", id="987654")
    check(told["state"] == "unknown" and told["id"] == "987654", told)
    for do in ("cancel", "requeue", "remaining"):
        launcher.bad("notfound", do, id="987654")
    for id_text in ("-u", "", "12_", "_3", "1 2", "1;2", "x"):
        launcher.bad("input", "cancel", remedy="id of a job", id=id_text)
    launcher.bad("input", "bad_nodes", remedy="list of nodes", nodes="-N;x")


def check_running(launcher):
    job = launcher.submit("r-cancel", "echo ready; sleep 1000 & wait", time=5)
    launcher.wait_log("r-cancel", "ready")
    left = launcher.good("remaining", id=job)["seconds"]
    check(0 < left <= 300, left)
    later = launcher.submit("r-later", "sleep 1000", **(dict(nodes=launcher.cluster.nodes, exclusive=True) if launcher.cluster else {}))
    launcher.wait_for(later, "pending")
    launcher.bad("input", "remaining", remedy="has not started", id=later)
    launcher.good("cancel", id=later)
    launcher.wait_for(later, "cancelled")
    launcher.good("cancel", id=job)
    launcher.wait_for(job, "cancelled")
    check(launcher.good("remaining", id=job)["seconds"] == 0, "time left after the end")


def check_array(launcher):
    base = launcher.submit("a-array", "echo element ${SLURM_ARRAY_TASK_ID:-$ATOLL_ARRAY_TASK_ID}; sleep 0.3", array=3,
                           log_path=f"{launcher.work_dir}/a-%A-%a.log")
    ids = [f"{base}_{i}" for i in range(3)]
    check([job for _, job in launcher.listed("a-")] == ids, "elements one by one")
    launcher.wait_for(base, "completed")
    for i, element in enumerate(ids):
        check(launcher.good("ask", id=element)["id"] == element, element)
        check(read_bytes(f"{launcher.work_dir}/a-{base}-{i}.log") == b"element %d\n" % i, f"log of {element}")
    check(launcher.state(f"{base}_3") == "unknown", "an element that never was")
    base = launcher.submit("b-array", "sleep 1000", array=4)
    wait_until(lambda: launcher.state(base) == "running", PATIENCE_S, "an element")
    launcher.good("cancel", id=base)
    launcher.wait_for(base, "cancelled")
    check({job["state"] for job in launcher.good("list", prefix=f"{launcher.kind}.b-")["jobs"]} == {"cancelled"}, "a whole array")


def check_requeue(launcher):
    job = launcher.submit("q-again", "n=${SLURM_RESTART_COUNT:-${ATOLL_RESTART_COUNT:-0}}\necho try $n\n"
                          "[ $n -ge 1 ] && exit 0\nsleep 1000", requeue=True)
    launcher.wait_log("q-again", "try 0")
    launcher.good("requeue", id=job)
    if launcher.cluster:
        launcher.wait_for(job, "requeued")
        launcher.cluster.start_requeued(job)
    told = launcher.wait_for(job, "completed")
    check(told["restart_count"] == 1, told)
    check(launcher.log("q-again").startswith("try 0\n") and launcher.log("q-again").endswith("try 1\n"), launcher.log("q-again"))


def check_refused(launcher):
    plain = {"name": "x", "script": "#!/bin/bash\n", "work_dir": launcher.work_dir}
    launcher.bad("input", "submit", remedy="#!", **{**plain, "script": "echo"})
    launcher.bad("input", "submit", remedy="not absolute", **{**plain, "work_dir": "here"})
    launcher.bad("input", "submit", remedy="line break", **{**plain, "name": "a\n#SBATCH --nodes=99"})
    launcher.bad("input", "submit", remedy="no signal", **plain, signal="TURM")
    launcher.bad("input", "submit", remedy="option of sbatch", **plain, extra=["rm"])


EVERYWHERE = (check_ends, check_unknown, check_running, check_requeue, check_refused)


# --- what only Slurm does -------------------------------------------------------------------------------------------------

def check_slurm_refusals(launcher):
    plain = {"name": "x", "script": "#!/bin/bash\n", "work_dir": launcher.work_dir}
    launcher.bad("input", "submit", remedy="--partition", **plain, partition="nowhere")
    launcher.bad("input", "submit", remedy="sinfo", **plain, partition="tiny", nodes=2)
    launcher.bad("input", "submit", remedy="less time", **plain, partition="tiny", time=600)
    launcher.bad("input", "submit", remedy="GPUs", **plain, gres="nosuch:1")
    launcher.bad("input", "submit", remedy="MaxArraySize", **plain, array=2000)


def check_description(launcher, cluster):
    """What Slurm understood of a request, however it was passed on."""
    job = launcher.submit("d-all", "sleep 1000", nodes=2, tasks=2, cpus=1, gpus=1, time=7, no_kill=True,
                          requeue=True, exclusive=True, signal="TERM", before=90, partition="main")
    told = launcher.wait_for(job, "running")
    check(told["node_count"] == 2 and told["partition"] == "main" and "n" in told["nodes"], told)
    shown = cluster.run("scontrol", "-o", "show", "job", job)
    for part in ("TimeLimit=00:07:00", "NumTasks=4", "OverSubscribe=NO", "Requeue=1",
                 "TresPerNode=gres:gpu:1", f"StdOut={launcher.work_dir}/d-all.log"):
        check(part in shown, f"{launcher.kind}: no {part} in {shown}")
    launcher.good("cancel", id=job)
    job = launcher.submit("d-extra", "true", extra=["--nice=77"], gres="gpu:1")
    check("Nice=77" in cluster.run("scontrol", "-o", "show", "job", job), "a word for sbatch alone")
    launcher.wait_for(job, "completed")


def check_cluster(launcher):
    told = launcher.good("cluster")
    check(told["version"].count(".") == 2 and told["name"] == "reef" and told["array_limit"] == 1001, told)
    check("none" in told["mpi"].split() and told["answer_s"] > 0 and told["job_limit"] == 10000, told)
    main = [p for p in told["partitions"] if p["name"] == "main"][0]
    check(main["nodes"] == 4 and main["cpus"] == 4 and main["gres"] == "gpu:2" and main["default"] and main["limit"] > 1e29, main)
    tiny = [p for p in told["partitions"] if p["name"] == "tiny"][0]
    check(tiny["limit"] == 10 and not tiny["default"], tiny)
    check(launcher.good("bad_nodes", nodes="n[1-4]")["names"] == "", "bad nodes among good ones")


def check_hanging_command(cluster, folder):
    """sbatch hangs with a child of its own: the call ends in time and nothing is left of either."""
    shims = folder / "shims"
    shims.mkdir()
    real = shutil.which("sbatch", path=cluster.environment()["PATH"])
    (shims / "sbatch").write_text(f"#!/bin/bash\n[ \"$1\" = --version ] && exec {real} --version\nsleep 7771 & sleep 7772\n")
    (shims / "sbatch").chmod(0o755)
    environment = cluster.environment()
    environment["PATH"] = f"{shims}:{environment['PATH']}"
    launcher = Launcher("commands", environment, timeout_s=1, work_dir=str(folder))
    launcher.bad("timeout", "submit", remedy="within 1 s", name="x", script="#!/bin/bash\n", work_dir=str(folder))
    left = [pid for pid in processes() if read_bytes(f"/proc/{pid}/cmdline").startswith((b"sleep\0007771", b"sleep\0007772"))]
    check(not [pid for pid in left if is_alive(pid)], f"left behind: {left}")
    launcher.close()


def check_silent_controller(cluster, launchers):
    job = launchers[0].submit("s-long", "sleep 1000")
    launchers[0].wait_for(job, "running")
    cluster.wait_for_notes(job)

    def each(act):
        together(*[lambda launcher=launcher: act(launcher) for launcher in launchers])

    def silent(launcher):
        launcher.bad("timeout", "ask", id=job)
        launcher.bad("timeout", "list")
        launcher.bad("timeout", "submit", name="s-lost", script="#!/bin/bash\n", work_dir=launcher.work_dir, log_path="/dev/null")

    def dead(launcher):
        launcher.bad("timeout", "ask", id=job)
        launcher.bad("timeout", "ask", id=job)

    cluster.ctld_stop()
    each(silent)
    cluster.ctld_cont()
    each(lambda launcher: wait_until(lambda: launcher.say("ask", id=job)["ok"], PATIENCE_S, "an answer after the silence"))
    cluster.ctld_kill()
    each(dead)
    return job


def check_full_queue(cluster, launchers, job):
    """The controller comes back with room for fewer jobs than it has."""
    cluster.conf.write_text(cluster.conf.read_text() + "\nMaxJobCount=2\n")
    cluster.ctld_start()
    for launcher in launchers:
        wait_until(lambda: launcher.say("ask", id=job)["ok"], PATIENCE_S, "an answer of a new controller")
        check(launcher.state(job) == "running", "a job that runs under a new controller")
        launcher.bad("limit", "submit", remedy="queue is full", name="x", script="#!/bin/bash\n", work_dir=launcher.work_dir)


def check_lost_node(cluster, launchers, job):
    cluster.node_kill("n4")
    for launcher in launchers:
        wait_until(lambda: launcher.good("bad_nodes", nodes="n[2-4]")["names"] == "n4", PATIENCE_S, "n4 among the bad nodes")
        check(launcher.good("bad_nodes", nodes="n[1-3]")["names"] == "", "a bad node that was not asked for")
        check(launcher.state(job) == "running", "a job on another node")
    launchers[0].good("cancel", id=job)


def check_choice(cluster, folder):
    """auto: the library, else the commands, else this machine."""
    empty = {"XDG_STATE_HOME": str(folder / "choice")}
    plugin = plugin_path()
    cases = [({"ATOLL_SLURM_PLUGIN": plugin}, "libslurm "), ({"ATOLL_SLURM_PLUGIN": "none"}, "commands of slurm "),
             ({"ATOLL_SLURM_PLUGIN": plugin, "SLURM_CONF": str(folder / "no.conf")}, "local")]
    for change, name in cases:
        launcher = Launcher("auto", cluster.environment(**{**empty, **change}))
        check(launcher.hello["ok"], (change, launcher.hello))
        check(launcher.good("name")["name"].startswith(name), (change, launcher.good("name")))
        launcher.close()
    broken = folder / "atoll-slurm-00.00.so"
    broken.write_text("no library")
    for path, words in ((str(broken), "00.00.so"), (str(folder / "none.so"), "none.so"), ("none", "ATOLL_SLURM_PLUGIN")):
        launcher = Launcher("libslurm", cluster.environment(ATOLL_SLURM_PLUGIN=path))
        check(launcher.hello.get("code") == "missing" and words in launcher.hello["text"], launcher.hello)
        launcher.close()


def check_doctor(cluster, folder):
    def doctor(*words, **environment):
        return subprocess.run([str(BUILD / "atoll"), "doctor", "--slurm", *words], env=cluster.environment(**environment),
                              capture_output=True, text=True, timeout=120)
    done = doctor("--json")
    told = json.loads(done.stdout)["slurm"]
    check(told["launcher"].startswith("libslurm") and told["cluster"]["name"] == "reef", told)
    check({p["name"] for p in told["partitions"]} == {"main", "scav", "tiny"}, told)
    text = doctor().stdout
    for part in ("reef", "main", "gpu:2", "MaxArraySize", "mpi"):
        check(part in text, f"no {part} in\n{text}")
    launcher = Launcher("libslurm", cluster.environment(ATOLL_SLURM_PLUGIN=plugin_path()), work_dir=str(folder))
    job = launcher.submit("doctor", f"{BUILD}/atoll doctor --slurm", time=9, nodes=2)
    launcher.wait_for(job, "completed")
    check(f"job {job}" in launcher.log("doctor") and "of 2 nodes" in launcher.log("doctor"), launcher.log("doctor"))
    launcher.close()
    done = doctor("--json", SLURM_CONF=str(folder / "no.conf"), XDG_STATE_HOME=str(folder / "doctor"))
    told = json.loads(done.stdout)["slurm"]
    check(told["launcher"] == "local" and done.returncode == 0, done)


# --- what only this machine does ------------------------------------------------------------------------------------------

def local_environment(folder, **more):
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "ATOLL_"))}
    return {**mine, "XDG_STATE_HOME": str(folder / "state"), **more}


def plugin_path():
    found = sorted(BUILD.glob("atoll-slurm-*.so"))
    check(found, f"no plugin for Slurm's library in {BUILD}, though Slurm is installed; is libslurm-dev?")
    return str(found[-1])


def local_checks(folder):
    folder.mkdir()
    launcher = Launcher("local", local_environment(folder), work_dir=str(folder))
    for one in EVERYWHERE:
        one(launcher)
    launcher.close()


def slurm_checks(folder, begin):
    folder.mkdir()
    with Cluster(node_timeout_s=10, more="EnforcePartLimits=ALL",
                 more_partitions="PartitionName=tiny Nodes=n[1-4] MaxNodes=1 MaxTime=10 State=UP") as cluster:
        launchers = []
        for kind in ("libslurm", "commands"):
            work = folder / kind
            work.mkdir()
            launcher = Launcher(kind, cluster.environment(ATOLL_SLURM_PLUGIN=plugin_path()), timeout_s=30, work_dir=str(work),
                                cluster=cluster)
            check(launcher.hello["ok"], launcher.hello)
            launchers.append(launcher)

        def everything(launcher):
            check_cluster(launcher)
            for one in (*EVERYWHERE, check_array, check_slurm_refusals):
                one(launcher)
                tell(begin, f"{launcher.kind} {one.__name__}")
            check_description(launcher, cluster)
            launcher.close()

        together(*[lambda each=each: everything(each) for each in launchers])
        together(lambda: check_choice(cluster, folder), lambda: check_doctor(cluster, folder),
                 lambda: check_hanging_command(cluster, folder))
        tell(begin, "choice, doctor, hanging command")
        hasty = [Launcher(kind, cluster.environment(ATOLL_SLURM_PLUGIN=plugin_path()), timeout_s=2, work_dir=str(folder / kind))
                 for kind in ("libslurm", "commands")]
        job = check_silent_controller(cluster, hasty)
        tell(begin, "silent controller")
        for launcher in hasty:
            launcher.close()
        patient = [Launcher(kind, cluster.environment(ATOLL_SLURM_PLUGIN=plugin_path()), work_dir=str(folder / kind))
                   for kind in ("libslurm", "commands")]
        check_full_queue(cluster, patient, job)
        tell(begin, "full queue")
        check_lost_node(cluster, patient, job)
        tell(begin, "lost node")
        for launcher in patient:
            launcher.close()


def tell(begin, what):
    print(f"{time.monotonic() - begin:5.1f} s  {what}", flush=True)


def main():
    begin = time.monotonic()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-launcher-"))
    folder.chmod(0o755)
    try:
        local_checks(folder / "local")
        tell(begin, "this machine")
        skip_without_slurm()
        slurm_checks(folder / "slurm", begin)
    finally:
        for path in folder.glob("**/atoll/jobs/*/supervisor"):  # a test that failed leaves jobs behind
            supervisor = path.read_text().split()[1]
            if read_bytes(f"/proc/{supervisor}/comm") == b"atoll-jobs\n":
                os.kill(int(supervisor), 9)  # its script dies with it
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
