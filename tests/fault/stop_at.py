"""Kills a program before its n-th system call that changes something others see (ptrace; x86-64 Linux).

Only the program itself is followed, not what it starts: a supervisor that it forked goes on, as after any kill.
"""
import ctypes
import os
import platform
import signal

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.restype = ctypes.c_long
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
TRACEME, PEEKUSER, SYSCALL, SETOPTIONS = 0, 3, 24, 0x4200
TRACESYSGOOD, EXITKILL = 1, 1 << 20
ORIG_RAX, RSI, RDX = 15 * 8, 13 * 8, 12 * 8
O_CREAT = 0o100
WRITES = {1: "write", 18: "pwrite64", 20: "writev", 77: "ftruncate"}
STEPS = {56: "clone", 57: "fork", 58: "vfork", 435: "clone3", 74: "fsync", 75: "fdatasync", 82: "rename", 83: "mkdir", 84: "rmdir",
         86: "link", 87: "unlink", 88: "symlink", 257: "openat", 258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat",
         316: "renameat2"}


def usable():
    """None, or why not."""
    if platform.machine() != "x86_64" or os.uname().sysname != "Linux":
        return f"system calls are followed on x86-64 Linux only, not on {platform.machine()}"
    try:
        return None if run(["/bin/true"], 0)[1] == 0 else "a process cannot be followed here (ptrace)"
    except OSError as error:
        return f"a process cannot be followed here (ptrace: {error})"


def ptrace(request, pid, address=0, data=0):
    ctypes.set_errno(0)
    result = LIBC.ptrace(request, pid, address, data)
    if result == -1 and ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace {request}: {os.strerror(ctypes.get_errno())}")
    return result


def start(argv, environment, output):
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)  # stopped by its exec
        ptrace(SETOPTIONS, pid, 0, TRACESYSGOOD | EXITKILL)
        return pid
    try:
        fd = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        ptrace(TRACEME, 0)
        os.execvpe(argv[0], argv, environment)
    finally:
        os._exit(127)


def name_of(pid, kinds):
    number = ptrace(PEEKUSER, pid, ORIG_RAX)
    name = kinds.get(number)
    return name if name != "openat" or ptrace(PEEKUSER, pid, RDX) & O_CREAT else None


def run(argv, n, kinds=STEPS, environment=None, output="/dev/null"):
    """Kills before the n-th (from 1; 0 never).  Returns (name of the call or None, status, number of such calls begun)."""
    pid = start(argv, environment or dict(os.environ), output)
    count, entering, deliver = 0, True, 0
    while True:
        ptrace(SYSCALL, pid, 0, deliver)
        _, status = os.waitpid(pid, 0)
        deliver = 0
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            return None, os.waitstatus_to_exitcode(status), count
        if os.WSTOPSIG(status) != signal.SIGTRAP | 0x80:
            deliver = os.WSTOPSIG(status) if os.WSTOPSIG(status) != signal.SIGTRAP else 0
            continue
        name = name_of(pid, kinds) if entering else None
        entering = not entering
        count += name is not None
        if name and count == n:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return name, -signal.SIGKILL, count
