"""Imports Triton once, and forks a child for each source, or for each part of its images: what is hostile runs in the child alone.

The zygote takes requests as bytes and passes a child's bytes on as they are; it looks into neither, and no later child has a copy of
them (a request is wiped once its child is forked, answers lie in memory that is not inherited).  Before a child reads
its request it has no link, no descriptor but its answer's, no program, process or signal to another (seccomp), no file to write
(Landlock) and limits on memory, processor time and wall time.

Frames on descriptor 0, each a u32 length and as many bytes, numbers little-endian:
  Atoll, once:  blob JSON {"path", "arch", "seconds", "memory", "has_landlock", "landlock", "seccomp", "tgkill"}
  zygote, once: u32 0 or 1, text: JSON of facts, or why it cannot be
  Atoll:        u64 serial, u32 part, u32 parts, blob request (triton_kernel.py)
  zygote:       u64 serial, u32 how (0 answered, 1 exit status, 2 signal, 3 wall time, 4 too long), u32 which, u64 peak bytes beyond ours,
                u64 ns of its processor time, blob the child's answer, or what it printed"""
import ctypes
import json
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time

from atoll import host
from atoll.refusal import Refusal

LINK, FILTER, RULESET = 0, 3, 4
REQUEST_BYTES = 24 << 20
ANSWER_BYTES = 24 << 20
WORDS_BYTES = 64 << 10
OLDEST = (3, 6)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4
ANSWERED, EXITED, SIGNALLED, LATE, LONG = range(5)


def fill(view):
    """All of it from the link, into memory of ours: what a candidate wrote must not stay in the heap, of which every later child
    has a copy."""
    while view:
        count = os.readv(LINK, [view[:1 << 20]])
        if count == 0:
            os._exit(0)
        view = view[count:]


def receive(room):
    """Bytes of the frame that is now in room."""
    head = bytearray(4)
    fill(memoryview(head))
    length, = struct.unpack("<I", head)
    if length > len(room):
        os._exit(65)
    fill(memoryview(room)[:length])
    return length


def send(*parts):
    for part in (struct.pack("<I", sum(len(part) for part in parts)),) + parts:
        data = memoryview(part)
        while data:
            try:
                data = data[os.write(LINK, data):]
            except BlockingIOError:
                select.select([], [LINK], [])


def blob(data):
    return struct.pack("<I", len(data)) + data


