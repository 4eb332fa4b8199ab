"""Records which ATen operators a PyTorch computation runs, on which values, as plain data.

Below autograd and below all that PyTorch composes itself: linear arrives as addmm, einsum as bmm.  Changes in place become
new values; where something reads a view of what was changed under it, the record ends with Unsupported.  Tensors of the meta
device do as well as real ones.  unify() lays the records of several variants over each other.
"""

import contextlib

CONSTANT_LIMIT = 64  # elements of a tensor that is neither input nor parameter
NODE_LIMIT = 20000


class Unsupported(Exception):
    """Why no graph, or no seed, can be had; one line."""


def record(run, named, gradients=False):
    """The graph of run(), which returns a tensor or a nest of them.  named: (key, tensor) of everything it reads.
    gradients: run() needs autograd."""
    import torch

    recorder = _recorder(torch)
    for key, tensor in named:
        recorder.graph["inputs"][key] = recorder.new_value(tensor)
    with torch.set_grad_enabled(gradients), _factories(torch, recorder, named), recorder:
        result = run()
    recorder.graph["outputs"] = [recorder.value_of(t) for t in _flatten(torch, result)]
    return recorder.graph


def _flatten(torch, result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, dict):
        result = result.values()
    if isinstance(result, str) or not hasattr(result, "__iter__"):
        raise Unsupported("an output that is no tensor but %s" % type(result).__name__)
    return [t for part in result for t in _flatten(torch, part)]


