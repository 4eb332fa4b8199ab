#!/usr/bin/env python3
"""A private Slurm of several nodes on this host, in a folder of its own: any user, no systemd, nothing in /etc.

    with Cluster(nodes=4) as cluster:
        subprocess.run(["sinfo"], env=cluster.environment())

By hand: cluster.py up FOLDER [NODES] | down FOLDER | status FOLDER | killnode FOLDER NODE | startnode FOLDER NODE |
ctld-stop FOLDER | ctld-cont FOLDER | ctld-kill FOLDER | ctld-start FOLDER | environment FOLDER

All processes are told apart by what /proc says of them: a daemon, or a process of a job, belongs to the cluster when its
environment names the cluster's slurm.conf, munged when its command line names the cluster's folder.  Nothing is ended by
name alone, and a shell that merely uses the cluster is left alone.
"""
import atexit
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

DAEMONS = ("munged", "mungekey", "slurmctld", "slurmd", "sinfo", "sbatch")
SYSTEM_FOLDERS = ("/usr/sbin", "/usr/local/sbin", "/sbin")
START_TRIES = 4  # another program may take a port between its choice and its use
UP_SECONDS = 60

CONFIGURATION = """\
ClusterName=reef
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmdPidFile={folder}/run/slurmd.%n.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
TmpFS={folder}/tmp/%n
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.%n.log
MailProg=/bin/true
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobcomp
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
GresTypes=gpu
ReturnToService=2
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,bf_interval=2,sched_min_interval=0,batch_sched_delay=0,default_queue_depth=1000
PriorityType=priority/basic
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
JobRequeue=1
RequeueExit=99
JobFileAppend=1
KillOnBadExit=0
KillWait=2
MinJobAge={min_job_age_s}
MessageTimeout=10
SlurmctldTimeout=30
SlurmdTimeout={node_timeout_s}
InactiveLimit=0
OverTimeLimit=0
MaxArraySize=1001
{more}
NodeName=n[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{node_ports}] CPUs={cpus} RealMemory=4000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP PriorityTier=10 PreemptMode=OFF
PartitionName=scav Nodes=n[1-{nodes}] MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=0
{more_partitions}
"""


class ClusterError(Exception):
    pass


def program(name):
    path = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *SYSTEM_FOLDERS]))
    if not path:
        raise ClusterError(f"{name} is not installed")
    return path


def missing():
    """What this machine lacks for a cluster: "" when nothing."""
    found = []
    for name in DAEMONS:
        try:
            program(name)
        except ClusterError:
            found.append(name)
    return " ".join(found)


def skip_without_slurm():
    """Ends a test with the status of a skip where there is no Slurm."""
    lacking = missing()
    if lacking:
        print(f"skipped: no {lacking} on this machine (./setup test installs Slurm)")
        sys.exit(77)


def free_ports(count):
    """So many ports that nobody listens on now, each below the range from which the kernel gives ports to clients."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        top = min(int(file.read().split()[0]), 32768)
    start = 10000 + (os.getpid() * 97 + int(time.monotonic() * 1000)) % (top - 12000)
    ports = []
    for port in [*range(start, top), *range(10000, start)]:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        ports.append(port)
        if len(ports) == count:
            return ports
    raise ClusterError(f"no {count} free ports")


def read_bytes(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError:
        return b""


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_fields(pid):
    """State, parent ... of a process; [] when it is gone."""
    return read_bytes(f"/proc/{pid}/stat").rpartition(b") ")[2].split()


def is_alive(pid):
    fields = stat_fields(pid)
    return bool(fields) and fields[0] != b"Z"


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def wait_until(condition, seconds, what):
    """Waits for a condition; what it returns.  For conditions that come by themselves: a loaded machine needs long."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise ClusterError(f"{what}: not within {seconds} s")
        time.sleep(0.05)


