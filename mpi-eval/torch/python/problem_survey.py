"""One look at a problem at given dims: its inputs, parameters, outputs and what a run costs, without its memory.

Factories of torch are sent to the meta device, so the shapes of a benchmark cost nothing; where an operator has no meta
form, a real device is asked for instead."""
import contextlib

import torch
from torch.overrides import TorchFunctionMode

from atoll import problem, recurrence
from atoll.refusal import Refusal
from atoll.tensor_origin import Meter, Origins, key_of

FACTORIES = {getattr(torch, name) for name in (
    "rand randn randint randperm ones zeros full empty arange tensor eye linspace logspace empty_strided normal "
    "tril_indices triu_indices scalar_tensor hann_window as_tensor").split() if hasattr(torch, name)}
KNOWN = {getattr(torch, name) for name in ("arange", "linspace", "logspace", "tensor", "zeros", "ones", "full")}
KNOWN_ELEMENTS = 4096


class OnDevice(TorchFunctionMode):
    """Factories without a device get this one; torch 1.13 has no torch.device("meta") as a context.  is_building: small
    tables of numbers that a module reads while it is built (rates by depth) have theirs on the meta device as well; a run would have
    the calls that find them among its operators."""

    def __init__(self, device, is_building=False):
        super().__init__()
        self.device, self.is_building = device, is_building
        self.known = {}  # storage: (the tensor, so that no storage is used again, its numbers)

    def number(self, tensor):
        """Of one element of such a table as it was made; None: not known."""
        made, numbers = self.known.get(key_of(tensor), (None, None))
        if made is None or tensor.numel() != 1 or tensor._version or tensor.dtype != made.dtype:
            return None
        return numbers[tensor.storage_offset()]

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.item and args[0].is_meta:
            number = self.number(args[0])
            if number is not None:
                return number
        if recurrence.is_whole(function, args, kwargs):
            return recurrence.call(function, args)
        if function in FACTORIES and kwargs.get("device") is None and not \
                (function is getattr(torch, "normal", None) and args and isinstance(args[0], torch.Tensor)):
            kwargs["device"] = self.device
        result = function(*args, **kwargs)
        if self.is_building and function in KNOWN and result.is_meta and 0 < result.numel() <= KNOWN_ELEMENTS:
            self.known[key_of(result)] = result, function(*args, **dict(kwargs, device="cpu")).reshape(-1).tolist()
        return result


def meta_pool_3d():
    """torch 1.13 knows no shape of a 3-d maximum pooling on the meta device."""
    def pool(x, kernel, stride=(), padding=(0, 0, 0), dilation=(1, 1, 1), ceil_mode=False):
        three = lambda v: list(v) * 3 if len(v) == 1 else list(v)  # noqa: E731
        kernel, padding, dilation = three(kernel), three(padding), three(dilation)
        stride = three(stride) if stride else kernel
        shape = list(x.shape[:-3])
        for n, k, s, p, d in zip(x.shape[-3:], kernel, stride, padding, dilation):
            room = n + 2 * p - d * (k - 1) - 1
            extent = (room + (s - 1 if ceil_mode else 0)) // s + 1
            if extent < 1:
                raise RuntimeError("max_pool3d: an extent of %d is too small for a window of %d" % (n, k))
            if ceil_mode and (extent - 1) * s >= n + p:
                extent -= 1
            shape.append(extent)
        return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)

    try:
        torch.nn.functional.max_pool3d(torch.empty(1, 1, 2, 2, 2, device="meta"), 2)
        return None
    except NotImplementedError:
        library = torch.library.Library("aten", "IMPL", "Meta")
        library.impl("max_pool3d_with_indices", pool)
        return library


META = meta_pool_3d()


class Survey:
    """inputs: [(name, tensor)]; parameters, buffers: {dotted: tensor}; outputs: [tensor]; origins, meter."""


def initial_arguments(names):
    if "get_init_inputs" not in names:
        return [], {}
    given = names["get_init_inputs"]()
    if isinstance(given, dict):
        return [], given
    if isinstance(given, (list, tuple)) and len(given) == 2 and isinstance(given[0], (list, tuple)) and \
            isinstance(given[1], dict):
        return given
    return list(given or []), {}


def argument_names(function, count):
    """Names of the arguments that a call with `count` arguments fills."""
    import inspect as introspection
    try:
        found = [p.name for p in introspection.signature(function).parameters.values()
                 if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    except (TypeError, ValueError):
        found = []
    return (found + ["input_%d" % i for i in range(count)])[:count] if len(found) >= count else \
        ["input_%d" % i for i in range(count)]


def make(source, entry, dims, device, is_function, survey, name):
    names = problem.namespace(source, dims, name)
    if entry not in names:
        raise Refusal("problem", "%s: there is no %s at its top level" % (name, entry))
    if "get_inputs" not in names:
        raise Refusal("problem", "%s: there is no get_inputs()" % name)
    survey.given = list(names["get_inputs"]())
    survey.target = names[entry]
    if not is_function:
        arguments, keywords = initial_arguments(names)
        survey.target = names[entry](*arguments, **keywords)
        if not isinstance(survey.target, torch.nn.Module):
            raise Refusal("problem", "%s: %s is no torch.nn.Module" % (name, entry))
    return survey


def survey(source, entry, dims, device="meta", is_function=False, dtype=None, name="problem.py", run=True):
    """Raises Refusal; everything that the problem raises becomes one."""
    s = Survey()
    s.origins, s.meter, s.device = Origins(), Meter(), device
    problem.seed_all(torch)

    def build():
        with contextlib.ExitStack() as stack:
            stack.enter_context(s.origins)
            stack.enter_context(OnDevice(device, is_building=True))
            make(source, entry, dims, device, is_function, s, name)

    problem.guarded("", name, build)
    called = s.target if is_function else s.target.forward
    s.arguments = argument_names(called, len(s.given))
    s.inputs = []
    for argument, value in zip(s.arguments, s.given):
        tensors = problem.tensors_in(torch, value)
        for k, tensor in enumerate(tensors):
            s.inputs.append((argument if len(tensors) == 1 else "%s_%d" % (argument, k), tensor))
    s.parameters = {} if is_function else dict(s.target.named_parameters())
    s.buffers = {} if is_function else dict(s.target.named_buffers())
    s.is_training = not is_function and bool(s.target.training)
    s.outputs, s.structure = [], None
    if run:
        problem.guarded("", name, lambda: run_once(s))
    return s


def run_once(s):
    for tensor in [t for _, t in s.inputs] + list(s.parameters.values()) + list(s.buffers.values()):
        s.meter.hold(tensor)
    s.resident = s.meter.bytes
    with torch.no_grad(), OnDevice(s.device), s.meter:
        result = s.target(*s.given)
    s.structure = type(result).__name__
    s.outputs = problem.tensors_in(torch, result)


def form_of(s):
    """What must stay when only sizes change."""
    return ([(n, t.dim(), t.dtype) for n, t in s.inputs], [(n, t.dim(), t.dtype) for n, t in s.parameters.items()],
            [n for n in s.buffers], [(t.dim(), t.dtype) for t in s.outputs])


def extents_of(s):
    """Extents of inputs and parameters, to see what a constant changes."""
    return ([tuple(t.shape) for _, t in s.inputs], [tuple(t.shape) for t in s.parameters.values()],
            [tuple(t.shape) for t in s.outputs])


def work_of(s):
    total = 0
    for factors in s.meter.products:
        count = 1
        for factor in factors:
            count *= int(factor)
        total += count
    return total
