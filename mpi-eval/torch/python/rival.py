"""The role that measures what PyTorch makes of a task: eager, torch.compile, max-autotune (docs/torch.md).

Order of a sample: fresh values at new addresses, caches flushed so that nothing dirty is left, then the call: on a GPU queued
behind a wait, so that the span between two events is the device's time; on the host by its clock.  Compilation and warm-up
come before, and are told apart."""
import ctypes
import gc
import math
import mmap
import os
import platform
import random
import resource
import statistics
import sys
import time

import torch

from atoll import fill, problem, rival_text, window
from atoll.refusal import Refusal

WARM_CALLS = 3
HOST_CALLS = 5
LATE_TRIES = 4  # a call that the device overtook is made again behind a longer wait
SPIN_LEAST_NS = 100e3
SPIN_MOST_NS = 50e6
FLUSH_LEAST = 32 << 20
COMPILED_LIMITS = ("cache_size_limit", "recompile_limit", "accumulated_cache_size_limit", "accumulated_recompile_limit")
COMPILED_MOST = 1024
MODES = {"compile": "default", "max-autotune": "max-autotune-no-cudagraphs"}

now_ns = time.perf_counter_ns  # before any module's text runs


class Watch:
    """Public functions and classes that rivals are made of: a text that replaces one of them is found out."""

    def __init__(self):
        places = [torch, torch.nn.functional, torch.Tensor, torch.nn.Module, torch.cuda, torch.cuda.Event, torch.linalg,
                  torch.autograd, time, math]
        self.seen = [(place, name, value) for place in places for name, value in list(vars(place).items())
                     if not name.startswith("_") and callable(value)]

    def check(self):
        """Puts back what was replaced: other rivals are measured by the same process."""
        found = None
        for place, name, value in self.seen:
            now = vars(place).get(name)
            is_wrapped = str(getattr(now, "__module__", "")).startswith("torch") and getattr(now, "__name__", "") == name
            if now is not value and not is_wrapped:  # torch wraps some of its own
                setattr(place, name, value)
                found = found or "%s.%s" % (getattr(place, "__name__", place), name)
        if found:
            raise Refusal("problem", "the text replaces %s: what is timed would not be PyTorch" % found)


def watched(operation):
    """An operation that runs a rival's text: however it ends, the next text meets PyTorch as it was."""
    def run(self, request, fd):
        try:
            return operation(self, request, fd)
        finally:
            self.watch.check()
    return run


def settle(tf32):
    """What every rival runs under, whatever a module has set."""
    torch.set_default_dtype(torch.float32)
    torch.set_float32_matmul_precision("high" if tf32 else "highest")
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    torch.use_deterministic_algorithms(False)


# ---- where samples run ----

class Lines:
    """Puts lines of memory out of every cache by the instruction that a candidate's buffers are flushed by, so that data is cold
    and the interpreter is not: after a walk over memory the same call takes 100 us longer."""
    CODE = bytes.fromhex("0fae3f"      # clflush (%rdi)
                         "4883c740"    # add $64, %rdi
                         "4883ee40"    # sub $64, %rsi
                         "77f3"        # ja the first
                         "0faef0"      # mfence
                         "c3")         # ret

    def __init__(self):
        if platform.machine() not in ("x86_64", "AMD64"):
            raise OSError("no such instruction")
        self.page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        self.page.write(self.CODE)
        self.run = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_size_t)(
            ctypes.addressof(ctypes.c_char.from_buffer(self.page)))

    def flush(self, tensor):
        begin = tensor.data_ptr() // 64 * 64
        self.run(begin, tensor.data_ptr() + tensor.numel() * tensor.element_size() - begin)


