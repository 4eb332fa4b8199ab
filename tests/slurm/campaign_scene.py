"""For tests: submitted campaigns on a private Slurm, and what must be true of every one of them when it is done."""
import collections
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "fault"))
import journal
from cluster import wait_until

PATIENCE_S = 120  # for what comes by itself on a loaded machine
PROFILE = """\
version: 1
name: test
launcher: {launcher}
step:
  start: srun
  mpi: pmix
limits:
  poll: 1
{limits}end:
  continue: {go_on}
{end}{setup}"""


DECISIONS, REDISPATCH = 130, 8  # docs/spec/journal.md, events.md


def decisions_of(path):
    """Types of all decisions in a journal."""
    found = []
    for kind, payload in journal.frames(path.read_bytes()):
        at = 12
        while kind == DECISIONS and at + 4 < len(payload):
            length, = struct.unpack_from("<I", payload, at)
            found.append(payload[at + 4])
            at += 4 + length
    return found


def check(condition, message):
    if not condition:
        raise AssertionError(message)


class Site:
    """A profile, as text.  pace_ms: what the null backend waits for each result; options of a campaign are no words of atoll
    submit where they are for tests alone, so the job writes it into the parts before anything reads them."""

    def __init__(self, launcher=None, go_on="requeue", pace_ms=20, limits="", end=""):
        setup = ""
        if pace_ms:
            setup = ("setup:\n  - 'for f in parts/*/campaign.yaml; do grep -q sample-device \"$f\" || "
                     f"sed -i \"s/^options:.*/&\\n  sample-device: \\\"{pace_ms}ms\\\"/\" \"$f\"; done'\n")
        self.launcher, self.more = launcher, dict(go_on=go_on, limits=limits, end=end, setup=setup)

    def text(self, launcher):
        """launcher: of the lane, where the scenario does not care."""
        return PROFILE.format(launcher=self.launcher or launcher, **self.more)


class Scene:
    """A folder, a queue of campaigns of its own, and the commands of a user of the cluster."""

    def __init__(self, cluster, launcher, build, source, name):
        self.cluster, self.launcher, self.build, self.source, self.name = cluster, launcher, build, source, name
        self.root = pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=cluster.folder))
        self.root.chmod(0o755)

    def environment(self, **more):
        return self.cluster.environment(ATOLL_QUEUE=str(self.root / "queue"), **more)

    def atoll(self, *words, status=0, timeout=PATIENCE_S, **more):
        """One command; what it said on both streams."""
        done = subprocess.run([f"{self.build}/atoll", *map(str, words)], env=self.environment(**more), capture_output=True,
                              text=True, timeout=timeout, cwd=self.root)
        check(done.returncode == status, f"atoll {' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def submit(self, name, *words, site=None, nodes=2, evaluations=300, minutes=10, tasks=("softmax_rows", "transpose"),
               real=False, status=0, **more):
        """Submits NAME and returns its Campaign."""
        profile = self.root / f"{name}.yaml"
        profile.write_text((site or Site()).text(self.launcher))
        campaign = Campaign(self, name)
        only = [word for task in tasks for word in ("--only", task)]
        kind = ["--threads", "1", "--sample-seconds", "0.05"] if real else ["--backend", "null"]
        campaign.said = self.atoll(
            "submit", f"{self.source}/suites/starter", "-o", campaign.dir, "--site", profile, "--nodes", nodes, "--time",
            f"{minutes}m", "--seconds", 3000, "--evaluations", evaluations, "--seed", 7, *only, *kind,
            "--eval-option=--ack-log", f"--eval-option={campaign.ack_log}", *words, status=status, **more)
        return campaign

    def slurm(self, *words, check=True):
        return self.cluster.run(*map(str, words), check=check)