class Cluster:
    """nodes: n1 ... nN with cpus CPUs and two fake GPUs each; partitions main and scav (preempted by main).
    more: further lines of slurm.conf; more_partitions: lines behind the partitions."""

    def __init__(self, folder=None, nodes=4, cpus=4, more="", more_partitions="", min_job_age_s=300, node_timeout_s=30):
        self.is_own_folder = folder is None
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="atoll-slurm-")).resolve()
        self.nodes, self.cpus = nodes, cpus
        self.more, self.more_partitions = more, more_partitions
        self.min_job_age_s, self.node_timeout_s = min_job_age_s, node_timeout_s
        self.conf = self.folder / "etc" / "slurm.conf"

    def __enter__(self):
        return self.up()

    def __exit__(self, *ignored):
        self.down()

    def node_names(self):
        return [f"n{i + 1}" for i in range(self.nodes)]

    def environment(self, **more):
        """The environment of a user of this cluster, without traces of another one."""
        mine = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH_", "SQUEUE_", "SINFO_", "SCANCEL_"))}
        folders = [*mine.get("PATH", "").split(os.pathsep), *SYSTEM_FOLDERS]
        mine["PATH"] = os.pathsep.join(dict.fromkeys(f for f in folders if f))
        mine["SLURM_CONF"] = str(self.conf)
        # Shared-memory names of fake nodes of one host collide: ranks talk over TCP (and yield: there are more than cores).
        mine.update(OMPI_MCA_btl="self,tcp", OMPI_MCA_btl_tcp_if_include="lo", OMPI_MCA_oob_tcp_if_include="lo",
                    OMPI_MCA_mpi_yield_when_idle="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        mine.update(more)
        return mine

    def run(self, *command, timeout=60, check=True, **more):
        """One command of Slurm; its standard output."""
        done = subprocess.run(command, env=self.environment(**more), capture_output=True, text=True, timeout=timeout)
        if check and done.returncode != 0:
            raise ClusterError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    # --- start -------------------------------------------------------------------------------------------------

    def write_configuration(self):
        for name in ("etc", "munge", "log", "state", "run"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for node in self.node_names():
            (self.folder / "spool" / node).mkdir(parents=True, exist_ok=True)
            (self.folder / "tmp" / node).mkdir(parents=True, exist_ok=True)
            (self.folder / "tmp" / node).chmod(0o1777)
        for path in (self.folder, self.folder / "munge", self.folder / "etc"):
            path.chmod(0o755)  # munge refuses a socket that others cannot reach, jobs of other users need the rest
        ports = free_ports(1 + self.nodes)
        # A GPU is a device file that is there everywhere; nothing opens it.
        gpus = "".join(f"NodeName=n[1-{self.nodes}] Name=gpu File={file}\n" for file in ("/dev/null", "/dev/zero"))
        (self.folder / "etc" / "gres.conf").write_text(gpus)
        self.conf.write_text(CONFIGURATION.format(
            host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.getuid()).pw_name, folder=self.folder,
            ctld_port=ports[0], node_ports=",".join(map(str, ports[1:])), nodes=self.nodes, cpus=self.cpus, more=self.more,
            more_partitions=self.more_partitions, min_job_age_s=self.min_job_age_s, node_timeout_s=self.node_timeout_s))
        (self.folder / "cluster.json").write_text(json.dumps(
            {"nodes": self.nodes, "cpus": self.cpus, "min_job_age_s": self.min_job_age_s,
             "node_timeout_s": self.node_timeout_s, "more": self.more, "more_partitions": self.more_partitions}))

    @classmethod
    def at(cls, folder):
        """A cluster that another process brought up."""
        try:
            kept = json.loads(pathlib.Path(folder, "cluster.json").read_text())
        except OSError as error:
            raise ClusterError(f"no cluster in {folder}: {error.strerror}") from None
        return cls(folder=folder, **kept)

    def start(self, *command):
        done = subprocess.run([program(command[0]), *command[1:]], env=self.environment(), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise ClusterError(f"{command[0]} does not start: {done.stderr.strip()} (logs in {self.folder}/log)")

    def start_munge(self):
        munge = self.folder / "munge"
        key = munge / "key"
        if not key.exists():
            self.start("mungekey", "--create", f"--keyfile={key}")
        self.start("munged", f"--key-file={key}", f"--socket={munge}/socket", f"--pid-file={munge}/pid",
                   f"--log-file={munge}/log", f"--seed-file={munge}/seed", "--num-threads=4")

    def idle_nodes(self):
        """Idle ones of the first partition; 0 while the controller does not answer."""
        try:
            text = self.run("sinfo", "-h", "-p", "main", "-t", "idle", "-o", "%D", check=False)
        except subprocess.TimeoutExpired:
            return 0
        return int(text) if text.strip().isdigit() else 0

    def up(self):
        atexit.register(self.down)
        for attempt in range(START_TRIES):
            try:
                self.write_configuration()
                self.start_munge()
                self.ctld_start()
                for node in self.node_names():
                    self.node_start(node)
                wait_until(lambda: self.idle_nodes() == self.nodes, UP_SECONDS, f"{self.nodes} idle nodes")
                return self
            except ClusterError as error:
                self.kill_all()
                if attempt == START_TRIES - 1:
                    tail = read_bytes(self.folder / "log" / "slurmctld.log")[-2000:].decode(errors="replace")
                    raise ClusterError(f"{error}\n{tail}") from None
                shutil.rmtree(self.folder / "state", ignore_errors=True)
        return self

    # --- who belongs to it ---------------------------------------------------------------------------------------

    def owns(self, pid):
        words = read_bytes(f"/proc/{pid}/environ").split(b"\0")
        if f"SLURM_CONF={self.conf}".encode() in words:
            is_daemon = read_bytes(f"/proc/{pid}/comm").strip() in (b"slurmctld", b"slurmd", b"slurmstepd", b"munged")
            return is_daemon or any(word.startswith(b"SLURMD_NODENAME=") for word in words)
        words = read_bytes(f"/proc/{pid}/cmdline")
        return b"munged" in words and f"--socket={self.folder}/munge/socket".encode() in words

    def members(self, name=None):
        """Processes of the cluster, jobs among them; name: of this program alone."""
        found = []
        for pid in processes():
            if name and read_bytes(f"/proc/{pid}/comm").strip() != name.encode():
                continue
            if is_alive(pid) and self.owns(pid):
                found.append(pid)
        return found

    def pid_of(self, which):
        """Process of "slurmctld" or "slurmd.n2"; 0 when it does not run."""
        text = read_bytes(self.folder / "run" / f"{which}.pid").strip()
        pid = int(text) if text.isdigit() else 0
        return pid if pid and is_alive(pid) and self.owns(pid) else 0

    # --- faults ----------------------------------------------------------------------------------------------------

    def ctld_start(self):
        self.start("slurmctld")

    def wait_for_notes(self, job):
        """The controller writes what it knows seconds after something changed: until a job that runs stands there.

        A job that a killed controller had not noted is started again by the next one, found on its node, and held."""
        begin = time.time()
        self.run("scontrol", "update", f"JobId={job}", "Comment=changed")
        wait_until(lambda: (self.folder / "state/job_state").stat().st_mtime > begin, 120, "Slurm's own notes")

    def ctld_kill(self):
        pid = self.pid_of("slurmctld")
        if pid:
            send(pid, signal.SIGKILL)
            wait_until(lambda: not is_alive(pid), 30, "slurmctld's end")

    def ctld_stop(self):
        """It keeps its port and answers nothing."""
        send(self.pid_of("slurmctld") or self.lost("slurmctld"), signal.SIGSTOP)

    def ctld_cont(self):
        send(self.pid_of("slurmctld") or self.lost("slurmctld"), signal.SIGCONT)

    def lost(self, what):
        raise ClusterError(f"{what} does not run")

    def node_start(self, node):
        self.start("slurmd", "-N", node)

    def node_kill(self, node):
        """What a power cut does: the node's daemon, its step managers and all processes of its jobs, at once."""
        daemon = self.pid_of(f"slurmd.{node}")
        if daemon:
            send(daemon, signal.SIGKILL)
        marks = {f"SLURMD_NODENAME={node}".encode(), f"SLURM_CONF={self.conf}".encode()}
        for pid in processes():
            if marks <= set(read_bytes(f"/proc/{pid}/environ").split(b"\0")):
                fields = stat_fields(pid)
                parent = int(fields[1]) if fields else 0
                if read_bytes(f"/proc/{parent}/comm").startswith(b"slurmstepd") and self.owns(parent):
                    send(parent, signal.SIGKILL)
                send(pid, signal.SIGKILL)

    def start_requeued(self, job):
        """A requeued job waits two minutes by Slurm's design; this one need not.  Not within the second in which it was killed: its
        node would take the new start for the killed one and fail the job.  Slurm refuses while the old processes end."""
        def push():
            update = ["scontrol", "update", f"JobId={job}", "StartTime=now+2"]
            return subprocess.run(update, env=self.environment(), capture_output=True, timeout=60).returncode == 0
        wait_until(push, 60, f"start of requeued job {job}")

    # --- end -------------------------------------------------------------------------------------------------------

    def kill_all(self):
        """The controller first, so that nothing is started again; whatever is left then, twice."""
        for pid in self.members("slurmctld"):
            send(pid, signal.SIGKILL)
        for _ in range(3):
            for pid in self.members():
                send(pid, signal.SIGKILL)
            time.sleep(0.02)

    def down(self):
        atexit.unregister(self.down)
        self.kill_all()
        wait_until(lambda: not self.members(), 30, "the end of all processes")
        if self.is_own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)


def main(words):
    if len(words) < 2:
        sys.exit(__doc__)
    verb, folder, rest = words[0], words[1], words[2:]
    try:
        if verb == "up":
            cluster = Cluster(folder, nodes=int(rest[0]) if rest else 4)
            cluster.up()
            atexit.unregister(cluster.down)
            print(f"export SLURM_CONF={cluster.conf}")
            return
        cluster = Cluster.at(folder)
        plain = {"down": cluster.down, "ctld-stop": cluster.ctld_stop, "ctld-cont": cluster.ctld_cont,
                 "ctld-kill": cluster.ctld_kill, "ctld-start": cluster.ctld_start}
        if verb in plain:
            plain[verb]()
        elif verb == "killnode":
            cluster.node_kill(rest[0])
        elif verb == "startnode":
            cluster.node_start(rest[0])
        elif verb == "environment":
            print(f"export SLURM_CONF={cluster.conf}")
        elif verb == "status":
            print(cluster.run("sinfo", "-N", "-o", "%N %P %T %E") + cluster.run("squeue"), end="")
        else:
            sys.exit(__doc__)
    except ClusterError as error:
        sys.exit(f"cluster.py: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
