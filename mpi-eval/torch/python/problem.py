"""A problem: a module or function of somebody else's text, bound to the tensors of a task.

Its text is executed with other values for top-level constants: a dim of the task named like one replaces it, and what is
computed from it follows.  The module stays in the mode in which it was constructed: the benchmarks never call eval()."""
import ast
import functools
import linecache
import random
import sys
import traceback
import types

from atoll.refusal import Refusal

SEED = 0x5eed
REFUSED = (1, 13, -2, -3)  # EPERM, EACCES, and what looking for a host's name ends with
NO_NETWORK = ("URLError", "ConnectionError")  # of urllib and requests


def reason(error):
    """Type and first sentence of an exception: torch.compile's last lines are advice, a syntax error's first ones a quotation."""
    lines = [line.strip() for line in "".join(traceback.format_exception_only(type(error), error)).split("\n") if line.strip()]
    if isinstance(error, SyntaxError) or not lines:
        return lines[-1] if lines else type(error).__name__
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]  # "backend='inductor' raised:" says nothing yet


def blame(error, what="", name="problem.py"):
    """A Refusal for what a problem raised: with the last line of its text that took part."""
    line = 0
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == name:
            line = frame.lineno
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno or 0
    said = reason(error)
    text = "%s%s: %s%s" % (name, ":%d" % line if line else "", what + ": " if what else "", said)
    kind = "problem"
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError" or "out of memory" in said:
        kind = "memory"
    elif isinstance(error, OSError) and (error.errno in REFUSED or type(error).__name__ in NO_NETWORK):
        text += " (a problem may neither start processes, nor use the network, nor write outside of its temporary folder)"
    elif isinstance(error, SystemExit):
        text += " (a problem may not end the process)"
    trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return Refusal(kind, text, line=line, trace=trace)


def guarded(what, name, function, *arguments):
    """function(...) of a problem's; whatever it raises becomes a Refusal."""
    try:
        return function(*arguments)
    except Refusal:
        raise
    except BaseException as error:
        raise blame(error, what, name)


def names_bound(statement):
    """Names that a top-level assignment binds."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return []
    found = []
    for target in targets:
        found += [node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return found


def replaced(tree, dims):
    """The text with every top-level assignment to a dim followed by one of the dim's value."""
    body = []
    for statement in tree.body:
        body.append(statement)
        for name in names_bound(statement):
            if name in dims:
                forced = ast.parse("%s = %d" % (name, dims[name])).body[0]
                for node in ast.walk(forced):
                    if hasattr(node, "lineno"):
                        ast.copy_location(node, statement)
                body.append(forced)
    tree.body = body
    return tree


def namespace(source, dims, name="problem.py"):
    """Executes a problem's text; its module's dictionary."""
    module = types.ModuleType("atoll_problem")
    module.__file__ = name
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)  # for messages, and who reads sources
    sys.modules[module.__name__] = module

    def run():
        code = compile(replaced(ast.parse(source, name), dims), name, "exec")
        exec(code, module.__dict__)

    guarded("", name, run)
    return module.__dict__


def named(root, dotted):
    """A parameter or buffer by its dotted name; None: there is none."""
    try:
        return functools.reduce(getattr, dotted.split("."), root)
    except AttributeError:
        return None


