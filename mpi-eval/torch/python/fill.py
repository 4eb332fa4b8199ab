"""fill.py - the tensors of one input set: places in an arena, and the referee's values in them, the same bits as a candidate
gets.  On the host the referee has written them into shared memory; on a GPU its own kernel makes them in this process's
context, from the parameters that it sends."""
import ctypes
import struct

import torch

from atoll.refusal import Refusal

ALIGN = 256
THREADS = 256  # of a block of our kernels
NAMES = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8e4m3": "float8_e4m3fn",
         "f8e5m2": "float8_e5m2", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8"}


def dtype_of(name):
    dtype = getattr(torch, NAMES[name], None)
    if dtype is None:
        raise Refusal("unsupported", "torch %s has no type for %s (torch.%s)" % (torch.__version__, name, NAMES[name]))
    return dtype


def element_count(tensor):
    count = 1
    for extent in tensor["shape"]:
        count *= extent
    return count


def byte_count(tensor):
    return element_count(tensor) * torch.empty(0, dtype=dtype_of(tensor["dtype"])).element_size()


def is_memory_error(error):
    text = str(error)
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


class Kernels:
    """The referee's support module (a cubin), loaded beside torch's own kernels."""

    def __init__(self, cubin):
        torch.cuda.synchronize()  # torch's context is current in this thread from now on
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.functions = {}
        self.module = ctypes.c_void_p()
        self.must(self.driver.cuModuleLoadData(ctypes.byref(self.module), ctypes.c_char_p(cubin)),
                   "loading the referee's kernels")

    def must(self, result, what, kind="internal"):
        if result != 0:
            text = ctypes.c_char_p()
            self.driver.cuGetErrorName(result, ctypes.byref(text))
            raise Refusal(kind, "%s: %s" % (what, (text.value or b"an unknown error").decode()))

    def launch(self, name, blocks, threads, parameters):
        """parameters: the kernel's one struct, its bytes."""
        if name not in self.functions:
            function = ctypes.c_void_p()
            self.must(self.driver.cuModuleGetFunction(ctypes.byref(function), self.module, name.encode()), name)
            self.functions[name] = function
        room = ctypes.create_string_buffer(bytes(parameters), len(parameters))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(room))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.must(self.driver.cuLaunchKernel(self.functions[name], blocks, 1, 1, threads, 1, 1, 0, stream, arguments, None),
                   name)

    def fill(self, address, fills):
        """fills: [{"at": bytes from the tensor's start, "blocks", "params": struct atoll_contents_launch in hex}]."""
        for one in fills:
            parameters = bytearray.fromhex(one["params"])
            struct.pack_into("<Q", parameters, 0, address + one["at"])
            self.launch("atoll_contents_kernel", one["blocks"], THREADS, parameters)

    def clock(self, result):
        """Cycles and nanoseconds of a short wait into two 64-bit words; hertz = cycles / nanoseconds * 1e9."""
        self.launch("atoll_clock_kernel", 1, 1, struct.pack("<5Q", 0, 0, 0, result.data_ptr(), 0))


class Arena:
    """One piece of memory, and places in it that are others each time."""

    def __init__(self, device, wanted, least):
        """bytes; least when the device has not as much as wanted."""
        for size in (wanted, least):
            try:
                self.bytes = torch.empty(size + ALIGN, dtype=torch.uint8, device=device)
                self.size = size
                break
            except (RuntimeError, MemoryError) as error:
                if size == least or not is_memory_error(error):
                    raise
        self.first = -self.bytes.data_ptr() % ALIGN

    def place(self, counts, random):
        """Views of so many bytes each, aligned, in any order, with gaps between."""
        rooms = [(count + ALIGN - 1) // ALIGN for count in counts]
        free = self.size // ALIGN - sum(rooms)
        order = list(range(len(counts)))
        random.shuffle(order)
        gaps = sorted(random.randrange(free + 1) for _ in order)
        views = [None] * len(counts)
        used = 0
        for gap, index in zip(gaps, order):
            begin = self.first + (gap + used) * ALIGN
            views[index] = self.bytes[begin:begin + counts[index]]
            used += rooms[index]
        return views


def arena_least(description):
    """Bytes that every input of a task needs at once."""
    return sum((byte_count(t) + ALIGN - 1) // ALIGN * ALIGN for t in description["tensors"] if t["role"] != "out")


def place(description, arena, random):
    """Tensors of every input by name; their values are whatever stood there."""
    inputs = [t for t in description["tensors"] if t["role"] != "out"]
    views = arena.place([byte_count(t) for t in inputs], random)
    return {t["name"]: view.view(dtype_of(t["dtype"])).view(t["shape"]) for t, view in zip(inputs, views)}


def fill(tensors, inputs, memory, kernels):
    """Values of one input set; inputs: {name: {"offset", "bytes"} in memory, or {"fills": [...]}}."""
    for name, tensor in tensors.items():
        told = inputs[name]
        if "fills" in told:
            kernels.fill(tensor.data_ptr(), told["fills"])
            continue
        raw = torch.frombuffer(memory, dtype=torch.uint8, count=told["bytes"], offset=told["offset"])
        tensor.view(-1).view(torch.uint8).copy_(raw)