class Processor:
    """The host's cores; threads and affinity are set."""
    name = "cpu"

    def __init__(self, flush_bytes, kernels):
        self.flush_bytes = max(flush_bytes, FLUSH_LEAST)
        self.areas = None
        self.values = ()  # of the sample before: what this one writes lies there again
        try:
            self.lines = Lines()
        except (OSError, ValueError):
            self.lines = None
        try:  # what a call frees it gets again, as in a loop that runs for long
            libc = ctypes.CDLL(None)
            libc.mallopt(-4, 0)            # M_MMAP_MAX
            libc.mallopt(-1, 2 ** 31 - 1)  # M_TRIM_THRESHOLD
        except (OSError, AttributeError):
            pass

    def flush(self, arena):
        if self.lines:
            for tensor in (arena.bytes,) + tuple(self.values):
                self.lines.flush(tensor)
            self.values = ()
            return
        if self.areas is None:  # writes push our dirty lines out, and the reads after them leave clean ones
            self.areas = [torch.zeros(self.flush_bytes // 8, dtype=torch.int64) for _ in range(2)]
        self.areas[0].add_(1)
        self.areas[1].sum()

    @staticmethod
    def disturbances():
        """Times that the kernel took a core from a thread of ours, and what all of them waited for one; None: not told."""
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        waited = 0
        try:
            for thread in os.listdir("/proc/self/task"):
                with open("/proc/self/task/%s/schedstat" % thread) as stat:
                    waited += int(stat.read().split()[1])
        except (OSError, IndexError, ValueError):
            waited = None
        return switches, waited

    def sample(self, call):
        before = self.disturbances()
        begin = now_ns()
        values = call()
        ns = now_ns() - begin
        after = self.disturbances()
        self.values = values
        if after[0] == before[0]:
            lost = 0  # what threads waited for when they woke up is part of every machine
        elif before[1] is None or after[1] is None:
            lost = ns
        else:
            lost = after[1] - before[1]
        return {"ns": ns, "lost_ns": lost, "clock_hz": 0, "late": False}

    @staticmethod
    def call_ns(call):
        begin = now_ns()
        values = call()
        end = now_ns()
        del values
        return end - begin

    def finish(self):
        pass

    def rest(self):
        self.areas, self.values = None, ()


class Gpu:
    """The one GPU that torch sees."""
    name = "cuda"

    def __init__(self, flush_bytes, kernels):
        self.flush_bytes = max(flush_bytes, FLUSH_LEAST)
        self.kernels = kernels
        self.areas = None
        self.event, self.wait = torch.cuda.Event, torch.cuda._sleep
        self.clocks = torch.zeros(2, dtype=torch.int64, device="cuda")
        self.spin_ns = SPIN_LEAST_NS
        self.queue_ns = 0  # what the host needed for the last call, without the device
        cycles = 2000000
        for _ in range(2):  # the first one finds the device asleep
            begin, end = self.events()
            begin.record()
            self.wait(cycles)
            end.record()
            end.synchronize()
        self.cycles_per_ns = cycles / (begin.elapsed_time(end) * 1e6)

    def events(self):
        return self.event(enable_timing=True), self.event(enable_timing=True)

    def flush(self, arena):
        """Writes push our dirty lines out, and the reads after them leave clean ones."""
        if self.areas is None:
            self.areas = [torch.zeros(self.flush_bytes // 8, dtype=torch.int64, device="cuda") for _ in range(2)]
        self.areas[0].add_(1)
        self.areas[1].max()

    def sample(self, call):
        begin, end = self.events()
        self.wait(int(self.spin_ns * self.cycles_per_ns))
        begin.record()
        values = call()
        end.record()
        is_late = begin.query()  # the device had begun before all of the call was queued: the span holds the host's time
        if self.kernels:
            self.kernels.clock(self.clocks)
        torch.cuda.synchronize()
        del values
        cycles, ns = self.clocks.tolist() if self.kernels else (0, 0)
        return {"ns": begin.elapsed_time(end) * 1e6, "lost_ns": -1, "clock_hz": 1e9 * cycles / ns if ns > 0 else 0,
                "late": is_late}

    def call_ns(self, call):
        torch.cuda.synchronize()
        begin = now_ns()
        values = call()
        self.queue_ns = now_ns() - begin
        torch.cuda.synchronize()
        end = now_ns()
        del values
        return end - begin

    def finish(self):
        torch.cuda.synchronize()

    def rest(self):
        self.areas = None


# ---- a rival of one variant ----

def flat(value):
    """Tensors of an answer, in order."""
    if value is None:
        return ()
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        return tuple(tensor for item in value for tensor in flat(item))
    return (value,) if torch.is_tensor(value) else ()


def written(values, copied):
    return tuple(v.clone(memory_format=torch.contiguous_format) if i in copied else v.contiguous() for i, v in enumerate(values))


class Rival:
    """description: of one variant (core/task/task_describe.c).  Its answers are contiguous and share no memory with an input
    of role in or constant: a candidate has to write its outputs, too."""

    def __init__(self, description, number, device):
        told = description["rivals"][number]
        self.description, self.tf32, self.mode = description, description["tf32"], told["mode"]
        tensors = description["tensors"]
        self.names = [t["name"] for t in tensors if t["role"] != "out"]
        self.outs = [t for t in tensors if t["role"] == "out"]
        self.inouts = [t for t in tensors if t["role"] == "inout"]
        self.problem = None
        if self.mode != "eager" and not hasattr(torch, "compile"):
            raise Refusal("unsupported", "torch %s has no torch.compile (2.0 and later have)" % torch.__version__)
        if told["expression"] is None:
            self.file = description["reference"]["file"]
            self.problem = problem.load(torch, description, device)
            self.target = self.problem.target
        else:
            self.file = rival_text.FILE
            self.target = rival_text.function_of(told["expression"], self.names, description["dims"])
        self.is_backward = self.problem is not None and self.problem.is_backward
        self.copied = ()
        self.spin_ns = SPIN_LEAST_NS  # that a call is queued behind on a GPU
        self.answer = self.whole()

    def whole(self):
        """The target with its answer made contiguous, what shares memory with an input copied."""
        target, copied = self.target, self.copied

        def whole(*arguments):
            return written(flat(target(*arguments)), copied)
        return whole

    def prepare(self, tensors):
        """All that is no part of the span; a function without arguments that is."""
        if self.problem is None:
            arguments = [tensors[name] for name in self.names]
        else:
            self.problem.bind(tensors)
            problem.seed_all(torch)
            if self.is_backward:
                run, copied = self.problem.backward_of(tensors, self.target), self.copied
                return lambda: written(run(), copied)
            arguments = self.problem.arguments(tensors)
        answer, without = self.answer, torch.inference_mode if self.mode == "eager" else torch.no_grad

        def call():
            with without():
                return answer(*arguments)
        return call

    def outputs(self, values, tensors):
        """The answer by output, those of role inout last; and what is wrong with it, None nothing."""
        values = list(values) if self.problem is None else list(values)[:len(self.outs)]
        if len(values) not in (len(self.outs), len(self.outs) + len(self.inouts)):
            places = [tensors[t["name"]].data_ptr() for t in self.inouts]
            values = [v for v in values if v.data_ptr() not in places]
        if len(values) == len(self.outs):  # the others were changed in place
            values += [tensors[t["name"]] for t in self.inouts]
        if len(values) != len(self.outs) + len(self.inouts):
            return None, "it gives %d tensors, the task has %d outputs" % (len(values), len(self.outs) + len(self.inouts))
        for value, t in zip(values, self.outs + self.inouts):
            dtype = fill.dtype_of(t["dtype"])
            is_shaped = value.numel() == fill.element_count(t) and (
                self.problem is not None or [n for n in value.shape if n != 1] == [n for n in t["shape"] if n != 1])
            if not is_shaped or value.dtype != dtype:
                return None, "%s is %s %s, the task says %s %s" % (t["name"], value.dtype, list(value.shape), dtype, t["shape"])
        return values, None

    def rest(self):
        """Parameters and buffers lie in the arena: they let it go, and keep their shapes for the next binding."""
        if self.problem is None or self.problem.is_function:
            return
        for held, *_ in self.problem.places:
            held.grad = None
            held.data = held.detach().new_zeros(()).expand(held.shape)

    def compile(self):
        import torch._dynamo
        for name in COMPILED_LIMITS:  # beyond it a call falls back to eager mode without a word
            if hasattr(torch._dynamo.config, name):
                setattr(torch._dynamo.config, name, COMPILED_MOST)
        made = torch.compile(self.target if self.is_backward else self.whole(), mode=MODES[self.mode], dynamic=False)
        if self.is_backward:
            self.target = made
        else:
            self.answer = made


class Role:
    def __init__(self, host):
        self.host = host
        self.watch = Watch()
        self.kernels = None
        self.place = None
        self.arena, self.arena_for = None, 0
        self.loaded = {}
        self.window = None  # of outputs that are shown
        self.handles = 0
        self.random = random.Random()
        torch.set_num_interop_threads(1)

    def op_kernels(self, request, fd):
        """The referee's support module (a cubin) in the descriptor, once per process; none on the host."""
        self.kernels = fill.Kernels(os.pread(fd, request["bytes"], 0))
        return {}

    # ---- calls ----

    def inputs(self, rival, told, memory):
        tensors = fill.place(rival.description, self.arena, self.random)
        fill.fill(tensors, told["inputs"], memory, self.kernels)
        return tensors

    def call_ns(self, rival, told, memory):
        """Wall time of a call that nothing was queued before."""
        ns = self.place.call_ns(rival.prepare(self.inputs(rival, told, memory)))
        return ns

    def sample(self, rival, told, memory, is_warm):
        for _ in range(LATE_TRIES):
            self.place.spin_ns = rival.spin_ns
            if is_warm:
                rival.prepare(self.inputs(rival, told, memory))()
            call = rival.prepare(self.inputs(rival, told, memory))
            if not is_warm:
                self.place.flush(self.arena)
            sample = self.place.sample(call)
            del call
            if not sample["late"] or rival.spin_ns >= SPIN_MOST_NS:
                break
            rival.spin_ns = min(2 * rival.spin_ns, SPIN_MOST_NS)
        return sample

    def first_call(self, rival, told, memory):
        """Finds out what of the answer is a view of an input.  A sentence when the answer is not what the task says."""
        tensors = self.inputs(rival, told, memory)
        values = rival.prepare(tensors)()
        self.place.finish()
        settled, wrong = rival.outputs(values, tensors)
        if wrong:
            return wrong
        begin = self.arena.bytes.data_ptr()
        rival.copied = tuple(i for i, v in enumerate(values[:len(rival.outs)])
                             if begin <= v.data_ptr() < begin + self.arena.bytes.numel())
        rival.answer = rival.whole()
        return None

    def arena_make(self, description):
        """Twice what inputs need, so that places differ; less where that would take half of what a GPU has left."""
        least = fill.arena_least(description)
        if self.arena is not None and self.arena_for >= least:
            return
        self.arena, self.arena_for = None, least
        wanted = 2 * least
        if self.place.name == "cuda" and wanted > torch.cuda.mem_get_info()[0] // 2:
            wanted = least + least // 64
        self.arena = fill.Arena(self.place.name, wanted, least)

    @watched
    def op_load(self, request, fd):
        """Builds a rival at one variant: {"task": description, "rival": number, "flush_bytes", "inputs"}.  Calls it once
        in eager mode, compiles it, warms it up; {"handle", "compile_ns"}, or {"wrong": why}."""
        memory = mmap.mmap(fd, 0) if fd >= 0 else None
        description = request["task"]
        settle(description["tf32"])
        if self.place is None:
            make = Gpu if self.host.device.type == "cuda" else Processor
            self.place = make(request["flush_bytes"], self.kernels)
        begin = now_ns()
        name = rival_text.FILE
        try:
            rival = Rival(description, request["rival"], self.host.device)
            name = rival.file
            settle(rival.tf32)
            self.arena_make(description)
            wrong = self.first_call(rival, request, memory)
            if wrong:
                return {"wrong": wrong}
        except Refusal:
            raise
        except Exception as error:
            raise problem.blame(error, "", name)
        try:
            if rival.mode != "eager":
                rival.compile()
            first = self.call_ns(rival, request, memory)
            built = now_ns() - begin
            warm = min(self.call_ns(rival, request, memory) for _ in range(WARM_CALLS))
        except Refusal:
            raise
        except Exception as error:  # what eager mode can and the compiler cannot
            said = problem.blame(error, "torch.compile of torch %s" % torch.__version__, name)
            said.kind = "unsupported" if said.kind == "problem" and rival.mode != "eager" else said.kind
            raise said
        if self.place.name == "cuda":
            rival.spin_ns = min(max(SPIN_LEAST_NS, 2 * self.place.queue_ns), SPIN_MOST_NS)
        self.handles += 1
        self.loaded[self.handles] = rival
        return {"handle": self.handles, "compile_ns": max(built - min(first, warm), 0), "call_ns": warm}

    def rival_of(self, request):
        rival = self.loaded.get(request["handle"])
        if rival is None:
            raise Refusal("internal", "there is no rival %s" % request["handle"])
        settle(rival.tf32)
        self.arena_make(rival.description)
        return rival

    @watched
    def op_measure(self, request, fd):
        """{"handle", "samples": [{"inputs"}, ...], "host": 1 for times of calls that nothing was queued before, "warm": true
        for samples right after an untimed call, without a flush}."""
        memory = mmap.mmap(fd, 0) if fd >= 0 else None
        rival = self.rival_of(request)
        gc.collect()
        gc.disable()
        try:
            told = request["samples"]
            host = [self.call_ns(rival, one, memory) for one in told[:HOST_CALLS]] if request.get("host") else []
            samples = [self.sample(rival, one, memory, request.get("warm")) for one in told]
        except Refusal:
            raise
        except Exception as error:
            raise problem.blame(error, "", rival.file)
        finally:
            gc.enable()
        return {"samples": samples, "host_ns": statistics.median(host) if host else 0}

    @watched
    def op_output(self, request, fd):
        """{"handle", "inputs", "outputs": {name: {"offset", "bytes"}}}: raw outputs into the descriptor; with "window": BYTES they
        stay on the device, and the first so many bytes of them lie behind "shown"."""
        memory = mmap.mmap(fd, 0) if fd >= 0 else None
        self.close()
        rival = self.rival_of(request)
        try:
            tensors = self.inputs(rival, request, memory)
            values, wrong = rival.outputs(rival.prepare(tensors)(), tensors)
            if wrong:
                return {"wrong": wrong}
            if "window" in request:
                self.window = window.Window(torch, self.kernels)
                self.window.keep([(request["outputs"][t["name"]]["offset"], value.contiguous().view(-1).view(torch.uint8))
                                  for value, t in zip(values, rival.outs + rival.inouts)], None)
                return self.op_show({"begin": 0, "window": request["window"]}, -1)
            for value, t in zip(values, rival.outs + rival.inouts):
                told = request["outputs"][t["name"]]
                raw = torch.frombuffer(memory, dtype=torch.uint8, count=told["bytes"], offset=told["offset"])
                raw.copy_(value.contiguous().view(-1).view(torch.uint8))
            self.place.finish()
        except Refusal:
            raise
        except Exception as error:
            raise problem.blame(error, "", rival.file)
        return {}

    def op_show(self, request, fd):
        """Another stretch of the outputs that stayed on the device."""
        if self.window is None:
            raise Refusal("internal", "there are no outputs to show")
        return {"shown": self.window.show(request["begin"], request["window"])}

    def close(self):
        if self.window is not None:
            self.window.close()
            self.window = None

    def op_rest(self, request, fd):
        """Gives memory back that others need meanwhile; "keep": handles that stay loaded."""
        self.close()
        keep = request.get("keep", [])
        self.loaded = {handle: rival for handle, rival in self.loaded.items() if handle in keep}
        for rival in self.loaded.values():
            rival.rest()
        self.arena = None
        if self.place:
            self.place.rest()
        if not self.loaded and "torch._dynamo" in sys.modules:
            sys.modules["torch._dynamo"].reset()
        gc.collect()
        if self.host.device.type == "cuda":
            torch.cuda.empty_cache()
        return {}