class Campaign:
    def __init__(self, scene, name):
        self.scene, self.name = scene, name
        self.dir, self.ack_log = scene.root / name, scene.root / f"{name}.acks"
        self.submitted = time.monotonic()

    # --- looking ---------------------------------------------------------------------------------------------------

    def acknowledged(self):
        text = self.ack_log.read_text() if self.ack_log.exists() else ""
        return [int(line) for line in text[:text.rfind("\n") + 1].split()]

    def status(self, *words):
        return json.loads(self.scene.atoll("status", self.dir, "--json", "--fresh", *words))[0]

    def history(self, what=None):
        path = self.dir / "history.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if what in (None, line["what"])]

    def jobs(self):
        """Ids of what was submitted for it, in order."""
        return [line["job"] for line in self.history("submitted")]

    def logs(self):
        return "".join(f"--- {path.name}\n{path.read_text(errors='replace')}" for path in sorted((self.dir / "log").glob("*")))

    def describe(self):
        told = "\n".join(map(json.dumps, self.history()))
        queue = self.scene.slurm("squeue", "-a", "-t", "all", check=False)
        slurm = (self.scene.cluster.folder / "log" / "slurmctld.log").read_text(errors="replace")[-1500:]
        return f"{self.name}:\n{told}\n{queue}\n{self.logs()[-5000:]}\n--- slurmctld\n{slurm}"

    # --- waiting ---------------------------------------------------------------------------------------------------

    def wait(self, condition, what, seconds=PATIENCE_S):
        try:
            return wait_until(condition, seconds, f"{self.name}: {what}")
        except Exception as error:
            raise AssertionError(f"{error}\n{self.describe()}") from None

    def wait_acks(self, count):
        self.wait(lambda: len(self.acknowledged()) >= count, f"{count} results")

    def wait_first(self):
        """Seconds from the submission to the first result that is durable."""
        self.wait_acks(1)
        return time.monotonic() - self.submitted

    def wait_told(self, what, count=1):
        self.wait(lambda: len(self.history(what)) >= count, f"{count} times '{what}' in the history")

    def wait_done(self):
        self.wait(lambda: (self.dir / "done.json").exists(), "done.json")

    def wait_no_job(self):
        def idle():
            states = [j["state"] for j in self.status()["jobs"]]
            return all(s in ("completed", "failed", "cancelled", "timeout", "node-fail", "preempted") for s in states)
        self.wait(idle, "an end of its jobs")

    def push(self, job):
        """A job that was requeued need not wait two minutes.  Within the second of its end Slurm would start it with a
        credential that it has just revoked."""
        if self.scene.slurm("squeue", "-h", "-j", job, "-o", "%T", check=False).strip() == "PENDING":
            time.sleep(2)
            self.scene.slurm("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)

    def hurry(self, job):
        def is_back():
            self.push(job)
            return self.history("restart")
        self.wait(is_back, f"the start of requeued job {job}")

    # --- what must be true -----------------------------------------------------------------------------------------

    def part_results(self):
        """Numbers of the results that count in each part's journals, by a reader that shares no code with Atoll."""
        parts = sorted((self.dir / "parts").iterdir())
        return {part.name: journal.counted_results(part) for part in parts}

    def sent_again(self):
        """Orders that were under way when a step was lost: their numbers were never answered, and a resume sent them again."""
        return sum(decisions_of(path).count(REDISPATCH) for path in self.dir.glob("parts/*/jobs/*/journal.atl"))

    def archive_results(self):
        """(campaign id, number) of all results in the merged archive."""
        import h5py
        with h5py.File(self.dir / "archive.h5", "r") as file:
            ids = [bytes(value).hex() for value in file["campaign/id"][:]]
            found = []
            for table in ("evaluations", "duels"):
                owners, numbers = file[f"{table}/campaign"][:], file[f"{table}/evaluation"][:]
                found += [(ids[int(o)], int(n)) for o, n in zip(owners, numbers)]
        return found

    def part_id(self, part):
        for line in (self.dir / "parts" / part / "campaign.yaml").read_text().splitlines():
            if line.startswith("id:"):
                return line.split()[1].strip('"')
        raise AssertionError(f"part {part} has no id")

    def check_done(self, *told):
        """Every scenario ends with this; told: words that the history must hold."""
        self.wait_done()
        self.wait_no_job()
        status = self.status()
        check(status["phase"] == "done" and status["sums"]["ended"] == len(status["parts"]), f"{status}\n{self.describe()}")
        text = self.scene.atoll("status", self.dir)
        check(": done" in text.splitlines()[0], text)
        for word in ("done", *told):
            check(self.history(word), f"the history does not tell of '{word}'\n{self.describe()}")
        parts, archive = self.part_results(), collections.Counter(self.archive_results())
        wanted = collections.Counter((self.part_id(part), number) for part, numbers in parts.items() for number in numbers)
        check(max(archive.values()) == 1, f"doubled in the archive: {[k for k, n in archive.items() if n > 1][:5]}")
        check(archive == wanted, f"archive and journals differ: {sorted((archive - wanted) | (wanted - archive))[:5]}")
        counted = {part["part"]: part["evaluated"] + part["duelled"] for part in status["parts"]}
        check(counted == {part: len(numbers) for part, numbers in parts.items()}, f"status counts {counted}")
        self.check_acknowledged(parts)
        self.scene.atoll("verify", self.dir)
        self.scene.atoll("verify", self.dir / "archive.h5")
        self.scene.atoll("replay", self.dir)
        return len(wanted)

    def check_acknowledged(self, parts):
        """Numbers of several parts are alike, so each may have been acknowledged once for every part that has it."""
        acknowledged = collections.Counter(self.acknowledged())
        there = collections.Counter(number for numbers in parts.values() for number in numbers)
        check(acknowledged, f"nothing was acknowledged\n{self.describe()}")
        lost = acknowledged - there
        check(not lost, f"acknowledged and lost: {sorted(lost)[:5]}\n{self.describe()}")