def tensors_in(torch, value):
    """Tensors of nested tuples, lists and dictionaries, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(torch, item)]
    return []


def with_tensors(torch, value, tensors):
    """The same nested value with its tensors taken from an iterator, in order."""
    if isinstance(value, torch.Tensor):
        return next(tensors, value)
    if isinstance(value, dict):
        return {key: with_tensors(torch, item, tensors) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        items = [with_tensors(torch, item, tensors) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def parts_of(constant):
    """Which parameter takes which of its elements, count None: all."""
    return constant.get("segments") or (
        [{"parameter": constant["parameter"], "offset": 0, "count": None}] if constant.get("parameter") else [])


def seed_all(torch):
    random.seed(SEED)
    torch.manual_seed(SEED)


class Problem:
    """description: as core/task/task_describe.c writes it, of one variant.  dtype: of the module's floating-point
    parameters and buffers; None: as they are."""

    def __init__(self, torch, description, device, dtype=None):
        self.torch, self.device, self.dtype = torch, device, dtype
        self.tensors = description["tensors"]
        reference = description["reference"]
        self.name = reference["file"]
        self.is_backward = bool(reference.get("backward"))
        self.is_function = reference["form"] == "function"
        self.inputs = [t for t in self.tensors if t["role"] in ("in", "inout") and not self._is_flow(t)]
        self.flows = [t for t in self.tensors if t["role"] == "in" and self._is_flow(t)]
        self.constants = [t for t in self.tensors if t["role"] == "constant"]
        self.outputs = [t for t in self.tensors if t["role"] == "out"]
        seed_all(torch)
        self.names = namespace(reference["source"], description["dims"], self.name)
        entry = self.names.get(reference["entry"])
        if entry is None:
            raise Refusal("problem", "%s: there is no %s at its top level" % (self.name, reference["entry"]))
        self.pattern = None
        self.target = entry if self.is_function else self._construct(entry)
        if not self.is_function:
            self._find_parameters()

    def _is_flow(self, tensor):
        return self.is_backward and bool(tensor.get("of"))

    # ---- the module ----

    def _construct(self, entry):
        arguments, keywords = [], {}
        if "get_init_inputs" in self.names:
            given = guarded("get_init_inputs", self.name, self.names["get_init_inputs"])
            if isinstance(given, dict):
                keywords = given
            elif isinstance(given, (list, tuple)) and len(given) == 2 and isinstance(given[0], (list, tuple)) and isinstance(given[1], dict):
                arguments, keywords = given
            else:
                arguments = list(given or [])
        seed_all(self.torch)
        module = guarded("", self.name, lambda: entry(*arguments, **keywords))
        if not isinstance(module, self.torch.nn.Module):
            raise Refusal("problem", "%s: %s is no torch.nn.Module" % (self.name, type(module).__name__))
        guarded("", self.name, self._empty_parameters, module)
        module = guarded("", self.name, lambda: module.to(device=self.device, dtype=self.dtype))
        return module

    def _empty_parameters(self, module):
        """Room in place of values that a constant replaces before each call: to convert and to move a gigabyte takes seconds."""
        for t in self.constants:
            for part in parts_of(t):
                held = named(module, part["parameter"]) if part.get("parameter") else None
                if isinstance(held, self.torch.nn.Parameter) and held.is_floating_point():
                    held.data = self.torch.empty(held.shape, dtype=self.dtype or held.dtype, device=self.device)

    def _find_parameters(self):
        """Which parameter or buffer takes which elements of which constant."""
        self.places, self.shapes, covered = [], [], set()
        for t in self.constants:
            for part in parts_of(t):
                held = named(self.target, part["parameter"]) if part.get("parameter") else None
                if not isinstance(held, self.torch.Tensor):
                    raise Refusal("problem", "%s: the module has no parameter or buffer \"%s\", which tensor %s names"
                                  % (self.name, part.get("parameter"), t["name"]))
                self.places.append((held, t["name"], part["parameter"], part["offset"], part["count"]))
                self.shapes.append(held.shape)
                covered.add(id(held))
        self.kept = [(buffer, buffer.detach().clone()) for buffer in list(self.target.buffers()) if id(buffer) not in covered]

    def bind(self, tensors):
        """Constants become parameters and buffers, by reference; other buffers get their first values again."""
        if self.is_function:
            return
        for (held, name, parameter, offset, count), shape in zip(self.places, self.shapes):
            flat = tensors[name].reshape(-1)
            part = flat if count is None else flat[offset:offset + count]
            if part.numel() != shape.numel():
                raise Refusal("problem", "%s: parameter \"%s\" has %d elements, tensor %s gives %d"
                              % (self.name, parameter, shape.numel(), name, part.numel()))
            held.data = part.reshape(shape)
        for buffer, first in self.kept:
            buffer.data = first.clone()

    def let_go(self):
        """Between calls nothing is kept of what constants were."""
        for held, *_ in [] if self.is_function else self.places:
            held.data = held.data.new_empty(0)

    def bytes_held(self):
        """Of tensors that stay between calls, as far as they can be found."""
        found = tensors_in(self.torch, list(self.names.values()))
        if not self.is_function:
            found += [first for _, first in self.kept] + list(self.target.parameters()) + list(self.target.buffers())
            found += [tensor for module in self.target.modules() for tensor in tensors_in(self.torch, list(vars(module).values()))]
        return sum({id(t): t.numel() * t.element_size() for t in found}.values())

    # ---- a call ----

    def _pattern(self):
        """What get_inputs() returns, for some of it may be no tensor; made without memory where torch can (2.0)."""
        make = self.names.get("get_inputs")
        if make is None:
            return [self.torch.empty(0)] * len(self.inputs)
        seed_all(self.torch)
        try:
            with self.torch.device("meta"):
                return list(make())
        except Exception:  # AttributeError: an older torch
            seed_all(self.torch)
            return list(guarded("get_inputs", self.name, make))

    def arguments(self, tensors):
        """What target is called with."""
        if self.is_function:
            return [tensors[t["name"]] for t in self.inputs + self.constants]
        if self.pattern is None:
            pattern = self._pattern()
            count = len(tensors_in(self.torch, pattern))
            if count != len(self.inputs):
                raise Refusal("problem", "%s: get_inputs() gives %d tensors, the task has %d inputs"
                              % (self.name, count, len(self.inputs)))
            self.pattern = with_tensors(self.torch, pattern, iter([self.torch.empty(0)] * count))
        return with_tensors(self.torch, self.pattern, iter([tensors[t["name"]] for t in self.inputs]))

    def call(self, tensors):
        """The outputs, flat, in the order of the task's out tensors."""
        self.bind(tensors)
        seed_all(self.torch)
        if self.is_backward:
            return self.check(self.backward_of(tensors, self.target)())
        arguments = self.arguments(tensors)
        with self.torch.no_grad():
            result = guarded("", self.name, lambda: self.target(*arguments))
        return self.check(tensors_in(self.torch, result))

    def check(self, found):
        if len(found) < len(self.outputs):
            raise Refusal("problem", "%s: it returns %d tensors, the task has %d outputs" % (self.name, len(found), len(self.outputs)))
        for t, tensor in zip(self.outputs, found):
            count = functools.reduce(lambda a, b: a * b, t["shape"], 1)
            if tensor.numel() != count:
                raise Refusal("problem", "%s: output %s has %d elements (shape %s), the task says %d (shape %s)"
                              % (self.name, t["name"], tensor.numel(), list(tensor.shape), count, list(t["shape"])))
            if tensor.is_complex():
                raise Refusal("problem", "%s: output %s is complex" % (self.name, t["name"]))
        return found

    def _leaf(self, tensor):
        return tensor.detach().requires_grad_(tensor.is_floating_point())

    def backward_of(self, tensors, target):
        """A function without arguments: gradients with respect to the tensors that the outputs name, for the gradients that flow
        in.  target: ours, or what a compiler made of it."""
        leaves = {t["name"]: self._leaf(tensors[t["name"]]) for t in self.inputs + self.constants}
        if not self.is_function:
            self._parameters_need_gradients()
        arguments = self.arguments(leaves)
        wanted = [self._leaves_of(t, leaves) for t in self.outputs]

        def run():
            with self.torch.enable_grad():
                result = guarded("", self.name, lambda: target(*arguments))
            heads, flows = self._heads(tensors_in(self.torch, result), tensors)
            given = iter(guarded("backward", self.name, lambda: self.torch.autograd.grad(
                heads, [leaf for parts in wanted for leaf in parts], flows)))
            gradients = [[next(given) for _ in parts] for parts in wanted]
            return [parts[0] if len(parts) == 1 else self.torch.cat([part.reshape(-1) for part in parts])
                    for parts in gradients]
        return run

    def _heads(self, results, tensors):
        """Results that gradients flow into, and these: ones where the task has no tensor for them."""
        given = {int(t["of"]): tensors[t["name"]] for t in self.flows}
        if given and max(given) >= len(results):
            raise Refusal("problem", "%s: a gradient flows into result %d of %d" % (self.name, max(given), len(results)))
        heads, flows = [], []
        for number, head in enumerate(results):
            if head.requires_grad:
                flow = given.get(number)
                heads.append(head)
                flows.append(self.torch.ones_like(head) if flow is None else flow.reshape(head.shape).to(head.dtype))
        if not heads:
            raise Refusal("problem", "%s: no result depends on what gradients are asked of" % self.name)
        return heads, flows

    def _leaves_of(self, output, leaves):
        """What an output is the gradient of: an input, or parameters whose gradients are one after the other."""
        name = output.get("of") or ""
        parts = [] if self.is_function else [held for held, tensor, _, _, _ in self.places if tensor == name]
        parts = parts or ([leaves[name]] if name in leaves else [])
        if not parts or not all(part.requires_grad for part in parts):
            raise Refusal("problem", "%s: output %s is the gradient of \"%s\", which can have none" % (self.name, output["name"], name))
        return parts

    def _parameters_need_gradients(self):
        for held, _, _, _, _ in self.places:
            if isinstance(held, self.torch.nn.Parameter) and held.is_floating_point():
                held.requires_grad_(True)


def load(torch, description, device, dtype=None):
    return Problem(torch, description, device, dtype)
