"""Where tensors come from: which random call or initialiser filled them, seen below torch's functions.

A dispatch mode marks the storage that aten::rand, randn, randint, uniform_, normal_, zeros ... wrote, keeps the mark through
copies, conversions and arithmetic with numbers, and drops it where something else writes.  Works on the meta device,
where the shapes of a benchmark cost nothing."""
import math
import weakref

from torch.utils._python_dispatch import TorchDispatchMode

from atoll import recurrence

SAME = {"clone", "contiguous", "_to_copy", "to", "view", "reshape", "_reshape_alias", "detach", "alias", "t", "transpose",
        "permute", "squeeze", "unsqueeze", "_unsafe_view", "lift_fresh", "lift_fresh_copy", "flatten"}
FILLS = {"rand": ("uniform", 0.0, 1.0), "rand_like": ("uniform", 0.0, 1.0), "randn": ("normal", 0.0, 1.0),
         "randn_like": ("normal", 0.0, 1.0), "zeros": ("constant", 0.0, 0.0), "zeros_like": ("constant", 0.0, 0.0),
         "new_zeros": ("constant", 0.0, 0.0), "ones": ("constant", 1.0, 0.0), "ones_like": ("constant", 1.0, 0.0),
         "new_ones": ("constant", 1.0, 0.0), "zero_": ("constant", 0.0, 0.0)}


def key_of(tensor):
    try:
        return tensor.untyped_storage()._cdata if hasattr(tensor, "untyped_storage") else tensor.storage()._cdata
    except Exception:
        return id(tensor)


