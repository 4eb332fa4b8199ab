"""The role oracle: true values of a problem for inputs of the referee's choice, in double precision where the module can.

A module that cannot is run in single precision, then as it is; the answer says which it was."""
import gc
import mmap
import os

from atoll import fill, problem, window
from atoll.refusal import Refusal
from atoll.replaced import Functions

KEPT = 4  # problems at a variant, however large; and beside them
BESIDE = 256  # as many
BESIDE_BYTES = 256 << 20  # that hold so much between questions


class Role:
    def __init__(self, host):
        self.torch, self.device = host.torch, host.device
        self.descriptions = {}  # by key, the last used last
        self.loaded = {}  # key -> (index into precisions, problem)
        self.held = {}  # key -> bytes of what a problem keeps between questions
        self.is_new = False  # one of them, since objects were frozen
        self.precisions = (self.torch.float64, self.torch.float32, None)
        self.kernels = None
        self.window = None  # of an answer that is shown
        self.functions = Functions(self.torch)
        for backend in (self.torch.backends.cuda.matmul, self.torch.backends.cudnn):
            backend.allow_tf32 = False
        self.torch.backends.cudnn.deterministic = True
        gc.freeze()  # torch's own objects stay; what a question leaves is looked for after each

    # ---- operations ----

    def op_kernels(self, request, fd):
        """The referee's own kernels (a cubin), which make inputs on the device."""
        self.kernels = fill.Kernels(os.pread(fd, request["bytes"], request["offset"]))

    def op_load(self, request, fd):
        """A problem at a variant, under a key."""
        key = request["key"]
        self.descriptions.pop(key, None)
        self.descriptions[key] = request["description"]
        self.loaded.pop(key, None)
        try:
            self._load(key, 0)
        finally:
            self._clean(key)

    def op_answer(self, request, fd):
        """Doubles of every out and inout tensor into the memory, at the offsets that the request names; with "window": BYTES they
        stay on the device, and the first so many bytes of them lie behind "handle"."""
        key = request["key"]
        if key not in self.descriptions:
            return {"unknown": True}
        self.descriptions[key] = self.descriptions.pop(key)
        memory = mmap.mmap(fd, 0) if fd >= 0 else None
        self.op_close({}, -1)
        if "window" in request:
            self.window = window.Window(self.torch, self.kernels)
        try:
            reply = {"precision": self._answer(key, request, memory)}
        except BaseException:
            self.op_close({}, -1)
            raise
        finally:
            self._clean(key)
        return {**reply, **self.op_show({"begin": 0, "window": request["window"]}, -1)} if self.window else reply

    def op_show(self, request, fd):
        """Another stretch of what the answer before this left on the device."""
        if self.window is None:
            raise Refusal("internal", "there is no answer to show")
        return {"handle": self.window.show(request["begin"], request["window"])}

    def op_close(self, request, fd):
        """What was shown is wiped, and its memory goes back."""
        if self.window is not None:
            self.window.close()
            self.window = None
        return {}

    # ---- how ----

    def _clean(self, key):
        if key in self.loaded:
            self.held[key] = self.loaded[key][1].bytes_held()
        self._make_room()
        gc.collect()
        if self.is_new:
            gc.freeze()  # hundreds of problems would be looked through behind every answer
            self.is_new = False
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)
            self.torch.cuda.empty_cache()
        replaced = self.functions.put_back()
        if replaced:
            self.loaded.clear()
            self.held.clear()
            raise Refusal("problem", replaced)

    def _make_room(self):
        """Beside the last ones the largest go for their bytes, the oldest for their number, and a few more at once."""
        held = {key: self.held.get(key, 0) for key in list(self.descriptions)[:-KEPT]}
        if len(held) <= BESIDE and sum(held.values()) <= BESIDE_BYTES:
            return
        while sum(held.values()) > BESIDE_BYTES:
            self._drop(max(held, key=held.get), held)
        while len(held) > BESIDE * 3 // 4:
            self._drop(next(iter(held)), held)
        gc.unfreeze()
        self.is_new = True

    def _drop(self, key, held):
        del self.descriptions[key], held[key]
        self.loaded.pop(key, None)
        self.held.pop(key, None)

    def _load(self, key, precision):
        self.loaded.pop(key, None)
        loaded = problem.load(self.torch, self.descriptions[key], self.device, self.precisions[precision])
        loaded.let_go()
        self.loaded[key] = (precision, loaded)
        self.is_new = True
        return loaded

    def _answer(self, key, request, memory):
        if key not in self.loaded:
            self._load(key, 0)
        while True:
            precision, loaded = self.loaded[key]
            try:
                return self._run(loaded, self.precisions[precision], request, memory)
            except Refusal as refusal:
                self.loaded.pop(key, None)
                if refusal.kind != "problem" or precision + 1 == len(self.precisions):
                    raise
            self._load(key, precision + 1)

    def _run(self, loaded, dtype, request, memory):
        try:
            return self._write(loaded, dtype, request, memory)
        finally:
            loaded.let_go()

    def _write(self, loaded, dtype, request, memory):
        tensors = self._inputs(loaded, dtype, request["inputs"], memory)
        outputs = loaded.call(tensors)
        values = dict(zip((t["name"] for t in loaded.outputs), outputs))
        narrowest, kept = 8, []
        for told in request["outputs"]:
            tensor = values.get(told["name"], tensors.get(told["name"])).detach()
            if tensor.numel() != told["count"]:
                raise Refusal("problem", "output %s has %d elements, the task says %d" % (told["name"], tensor.numel(), told["count"]))
            if tensor.is_floating_point():
                narrowest = min(narrowest, tensor.element_size())
            if self.window is not None:
                kept.append((told["offset"], tensor))
                continue
            into = self.torch.frombuffer(memory, dtype=self.torch.float64, count=told["count"], offset=told["offset"])
            into.copy_(tensor.reshape(-1).to(self.torch.float64))
        if self.window is not None:
            self.window.keep(kept, self.torch.float64)
        return {8: "f64", 4: "f32", 2: "f16"}.get(narrowest, "f8")

    def _inputs(self, loaded, dtype, told, memory):
        tensors = {}
        for t in loaded.tensors:
            if t["role"] == "out":
                continue
            tensor = self.torch.empty(t["shape"], dtype=fill.dtype_of(t["dtype"]), device=self.device)
            fill.fill({t["name"]: tensor}, told, memory, self.kernels)
            tensors[t["name"]] = tensor.to(dtype) if dtype is not None and tensor.is_floating_point() else tensor
        return tensors