def apart(count):
    """Memory that children do not have."""
    room = mmap.mmap(-1, count, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    room.madvise(mmap.MADV_DONTFORK)
    return room


def own_memory():
    """Bytes of address space, and of it resident."""
    with open("/proc/self/statm") as file:
        pages = [int(word) for word in file.read().split()[:2]]
    return [count * resource.getpagesize() for count in pages]


class Child:
    def __init__(self, serial, pid, answer, words, deadline, resident):
        self.serial, self.pid, self.answer, self.words, self.deadline = serial, pid, answer, words, deadline
        self.resident = resident  # bytes that it has from the zygote
        self.room, self.length, self.how = apart(ANSWER_BYTES + 1), 0, ANSWERED

    def take(self):
        """What the child says; False at its end."""
        count = os.readv(self.answer, [memoryview(self.room)[self.length:self.length + (1 << 20)]])
        self.length += count
        if self.length > ANSWER_BYTES:
            self.end(LONG)
        return count > 0 and self.how == ANSWERED

    def end(self, how):
        self.how = how
        os.kill(self.pid, signal.SIGKILL)

    def report(self):
        os.close(self.answer)
        # One that is on its way out keeps its own status; one that only closed its end does not stay.
        os.kill(self.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        how, which = self.how, 0
        if how == ANSWERED and os.WIFSIGNALED(status):
            how, which = SIGNALLED, os.WTERMSIG(status)
        elif how == ANSWERED and status != 0:
            how, which = EXITED, os.WEXITSTATUS(status)
        if how != ANSWERED:
            self.length = os.preadv(self.words, [memoryview(self.room)[:WORDS_BYTES]], 0)
        os.close(self.words)
        view = memoryview(self.room)[:self.length]
        grown = max(0, usage.ru_maxrss * 1024 - self.resident)
        processor_ns = int(1e9 * (usage.ru_utime + usage.ru_stime))
        send(struct.pack("<QIIQQI", self.serial, how, which, grown, processor_ns, self.length), view)
        view.release()
        self.room.close()


class Zygote:
    def __init__(self, settings):
        self.settings = settings
        self.children = []
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.filter = os.pread(FILTER, 1 << 20, 0)
        self.request = mmap.mmap(-1, REQUEST_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        sys.path[:] = settings["path"] + [path for path in sys.path if path not in settings["path"]]
        sys.modules["torch"] = None  # Triton asks for it where it can be had: 3 GB and more of address space that nothing needs
        try:
            import triton
            version = tuple(int(part) for part in triton.__version__.split(".")[:2])
        except ImportError as error:
            raise Refusal("unsupported", "%s has no Triton that works: %s" % (sys.executable, error))
        if version < OLDEST:
            raise Refusal("unsupported", "Triton %s of %s is too old: 3.6 and later work" % (triton.__version__, sys.executable))
        from atoll import triton_kernel
        self.kernel = triton_kernel
        self.compiler = triton_kernel.Compiler(settings["arch"])
        self.compiler.warm_up()
        self.facts = {"triton": triton.__version__, "python": sys.version.split()[0], "ptxas": self.compiler.ptxas,
                      "cuda": self.compiler.cuda, "threads": len(os.listdir("/proc/self/task"))}
        self.resident = own_memory()[1]
        self.libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # a child must not read the memory of what forks the next one

    def confine(self):
        """Nothing of it can be taken back.  The limit on memory comes on top of the address space that a child begins with: what
        an interpreter maps of libraries is no memory of the source's.  Threads and arenas of theirs, which reserve more than they
        use, there are none: Triton turns MLIR's off."""
        memory, seconds = own_memory()[0] + int(self.settings["memory"]), int(self.settings["seconds"])
        self.libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for which, value in ((resource.RLIMIT_AS, memory), (resource.RLIMIT_CPU, seconds + 2),
                             (resource.RLIMIT_FSIZE, WORDS_BYTES), (resource.RLIMIT_CORE, 0),
                             (resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_STACK, 64 << 20)):
            _, hard = resource.getrlimit(which)
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(which, (value, value))
        if self.settings["has_landlock"] and self.libc.syscall(ctypes.c_long(self.settings["landlock"]), RULESET, 0) != 0:
            raise OSError(ctypes.get_errno(), "landlock_restrict_self")
        host.install(self.settings["seccomp"], self.filter)
        host.install(self.settings["seccomp"], host.no_signal_to_others(self.settings["tgkill"], os.getpid()))

    def child(self, request, part, parts, answer, words):
        """Never returns."""
        status = 70
        try:
            os.dup2(words, 1)
            os.dup2(words, 2)
            os.dup2(answer, 0)  # the link is gone
            self.confine()
            os.closerange(3, 1024)
            says = self.kernel.answer(self.compiler, request, part, parts)
            if not says["ok"]:
                says["printed"] = os.pread(2, WORDS_BYTES, 0).decode("utf-8", "replace").replace("\0", " ")
            body = json.dumps(says).encode()
            if len(body) <= ANSWER_BYTES:
                data = memoryview(body)
                while data:
                    data = data[os.write(0, data):]
                status = 0
        except MemoryError:
            status = 73
        except BaseException as error:
            try:
                os.write(2, ("%s: %s" % (type(error).__name__, error)).encode()[:4096])
            except BaseException:
                pass
        finally:
            os._exit(status)

    def start(self):
        received = receive(self.request)
        serial, part, parts, length = struct.unpack_from("<QIII", self.request)
        answer, other = os.pipe()
        words = os.memfd_create("words", 0)
        pid = os.fork()
        if pid == 0:
            self.child(self.request[20:20 + length], part, parts, other, words)
        self.request[:received] = bytes(received)
        os.close(other)
        self.children.append(Child(serial, pid, answer, words, time.monotonic() + self.settings["seconds"],
                                   self.resident))

    def serve(self):
        poll = select.poll()
        poll.register(LINK, select.POLLIN)
        known = {}
        while True:
            for child in self.children:
                if child.answer not in known:
                    known[child.answer] = child
                    poll.register(child.answer, select.POLLIN)
            left = min([child.deadline for child in self.children], default=None)
            wait = None if left is None else max(0, (left - time.monotonic()) * 1000) + 1
            for fd, _ in poll.poll(wait):
                if fd == LINK:
                    self.start()
                elif not known[fd].take():
                    self.finish(poll, known, known[fd])
            for child in list(self.children):
                if time.monotonic() >= child.deadline:
                    child.end(LATE)
                    self.finish(poll, known, child)

    def finish(self, poll, known, child):
        poll.unregister(child.answer)
        del known[child.answer]
        self.children.remove(child)
        child.report()


def main():
    zygote = None
    try:
        frame = bytearray(1 << 20)
        zygote = Zygote(json.loads(bytes(frame[4:receive(frame)])))
        failed, text = 0, json.dumps(zygote.facts)
    except Refusal as refusal:
        failed, text = 1, refusal.reply()["error"]
    except BaseException as error:
        failed, text = 1, "Triton does not work in %s: %s: %s" % (sys.executable, type(error).__name__, error)
    send(struct.pack("<I", failed), blob(text.encode("utf-8", "replace")[:900]))
    if not failed:
        zygote.serve()
    os._exit(0)