def number(value, tensors):
    """A Python number, or None; a marked tensor of one element that is constant counts."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    return tensors(value)


class Origins(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.marks = {}  # storage: (kind, a, b, elements)
        self.alive = []  # so that no storage is used again

    def of(self, tensor):
        """(kind, a, b) of a whole tensor, or None."""
        mark = self.marks.get(key_of(tensor))
        return mark[:3] if mark and mark[3] == tensor.numel() else None

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        try:
            self._note(function.overloadpacket.__name__, function, args, kwargs or {}, result)
        except (AttributeError, IndexError, TypeError):
            pass
        return result

    def _mark(self, tensor, mark):
        self.alive.append(tensor)
        self.marks[key_of(tensor)] = mark[:3] + (tensor.numel(),)

    def _note(self, name, function, args, kwargs, result):
        mark = self._mark_of(name, function, args, kwargs)
        target = args[0] if name.endswith("_") and not name.endswith("__") and args else result
        if not hasattr(target, "numel"):
            return
        if mark is not None:
            whole = self.marks.get(key_of(target))
            if name.endswith("_") and whole and whole[3] != target.numel():
                self.marks.pop(key_of(target), None)  # a part of it
            else:
                self._mark(target, mark)
        elif name.endswith("_"):
            self.marks.pop(key_of(target), None)

    def _mark_of(self, name, function, args, kwargs):
        if name in FILLS:
            return FILLS[name]
        overload = function._overloadname
        if name in ("randint", "randint_like"):
            low, high = (args[0], args[1]) if "low" in overload else (0, args[0])
            return ("integer", float(low), float(high))
        if name == "uniform_":
            return ("uniform", float(args[1]) if len(args) > 1 else 0.0, float(args[2]) if len(args) > 2 else 1.0)
        if name == "normal_":
            return ("normal", float(args[1]) if len(args) > 1 else 0.0, float(args[2]) if len(args) > 2 else 1.0)
        if name == "normal" and len(args) > 2:
            return ("normal", float(args[0]), float(args[1]))
        if name in ("full", "full_like", "new_full"):
            return self._constant(args[2] if name == "new_full" else args[1])
        if name == "fill_":
            return self._constant(args[1])
        if name == "scalar_tensor":
            return self._constant(args[0])
        if name == "randperm":
            return ("permutation", 0.0, 0.0)
        if name == "copy_":
            return self.of(args[1])
        if name in SAME:
            return self.of(args[0])
        if name.rstrip("_") in ("mul", "div", "add", "sub", "neg", "rsub"):
            return self._arithmetic(name.rstrip("_"), args, kwargs)
        if name == "erfinv_":  # what trunc_normal_ is made of
            mark = self.of(args[0])
            return ("normal", 0.0, 1 / math.sqrt(2)) if mark and mark[0] == "uniform" else None
        if name == "clamp_":
            mark = self.of(args[0])
            return mark if mark and mark[0] == "normal" else None
        return None

    def _constant(self, value):
        value = self._number(value)
        return None if value is None else ("constant", value, 0.0)

    def _number(self, value):
        if isinstance(value, (int, float)):
            return float(value)
        mark = self.of(value) if hasattr(value, "numel") else None
        return mark[1] if mark and mark[0] == "constant" and value.numel() == 1 else None

    def _arithmetic(self, name, args, kwargs):
        if name == "neg":
            first, second = self.of(args[0]), -1.0
            name = "mul"
        else:
            first, second = args[0], args[1]
            if not hasattr(first, "numel") or self._number(first) is not None and name in ("mul", "add"):
                first, second = second, first
            first, second = self.of(first), self._number(second)
        if first is None or second is None:
            return None
        if kwargs.get("alpha") is not None:
            second *= float(kwargs["alpha"])
        factor, shift = {"mul": (second, 0.0), "div": (1 / second if second else None, 0.0), "add": (1.0, second),
                         "sub": (1.0, -second), "rsub": (-1.0, second)}[name]
        return moved(first, factor, shift)


def moved(mark, factor, shift):
    """The mark of factor * x + shift."""
    kind, a, b = mark
    if factor is None or not math.isfinite(factor) or not math.isfinite(shift):
        return None
    if kind == "constant":
        return (kind, a * factor + shift, 0.0)
    if kind == "normal":
        return (kind, a * factor + shift, b * abs(factor))
    if kind == "uniform" and factor:
        ends = sorted((a * factor + shift, b * factor + shift))
        return (kind, ends[0], ends[1])
    if kind == "integer" and factor == 1 and shift == int(shift):
        return (kind, a + shift, b + shift)
    return None


class Meter(TorchDispatchMode):
    """What a run costs: factors of each matrix product's operations, elements of the others' results, bytes alive."""

    def __init__(self):
        super().__init__()
        self.products, self.elements, self.names, self.steps = [], 0, [], []
        self.alive, self.bytes, self.peak = {}, 0, 0

    def hold(self, tensor):
        """Counts the tensor's storage until it dies."""
        key = key_of(tensor)
        if key in self.alive:
            self.alive[key][0] += 1
        else:
            self.alive[key] = [1, tensor.numel() * tensor.element_size()]
            self.bytes += self.alive[key][1]
            self.peak = max(self.peak, self.bytes)
        weakref.finalize(tensor, self._drop, key)

    def _drop(self, key):
        entry = self.alive.get(key)
        if entry is None:
            return
        entry[0] -= 1
        if entry[0] == 0:
            self.bytes -= entry[1]
            del self.alive[key]

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        self.names.append(name)
        results = [r for r in (result if isinstance(result, (tuple, list)) else [result]) if hasattr(r, "numel")]
        if results and args and hasattr(args[0], "numel"):
            self.steps.append((name, args[0].numel(), results[0].numel()))
        products = products_of(function, name, args, results)
        if function.namespace == "atoll":
            self.peak = max(self.peak, self.bytes + recurrence.gates_bytes(args))
        self.products += products
        if not products and name not in SAME and results:
            self.elements += results[0].numel()
        for tensor in results:
            self.hold(tensor)
        return result


def products_of(function, name, args, results):
    if function.namespace == "atoll":
        return recurrence.products_of(args)
    factors = product_of(name, args, results)
    return [factors] if factors else []


def product_of(name, args, results):
    """Factors of the operations of a matrix product or convolution; None: it is neither."""
    if name in ("mm", "bmm"):
        return [2] + list(results[0].shape) + [args[0].shape[-1]]
    if name in ("addmm", "baddbmm"):
        return [2] + list(results[0].shape) + [args[1].shape[-1]]
    if name == "dot":
        return [2, args[0].numel()]
    if name in ("mv", "addmv"):
        matrix = args[0] if name == "mv" else args[1]
        return [2] + list(matrix.shape)
    if name in ("convolution", "_convolution", "convolution_overrideable"):
        weight = args[1]
        if args[6]:  # transposed
            return [2] + list(args[0].shape) + list(weight.shape[1:])
        return [2] + list(results[0].shape) + list(weight.shape[1:])
    if name == "convolution_backward":
        both = sum(1 for wanted in args[-1][:2] if wanted)
        outer = args[1] if args[7] else args[0]
        return [2 * both] + list(outer.shape) + list(args[2].shape[1:])
    if name.startswith("_scaled_dot_product") and not name.endswith("backward"):
        query, key, value = args[:3]
        return [2] + list(query.shape[:-1]) + [key.shape[-2], query.shape[-1] + value.shape[-1]]
    return None