def _factories(torch, recorder, named):
    """Tensors that the computation makes: beside arguments of the meta device on that device, too; the numbers of
    torch.tensor(...) are kept."""
    from torch.overrides import TorchFunctionMode

    meta = any(tensor.device.type == "meta" for _, tensor in named)
    on_device = {getattr(torch, name) for name in ("zeros", "ones", "empty", "full", "arange", "linspace", "eye", "rand",
                                                   "randn", "randint", "tril_indices", "triu_indices")}

    class Factories(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if meta and func in (torch.tensor, torch.as_tensor) and not isinstance(args[0], torch.Tensor):
                kwargs["device"] = "cpu"
                with recorder.silent():
                    real = func(*args, **kwargs)
                    made = real.to("meta")
                recorder.constant(real, made)
                return made
            if meta and func in on_device:
                kwargs["device"] = "meta"
            return func(*args, **kwargs)

    return Factories()


def _recorder(torch):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Recorder(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.graph = {"values": [], "inputs": {}, "nodes": [], "outputs": [], "constants": {}}
            self.known = {}     # id of a tensor: [value, storage, version of the storage that it shows]
            self.versions = {}  # storage: times it was changed
            self.kept = []      # tensors whose ids are in use
            self.is_silent = False

        @contextlib.contextmanager
        def silent(self):
            self.is_silent = True
            try:
                yield
            finally:
                self.is_silent = False

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if self.is_silent:
                return func(*args, **kwargs)
            before = self.encode_all(func, args, kwargs)
            result = func(*args, **kwargs)
            self.add(func, args, kwargs, before, result)
            return result

        def storage(self, tensor):
            if hasattr(tensor, "untyped_storage"):
                return tensor.untyped_storage()._cdata
            return tensor.storage()._cdata

        def new_value(self, tensor):
            storage = self.storage(tensor)
            self.graph["values"].append({"shape": [int(n) for n in tensor.shape],
                                         "dtype": str(tensor.dtype).replace("torch.", "")})
            self.known[id(tensor)] = [len(self.graph["values"]) - 1, storage, self.versions.setdefault(storage, 0)]
            self.kept.append(tensor)
            return len(self.graph["values"]) - 1

        def value_of(self, tensor):
            found = self.known.get(id(tensor))
            if found is None:
                return self.constant(tensor)
            if found[2] != self.versions[found[1]]:
                raise Unsupported("a view of a tensor that is changed in place")
            return found[0]

        def constant(self, tensor, shown=None):
            """A small tensor that comes from nowhere: its numbers; `shown` is what the computation sees of it."""
            if tensor.device.type == "meta" or tensor.numel() > CONSTANT_LIMIT or tensor.is_complex():
                raise Unsupported("a tensor that is neither input, parameter nor buffer")
            with self.silent():
                numbers = tensor.detach().reshape(-1).tolist()
            value = self.new_value(tensor if shown is None else shown)
            self.graph["constants"][str(value)] = [_plain(n) for n in numbers]
            return value

        def encode(self, argument):
            if isinstance(argument, torch.Tensor):
                return {"value": self.value_of(argument)}
            if isinstance(argument, (list, tuple)):
                return [self.encode(a) for a in argument]
            if isinstance(argument, torch.dtype):
                return {"dtype": str(argument).replace("torch.", "")}
            if argument is None or isinstance(argument, (bool, int, float, str)):
                return _plain(argument)
            return None  # device, layout, memory format, generator

        def is_overwritten(self, func, args):
            """What it was is read by nobody: a tensor that comes from nowhere, written whole by this operator."""
            return str(func) == "aten.copy_.default" and self.storage(args[0]) not in self.versions

        def encode_all(self, func, args, kwargs):
            encoded = {}
            if self.is_overwritten(func, args):
                self.new_value(args[0])
            for i, a in enumerate(func._schema.arguments):
                given = args[i] if i < len(args) else kwargs.get(a.name, a.default_value)
                encoded[a.name] = self.encode(given)
            return encoded

        def add(self, func, args, kwargs, encoded, result):
            op = str(func)
            if op.startswith("aten._local_scalar_dense"):
                raise Unsupported("a number taken out of a tensor")
            if len(self.graph["nodes"]) >= NODE_LIMIT:
                raise Unsupported("more than %d operators" % NODE_LIMIT)
            written = []
            for i, a in enumerate(func._schema.arguments):
                if a.alias_info is not None and a.alias_info.is_write:
                    tensor = args[i] if i < len(args) else kwargs.get(a.name)
                    if isinstance(tensor, torch.Tensor):
                        written.append(tensor)
            for tensor in written:
                self.versions[self.storage(tensor)] = self.versions.get(self.storage(tensor), 0) + 1
                self.new_value(tensor)
            results = result if isinstance(result, (list, tuple)) else [result]
            outs = []
            for tensor in results:
                if not isinstance(tensor, torch.Tensor):
                    outs.append(None)
                elif any(tensor is w for w in written):
                    outs.append(self.known[id(tensor)][0])
                else:
                    outs.append(self.new_value(tensor))
            node = {"op": op, "args": encoded, "outs": outs}
            if written:
                node["written"] = [self.known[id(t)][0] for t in written]
            self.graph["nodes"].append(node)

    return Recorder()


def _plain(number):
    if isinstance(number, float) and (number != number or number in (float("inf"), float("-inf"))):
        return {"float": repr(number)}
    return number


# ---- several variants ----

class Graph:
    """What the records of all variants have in common.  Numbers that may differ are tuples, one per variant."""

    def __init__(self):
        self.values, self.inputs, self.nodes, self.outputs, self.constants = [], {}, [], [], {}


def unify(graphs):
    first = graphs[0]
    graph = Graph()
    for other in graphs[1:]:
        if [n["op"] for n in other["nodes"]] != [n["op"] for n in first["nodes"]] or \
                [n["outs"] for n in other["nodes"]] != [n["outs"] for n in first["nodes"]] or \
                other["inputs"] != first["inputs"] or other["outputs"] != first["outputs"]:
            raise Unsupported("operators that differ between the variants")
    for parts in zip(*(g["values"] for g in graphs)):
        if len({(p["dtype"], len(p["shape"])) for p in parts}) != 1:
            raise Unsupported("types or ranks that differ between the variants")
        graph.values.append((tuple(zip(*(p["shape"] for p in parts))), parts[0]["dtype"]))
    for nodes in zip(*(g["nodes"] for g in graphs)):
        args = {name: _merge([n["args"].get(name) for n in nodes]) for name in nodes[0]["args"]}
        graph.nodes.append((nodes[0]["op"], args, nodes[0]["outs"], nodes[0].get("written", [])))
    graph.inputs, graph.outputs = first["inputs"], first["outputs"]
    for value in first["constants"]:
        graph.constants[int(value)] = _merge([g["constants"].get(value) for g in graphs])
    return graph


def _merge(parts):
    """One argument as it is at all variants: a number that differs becomes a tuple."""
    first = parts[0]
    if isinstance(first, list):
        if any(not isinstance(p, list) or len(p) != len(first) for p in parts):
            raise Unsupported("arguments that differ between the variants")
        return [_merge(list(p)) for p in zip(*parts)]
    if isinstance(first, dict) and "float" in first:
        return float(first["float"]) if all(p == first for p in parts) else tuple(float(p["float"]) for p in parts)
    if isinstance(first, (bool, str, dict)) or first is None:
        if any(p != first for p in parts):
            raise Unsupported("arguments that differ between the variants")
        return first
    return first if all(p == first for p in parts) else tuple(parts)
