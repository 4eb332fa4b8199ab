"""The frame of every role: begins as Atoll says, confines itself, answers requests until the link closes.

A role is a module of this package with a class Role(host), whose methods op_NAME(request, fd) answer the request
{"op": "NAME", ...}: they return a dict or raise Refusal.  The descriptor (-1: none) is closed after the call."""
import ctypes
import errno
import importlib.util
import os
import struct
import sys
import traceback

from atoll.link import Link
from atoll.refusal import Refusal

LINK_FD = 3
OLDEST = (1, 13)
ROLES = ("oracle", "rival", "inspect", "probe", "fork_server")
SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC = 1, 1


class Host:
    """What roles share: torch, the device, and what Atoll asked for."""

    def __init__(self, request, torch):
        self.torch = torch
        self.device = torch.device("cuda", 0) if request.get("gpu") else torch.device("cpu")
        self.threads = int(request.get("threads") or 1)
        self.folder = request["folder"]  # the only one to write to


def version_of(torch):
    try:
        major, minor = str(torch.__version__).split("+")[0].split(".")[:2]
        return int(major), int(minor)
    except ValueError:
        return OLDEST


def path_take(request):
    sys.path[:] = request["path"] + [path for path in sys.path if path not in request["path"]]


def torch_import():
    other = "name another interpreter with --python or in ATOLL_PYTHON"
    try:
        import torch
    except ImportError as error:
        raise Refusal("unsupported", "%s has no torch that works: %s; %s" % (sys.executable, error, other))
    if version_of(torch) < OLDEST:
        raise Refusal("unsupported", "torch %s of %s is too old: 1.13 and later work; %s"
                      % (torch.__version__, sys.executable, other))
    return torch


def device_open(host):
    if host.device.type != "cuda":
        return
    try:
        host.torch.zeros(1, device=host.device)
        host.torch.cuda.synchronize(host.device)
    except Exception as error:
        raise Refusal("unsupported", "torch %s cannot use the GPU: %s"
                      % (host.torch.__version__, str(error).split("\n")[0]))


def role_open(name, host):
    try:
        module = importlib.import_module("atoll." + name)
    except ModuleNotFoundError as error:
        if error.name != "atoll." + name:
            raise
        raise Refusal("unsupported", "this installation of Atoll has no role \"%s\": there is no %s.py in %s"
                      % (name, name, os.path.dirname(os.path.abspath(__file__))))
    return module.Role(host)


def confine(call_number, fd):
    """For all threads there are: no program, no process, no signal to another from here on."""
    install(call_number, os.pread(fd, 1 << 20, 0))


def install(call_number, code):
    """A seccomp filter, for all threads there are."""
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_char_p)]

    program = Program(len(code) // 8, code)
    status = ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(call_number), SECCOMP_SET_MODE_FILTER,
                                                       SECCOMP_FILTER_FLAG_TSYNC, ctypes.byref(program))
    if status != 0:
        raise Refusal("internal", "cannot install the seccomp filter of a module: %s"
                      % (os.strerror(ctypes.get_errno()) if status < 0 else "thread %d has another one" % status))


def no_signal_to_others(call_number, own):
    """A filter that leaves tgkill to the process itself, by which it aborts."""
    load, equal, give = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
    code = [(load, 0, 0, 0), (equal, 0, 2, call_number), (load, 0, 0, 16), (equal, 0, 1, own),
            (give, 0, 0, 0x7FFF0000), (give, 0, 0, 0x00050000 | errno.EPERM)]
    return b"".join(struct.pack("<HBBI", *row) for row in code)


def facts_of(host):
    triton = ""
    try:
        if importlib.util.find_spec("triton"):
            from importlib import metadata
            triton = metadata.version("triton")
    except Exception:
        pass
    torch = host.torch
    return {"python": sys.version.split()[0], "torch": str(torch.__version__), "cuda": str(torch.version.cuda or ""),
            "triton": triton, "device": torch.cuda.get_device_name(host.device) if host.device.type == "cuda" else ""}


def begin(name, link):
    """The role and what the hello says.  The first request tells how to begin; its descriptor holds the filter."""
    request, fd = link.receive()
    if request is None:
        os._exit(0)
    path_take(request)
    if request.get("cores"):
        os.sched_setaffinity(0, request["cores"])
    torch = torch_import()
    host = Host(request, torch)
    torch.set_num_threads(host.threads)
    device_open(host)
    role = None if name == "probe" else role_open(name, host)
    facts = facts_of(host)
    if fd >= 0:
        confine(request["seccomp"], fd)
        os.close(fd)
    return role, facts


def answer(role, request, fd):
    operation = getattr(role, "op_" + str(request.get("op")), None)
    if operation is None:
        raise Refusal("internal", "there is no operation \"%s\"" % request.get("op"))
    return operation(request, fd)


def reply_of(function, *arguments):
    """What function(...) gave, and the reply that tells it or what went wrong."""
    try:
        value = function(*arguments)
        return value, {"ok": True}
    except Refusal as refusal:
        return None, refusal.reply()
    except MemoryError:
        return None, Refusal("memory", "no memory is left", trace=traceback.format_exc()).reply()
    except BaseException as error:
        kind = "memory" if type(error).__name__ == "OutOfMemoryError" else "internal"
        text = "".join(traceback.format_exception_only(type(error), error))
        return None, Refusal(kind, text, trace=traceback.format_exc()).reply()


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in ROLES:
        sys.exit("atoll_torch.py: a role is one of %s" % ", ".join(ROLES))
    link = Link(LINK_FD)
    if sys.argv[1] == "fork_server":
        importlib.import_module("atoll.fork_server").serve(link)
    serve(sys.argv[1], link)


def serve(name, link):
    """One role, until the link closes.  Never returns."""
    value, reply = reply_of(begin, name, link)
    role, facts = value or (None, {})
    link.send({**reply, **facts})
    while reply["ok"]:
        request, fd = link.receive()
        if request is None:
            break
        value, said = reply_of(answer, role, request, fd)
        if fd >= 0:
            os.close(fd)
        link.send({**(value or {}), **said})
    os._exit(0)
