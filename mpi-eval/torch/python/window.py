"""window.py - large results leave this process on the device: a piece of memory of its own that the referee's device process opens
for a moment, copies and closes again, while this process stands still.

Results lie one after the other, each at its offset; the window shows one stretch of that at a time, and is wiped before its
memory goes back.  It is the driver's memory: what torch's allocator gives out is a part of something larger, which would be
opened with it."""
import ctypes

from atoll.refusal import Refusal

GRAIN = 2 << 20  # smaller allocations share memory with others
HANDLE_BYTES = 64
OUT_OF_MEMORY = 2


class Window:
    def __init__(self, torch, kernels):
        if kernels is None:
            raise Refusal("unsupported", "there is no window without a GPU")
        self.torch, self.driver, self.must = torch, kernels.driver, kernels.must
        self.address, self.size = ctypes.c_uint64(0), 0
        self.parts, self.element = [], None  # (offset, flat tensor) each

    def keep(self, parts, element):
        """From now on these are shown: (offset, tensor) each; element: a type that they are shown in, None their own."""
        self.parts = [(offset, tensor.detach().resolve_conj().resolve_neg().reshape(-1)) for offset, tensor in parts]
        self.element = element

    def show(self, begin, count):
        """The handle, in hex, of memory with the bytes [begin, begin + count) of all; those of no result are anything."""
        self._reserve(count)
        for offset, flat in self.parts:
            each = flat.element_size() if self.element is None else self.torch.empty(0, dtype=self.element).element_size()
            low, high = max(offset, begin), min(offset + each * flat.numel(), begin + count)
            if low >= high:
                continue
            if (low - offset) % each or (high - offset) % each:
                raise Refusal("internal", "a window from %d on cuts through an element" % begin)
            piece = flat[(low - offset) // each:(high - offset) // each]
            if self.element is not None:
                piece = piece.to(self.element)
            stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
            self.must(self.driver.cuMemcpyDtoDAsync_v2(ctypes.c_uint64(self.address.value + low - begin),
                                                       ctypes.c_uint64(piece.data_ptr()), ctypes.c_size_t(high - low), stream),
                      "a copy on the device")
        self.torch.cuda.synchronize()
        handle = (ctypes.c_ubyte * HANDLE_BYTES)()
        self.must(self.driver.cuIpcGetMemHandle(handle, self.address), "memory that another process may open", "unsupported")
        return bytes(handle).hex()

    def close(self):
        """What was kept is let go; what the window shows is wiped."""
        self.parts = []
        if self.size:
            self.must(self.driver.cuMemsetD8_v2(self.address, ctypes.c_ubyte(0), ctypes.c_size_t(self.size)), "wiping")
            self.torch.cuda.synchronize()
            self.must(self.driver.cuMemFree_v2(self.address), "memory")
            self.address, self.size = ctypes.c_uint64(0), 0
        self.torch.cuda.empty_cache()

    def _reserve(self, count):
        wanted = -(-count // GRAIN) * GRAIN
        if wanted <= self.size:
            return
        if self.size:
            self.must(self.driver.cuMemFree_v2(self.address), "memory")
            self.address, self.size = ctypes.c_uint64(0), 0
        address = ctypes.c_uint64(0)
        result = self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(wanted))
        if result == OUT_OF_MEMORY:
            self.torch.cuda.empty_cache()
            result = self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(wanted))
        self.must(result, "%d bytes of device memory" % wanted, "memory")
        self.address, self.size = address, wanted
