"""Imports torch once, and forks a child for each problem: what is hostile runs in the child alone.

The server reads nothing of a problem: the child gets a link of its own, and its request through it.  What a child could leave
behind in the server is nothing: they share no memory that is written to (looked at before the first fork), no descriptor, and the
child's folder is the only one that it can write to.  It begins like a process of its own (host.serve): cores, threads, GPU, role,
filter.

Requests:
  {"op": "fork", "role", "folder", "landlock", "seccomp", "tgkill": numbers of calls}, descriptors: link, words, and a Landlock
      ruleset where the kernel has any -> {"pid"}
  {"op": "reap", "is_waiting"} -> {"pid": 0 while it runs, "status": as wait(2) has it}.  Until then its number stays its own.

One child at a time: the next one is forked when the last one was reaped."""
import ctypes
import gc
import importlib
import os
import re
import signal
import sys

from atoll import host
from atoll.link import Link
from atoll.refusal import Refusal

PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
DESCRIPTORS = 4096
# What inspections come to import.  What this torch does not have is left out.
EARLY = ("atoll.inspect", "atoll.problem_seed", "atoll.seed", "torch.utils._device", "torch._decomp.decompositions_for_rng",
         "torch._dynamo")
# Whether there is a GPU is asked of its management library: CUDA once begun is of no use to a child.
WITHOUT_CUDA = "PYTORCH_NVML_BASED_CUDA_CHECK"
CUDA_NODE = "/dev/nvidia-uvm"  # which CUDA alone opens


def import_early():
    for name in EARLY:
        try:
            importlib.import_module(name)
        except ImportError:
            if name.startswith("atoll."):
                raise


def target_of(fd):
    try:
        return os.readlink("/proc/self/fd/" + fd)
    except OSError:  # the listing's own
        return ""


def shared_by_children(torch):
    """Why a child would not be alone, or None: threads are not forked, a GPU's context cannot be, and pages that are shared for
    writing let one child speak to the next."""
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        return "it has %d threads" % threads
    if torch.cuda.is_initialized() or CUDA_NODE in map(target_of, os.listdir("/proc/self/fd")):
        return "CUDA has begun"
    with open("/proc/self/maps") as maps:
        shared = [line.split()[-1] for line in maps if re.match(r"\S+ .w.s", line)]
    return "it shares memory: %s" % shared[0] if shared else None


class ForkServer:
    def __init__(self, request):
        host.path_take(request)
        self.folder, self.cores = request["folder"], os.sched_getaffinity(0)
        os.environ[WITHOUT_CUDA] = "1"
        self.torch = host.torch_import()
        self.torch.set_num_threads(1)
        import_early()
        gc.freeze()  # pages of what was imported stay shared
        self.child = 0
        self.libc = ctypes.CDLL(None, use_errno=True)
        why = shared_by_children(self.torch)
        if why:
            raise Refusal("unsupported", "a Python with torch cannot be forked: %s" % why)
        self.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # a child must not read or change the memory of what forks the next one

    def facts(self):
        return {"python": sys.version.split()[0], "torch": str(self.torch.__version__), "cuda": "", "triton": "", "device": ""}

    def op_fork(self, request, fds):
        if self.child or len(fds) < 2:
            raise Refusal("internal", "a child is there already" if self.child else "a child needs a link and words")
        server = os.getpid()
        pid = os.fork()
        if pid == 0:
            self.begin(request, fds, server)
        self.child = pid
        return {"pid": pid}

    def op_reap(self, request, fds):
        if not self.child:
            raise Refusal("internal", "there is no child")
        pid, status = os.waitpid(self.child, 0 if request["is_waiting"] else os.WNOHANG)
        self.child = 0 if pid else self.child
        return {"pid": pid, "status": status}

    def begin(self, request, fds, server):
        """The child.  Never returns."""
        try:
            self.confine(request, fds, server)
            host.serve(request["role"], Link(host.LINK_FD))
        except BaseException as error:
            os.write(2, ("%s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace")[:4096])
        finally:
            os._exit(71)

    def confine(self, request, fds, server):
        """Before it has read a byte of its problem's."""
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != server:
            os._exit(71)
        self.libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
        os.sched_setaffinity(0, self.cores)  # the one thing that a child may change of another process
        os.environ.pop(WITHOUT_CUDA)
        os.chdir(request["folder"])
        for name, value in os.environ.items():
            if value == self.folder:
                os.environ[name] = request["folder"]
        if len(fds) > 2 and self.libc.syscall(ctypes.c_long(request["landlock"]), fds[2], 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
        link, words = fds[:2]
        for fd in (1, 2):
            os.dup2(words, fd)
        os.dup2(link, host.LINK_FD)  # the server's is closed
        os.closerange(host.LINK_FD + 1, DESCRIPTORS)
        host.install(request["seccomp"], host.no_signal_to_others(request["tgkill"], os.getpid()))


def begin(link):
    request, fd = link.receive()
    if request is None:
        os._exit(0)
    if fd >= 0:
        os.close(fd)
    server = ForkServer(request)
    return server, server.facts()


def answer(server, request, fds):
    if request.get("op") not in ("fork", "reap"):
        raise Refusal("internal", "there is no operation \"%s\"" % request.get("op"))
    return getattr(server, "op_" + request["op"])(request, fds)


def serve(link):
    value, reply = host.reply_of(begin, link)
    server, facts = value or (None, {})
    link.send({**reply, **facts})
    while reply["ok"]:
        request, fds = link.receive_with(3)
        if request is None:
            break
        value, said = host.reply_of(answer, server, request, fds)
        for fd in fds:
            os.close(fd)
        link.send({**(value or {}), **said})
    os._exit(0)
