"""What a problem is like, as a task: its tensors, extents, inits, variants, tolerance, work and flaws.

inspect(request) is the whole of it; see the README of this folder for the request and the answer.  Shapes come from runs on
the meta device, numbers from runs of the very code that answers for the oracle (problem.py) at the check variants."""
import ast
import math
import re
import time

import torch

from atoll import problem, problem_text, shape_fit
from atoll.admission import Tolerance, is_finite, judge, public_figures, root_mean_square, waste_in
from atoll.draws import DISTRIBUTIONS, Draws
from atoll.init_fit import fit_values, inits_of, is_symmetric
from atoll.problem_category import category_of
from atoll.problem_seed import seeds_of
from atoll.problem_sizes import Sizes
from atoll.problem_survey import survey, work_of
from atoll.refusal import Refusal
from atoll.replaced import Functions
from atoll.shape_fit import evaluate
from atoll.task_names import NAME_LIMIT, RESERVED, clean
from atoll.tensor_origin import SAME
from atoll.tolerance import SAFETY, Spread, benchmark_tolerance, relative_error

DTYPES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.int64: "i64",
          torch.int32: "i32", torch.int16: "i16", torch.int8: "i8", torch.uint8: "u8", torch.bool: "u8"}
for eight, short in (("float8_e4m3fn", "f8e4m3"), ("float8_e5m2", "f8e5m2")):
    if hasattr(torch, eight):
        DTYPES[getattr(torch, eight)] = short
TORCH = {"f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
         "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8}

TENSOR_LIMIT, DIM_LIMIT, RANK_LIMIT = 32, 32, 6
WEIGHT_LIMIT = 8          # more are packed into one constant
EXPRESSION_LIMIT = 4000
CHECK_ELEMENTS, SMALL_ELEMENTS, HIDDEN_ELEMENTS = 40000, 1500, 300000
CHECK_WORK, HIDDEN_WORK = 1e9, 8e9
HOST_BENCH_BYTES, HOST_BENCH_WORK, BENCH_ELEMENTS = 1 << 30, 1e9, 1000000  # beyond them hosts get a bench variant of their own
SHAPE_LIMIT, SHAPE_ELEMENTS = 3, 200000  # further shapes of the benchmark's: of each kind; a check variant has at most
SEARCH_S = 60.0  # for smaller shapes
ILL_CONDITIONED = 2e-3  # relative error of single precision, above which a shape is not used
HOST_BYTES, HOST_WORK = 8 << 30, 2e11  # beyond them nothing is run on the host
BENCH_ELEMENTS_GPU = 1e8  # drawn and answered at the benchmark's shape, on a GPU
BENCH_INPUTS_GPU = 1.2e9  # drawn once there, for the tolerance alone: 5 GB of the host's memory
DEAR_S = 1.5  # of one answer: fewer draws then
class Inspection:
    def __init__(self, request, device, turns):
        self.request, self.device, self.turns = request, device, turns
        self.name = "problem.py"
        self.entry = request.get("entry") or "Model"
        self.is_function = request.get("form") == "function"
        self.is_backward = bool(request.get("backward"))
        self.notes, self.tags, self.reached = [], set(), set()

    # ---- the text ----

    def read(self):
        source = self.request["source"]
        problem.guarded("", self.name, lambda: compile(source, self.name, "exec"))
        self.source = problem_text.lift(source)
        functions = Functions(torch)
        names = problem.namespace(self.source, {}, self.name)
        replaced = functions.put_back()
        if replaced:
            raise Refusal("problem", "%s: %s" % (self.name, replaced))
        self.constants = problem_text.constants(ast.parse(self.source), names)
        self.text = names.get("__doc__")

    def look(self, dims, run=True):
        return survey(self.source, self.entry, dims, "meta", self.is_function, name=self.name, run=run)

    def prove(self, dims, is_strict):
        """A run for real; strict: single precision agrees with double. Three values that a batch norm makes one are no shape to
        compare at."""
        s = survey(self.source, self.entry, dims, "cpu", self.is_function, name=self.name)
        if self.is_function or not is_strict:
            return
        try:
            with torch.no_grad():
                again = problem.tensors_in(torch, s.target(*s.given))
                double = problem.tensors_in(torch, s.target.double()(*widened(s.given)))
        except Exception:
            return  # settle_precision says why
        for first, second, twice in zip(s.outputs, again, double):
            wide = twice.double()
            if torch.equal(first, second) and first.shape == twice.shape and math.isfinite(float(wide.sum())) and \
                    relative_error(first.double(), wide, root_mean_square(wide)) > ILL_CONDITIONED:
                raise Refusal("problem", "single and double precision differ too much at this shape")

    def look_at_size(self):
        """Shapes of a benchmark are for a GPU."""
        s = self.chosen[self.smallest()][2]
        if self.device.type == "cpu" and (2 * s.meter.peak > HOST_BYTES or work_of(s) > HOST_WORK):
            raise Refusal("memory", "its smallest shape needs %.1f GiB and %.3g operations: name a GPU with --gpu to have it checked"
                          % (2 * s.meter.peak / 2.0 ** 30, work_of(s)), cause="memory")

    # ---- variants ----

    def scale(self):
        sizes = Sizes(self.look, self.prove, {n: v for n, v in self.constants.items() if v >= 1}, SEARCH_S)
        self.bench = sizes.bench
        chosen = []
        for name, elements, work in (("check", CHECK_ELEMENTS, CHECK_WORK), ("check.2", SMALL_ELEMENTS, CHECK_WORK),
                                     ("hidden", HIDDEN_ELEMENTS, HIDDEN_WORK)):
            found = sizes.small(elements, work)
            if found and found[0] and found[0] not in [dims for _, dims, _ in chosen]:
                chosen.append((name, found[0], found[1]))
        if not any(name.startswith("check") for name, _, _ in chosen):
            self.tags.add("single-shape")
            self.notes.append("only one shape exists: no constant of the module can be scaled")
            chosen = [("check", {}, self.bench)]
        elif not any(name == "check" for name, _, _ in chosen):
            chosen = [("check" if name == "check.2" else name, dims, s) for name, dims, s in chosen]
        self.backends = {}
        if 2 * self.bench.meter.peak > HOST_BENCH_BYTES or work_of(self.bench) > 20 * HOST_BENCH_WORK:
            found = sizes.small(BENCH_ELEMENTS, HOST_BENCH_WORK)
            if found and found[0] and found[0] not in [dims for _, dims, _ in chosen]:
                chosen.append(("bench.cpu", found[0], found[1]))
                self.backends = {"bench.cpu": "cpu", "bench": "cuda"}
        chosen.append(("bench", {}, self.bench))
        self.chosen = chosen[:-1] + self.other_shapes(sizes, [dims for _, dims, _ in chosen]) + chosen[-1:]
        self.sizes = sizes
        self.choose_dims(sizes)

    def other_shapes(self, sizes, known):
        """The benchmark's further shapes: checked where they are small, else measured beside the first."""
        found = {"check": [], "bench": []}
        for dims in self.request.get("shapes") or []:
            dims = {n: v for n, v in dims.items() if self.constants.get(n, v) != v}
            s = sizes.same_form(dims) if dims and dims not in known else None
            if s is None:
                continue
            known.append(dims)
            is_small = sum(t.numel() for t in self.given(s) + s.outputs) <= SHAPE_ELEMENTS and work_of(s) <= CHECK_WORK
            of = found["check" if is_small else "bench"]
            if len(of) < SHAPE_LIMIT and (not is_small or sizes.runs(dims, False)):
                of.append((dims, s))
        chosen = []
        for kind, first in (("check", 3), ("bench", 2)):
            chosen += [("%s.%d" % (kind, first + i), dims, s) for i, (dims, s) in enumerate(found[kind])]
        if chosen:
            self.tags.add("several-shapes")
        if self.backends:
            self.backends.update({name: "cuda" for name, _, _ in chosen if name.startswith("bench")})
        return chosen

    def choose_dims(self, sizes):
        """Constants that are dims of the task: what varies, then what extents are made of."""
        varying = [n for n in self.constants if any(dims.get(n, self.constants[n]) != self.constants[n]
                                                    for _, dims, _ in self.chosen)]
        if len(varying) > DIM_LIMIT:
            raise Refusal("unsupported", "%d constants vary between the variants, a task has at most %d dims"
                          % (len(varying), DIM_LIMIT), cause="dims")
        extents = {int(e) for s in [self.bench] for t in [t for _, t in s.inputs] + s.outputs + list(s.parameters.values())
                   for e in t.shape}
        more = [n for n in self.constants if n not in varying and self.constants[n] > 7 and self.constants[n] in extents
                and not n.startswith("_")]
        names = varying + more[:max(0, DIM_LIMIT - 2 - len(varying))]
        if not names:
            names = [n for n in self.constants if self.constants[n] >= 1][:1]
        self.dims = {n: [int(dims.get(n, self.constants[n])) for _, dims, _ in self.chosen] for n in self.constants
                     if n in names and n not in RESERVED and len(n) <= NAME_LIMIT}
        if not self.dims:
            self.dims = {"one": [1] * len(self.chosen)}

    def expression(self, values):
        values = [int(v) for v in values]
        text = shape_fit.fit(values, self.dims, names=True)
        if text is None or len(text) > EXPRESSION_LIMIT:
            text = self.symbol(values)
        return text

    def symbol(self, values):
        """A dim of its own for what is no expression over the others."""
        for name, known in self.dims.items():
            if known == values:
                return name
        if len(self.dims) >= DIM_LIMIT:
            raise Refusal("unsupported", "an extent is no expression over the dims, and there are %d dims already" % DIM_LIMIT, cause="dims")
        name = clean("extent", set(self.dims) | set(self.taken) | set(self.constants))
        self.dims[name] = values
        return name

    def shape(self, tensors):
        if tensors[0].dim() > RANK_LIMIT:
            raise Refusal("unsupported", "a tensor has %d axes, a task's at most %d" % (tensors[0].dim(), RANK_LIMIT), cause="rank")
        if tensors[0].dim() and any(e < 1 for t in tensors for e in t.shape):
            raise Refusal("unsupported", "a tensor has no elements", cause="empty")
        return [self.expression([t.shape[k] for t in tensors]) for k in range(tensors[0].dim())]

    # ---- tensors ----

    def dtype(self, tensor, what):
        if tensor.dtype not in DTYPES:
            raise Refusal("unsupported", "%s is of %s, which no task has" % (what, tensor.dtype), cause="dtype")
        return DTYPES[tensor.dtype]

    def find_tensors(self):
        self.taken = set(self.dims)
        surveys = [s for _, _, s in self.chosen]
        self.real = None
        self.tensors, conversions = [], {}
        for k, (name, tensor) in enumerate(self.bench.inputs):
            t = {"name": clean(name, self.taken), "dtype": self.dtype(tensor, "input %s" % name),
                 "shape": self.shape([s.inputs[k][1] for s in surveys]), "role": "in",
                 "init": self.init([s.inputs[k][1] for s in surveys], surveys, ("in", k))}
            if tensor.dtype == torch.bool:
                conversions[name] = "torch.bool"
            self.tensors.append(t)
        if conversions and self.is_function:
            raise Refusal("unsupported", "a function takes booleans", cause="dtype")
        self.conversions = conversions
        self.find_weights(surveys)
        self.outs = []
        for k, tensor in enumerate(self.bench.outputs):
            if tensor.is_complex():
                raise Refusal("unsupported", "an output is complex", cause="dtype")
            self.outs.append({"name": clean("y" if len(self.bench.outputs) == 1 else "y%d" % k, self.taken),
                              "dtype": self.dtype(tensor, "output %d" % k),
                              "shape": self.shape([s.outputs[k] for s in surveys]), "role": "out"})
        if not self.bench.outputs:
            raise Refusal("unsupported", "it returns no tensor", cause="no-output")
        if any(t.dtype == torch.bool for t in self.bench.outputs):
            raise Refusal("unsupported", "an output is boolean", cause="dtype")

    def completed(self, inputs, weights):
        """Inputs, weights and what is answered: the outputs, or for a backward pass the gradients of all that needs one, with the
        gradient of the first output coming in."""
        if not self.is_backward:
            return inputs + weights + self.outs
        flow = {"name": clean("grad_" + self.outs[0]["name"], self.taken), "dtype": self.outs[0]["dtype"],
                "shape": self.outs[0]["shape"], "role": "in", "of": "0", "init": {"normal": {"mean": 0, "std": 1}}}
        needed = [t for t, (_, tensor) in zip(inputs, self.bench.inputs) if tensor.requires_grad] + \
            [w for w in weights if "segments" in w["init"] or w["parameter"] in self.bench.parameters]
        if not needed:
            raise Refusal("unsupported", "nothing needs a gradient", cause="no-gradient")
        outs = []
        for t in needed:
            out = {"name": clean("grad_" + t["name"], self.taken), "dtype": t["dtype"], "role": "out", "of": t["name"]}
            outs.append(dict(out, **{k: t[k] for k in ("shape", "each") if k in t}))
        return [flow] + inputs + weights + outs

    def find_weights(self, surveys):
        """Parameters and float buffers as constants; integer buffers and those of a fixed pattern stay the module's."""
        self.weights, unused = [], self.without_gradient() if self.is_backward else ()
        for name, tensor in list(self.bench.parameters.items()) + list(self.bench.buffers.items()):
            is_buffer = name in self.bench.buffers
            if not tensor.is_floating_point() or (is_buffer and self.is_fixed(name, tensor)) or name in unused:
                continue
            if any(name not in (s.buffers if is_buffer else s.parameters) for s in surveys):
                raise Refusal("unsupported", "parameter %s is not there at every shape" % name, cause="shapes")
            each = [(s.buffers if is_buffer else s.parameters)[name] for s in surveys]
            self.weights.append({"parameter": name, "dtype": self.dtype(tensor, "parameter %s" % name), "each": each,
                                 "init": self.init(each, surveys, ("buffer" if is_buffer else "parameter", name)),
                                 "is_buffer": is_buffer})

    def without_gradient(self):
        """Parameters that the forward pass does not touch."""
        s = survey(self.source, self.entry, self.chosen[self.smallest()][1], "cpu", self.is_function, name=self.name, run=False)

        def backward():
            result = problem.tensors_in(torch, s.target(*s.given))
            sum(t.double().sum() for t in result if t.requires_grad).backward()

        problem.guarded("backward", self.name, backward)
        return {name for name, parameter in s.parameters.items() if parameter.grad is None}

    def is_fixed(self, name, tensor):
        """A buffer whose values are neither random nor one number."""
        mark = self.bench.origins.of(tensor)
        if mark is not None:
            return False
        return True

    def weight_tensors(self, weights):
        if len(weights) > WEIGHT_LIMIT or len(weights) + len(self.tensors) > TENSOR_LIMIT:
            return self.packed(weights)
        return [{"name": clean(w["parameter"], self.taken), "dtype": w["dtype"], "shape": self.shape(w["each"]),
                 "role": "constant", "parameter": w["parameter"], "init": w["init"]} for w in weights]

    def packed(self, weights):
        self.tags.add("packed-weights")
        packed = []
        for dtype in sorted({w["dtype"] for w in weights}):
            of = [w for w in weights if w["dtype"] == dtype]
            total = [sum(w["each"][v].numel() for w in of) for v in range(len(self.chosen))]
            segments = [{"parameter": w["parameter"], "count": self.expression([t.numel() for t in w["each"]]),
                         "init": w["init"]} for w in of]
            packed.append({"name": clean("weights" if len({w["dtype"] for w in weights}) == 1 else "weights_" + dtype, self.taken),
                           "dtype": dtype, "shape": [self.expression(total)], "role": "constant",
                           "init": {"segments": segments}})
        return packed

    # ---- inits ----

    def init(self, each, surveys, place):
        marks = [s.origins.of(t) for s, t in zip(surveys, each)]
        mark = marks[self.init_variant]
        if mark is None or any(m is None or m[0] != mark[0] for m in marks):
            return self.fitted(each[-1], place)
        kind, a, b = mark
        is_float = each[-1].is_floating_point()
        if kind == "integer":
            low, highs = int(a), [int(m[2]) for m in marks]
            if any(int(m[1]) != low for m in marks):
                return self.fitted(each[-1], place)
            return {"integer": {"low": low, "high": self.expression(highs) if len(set(highs)) > 1 else highs[0]}}
        if kind == "permutation":
            return {"permutation": {}}
        if not is_float:
            return {"constant": int(a)} if kind == "constant" else self.fitted(each[-1], place)
        if kind == "constant":
            return self.varied(a) if place[0] != "in" else {"constant": a}
        if kind == "uniform" and (a, b) == (0, 1) and place[0] == "in" and self.is_signed:
            return {"normal": {"mean": 0, "std": 1}}
        if kind == "uniform" and a < b:
            return {"uniform": {"low": a, "high": b}}
        if kind == "normal" and b > 0:
            return {"normal": {"mean": a, "std": b}}
        return self.varied(a) if place[0] != "in" else {"constant": a}

    def varied(self, value):
        """A weight that the module sets to one number is drawn around it: else kernels could leave it out."""
        self.tags.add("varied-weights")
        if value == 0:
            return {"uniform": {"low": -0.5, "high": 0.5}}
        return {"uniform": {"low": min(0.5 * value, 1.5 * value), "high": max(0.5 * value, 1.5 * value)}}

    def fitted(self, tensor, place):
        """From the values that the module makes at the smallest variant."""
        if self.real is None:
            smallest = min(self.chosen, key=lambda c: sum(t.numel() for _, t in c[2].inputs))
            self.real = survey(self.source, self.entry, smallest[1], "cpu", self.is_function, name=self.name, run=False)
        if place[0] == "in":
            values = self.real.inputs[place[1]][1]
        else:
            values = (self.real.parameters if place[0] == "parameter" else self.real.buffers)[place[1]]
        fit = fit_values(values.detach())
        if place[0] != "in" and "constant" in fit and tensor.is_floating_point():
            return self.varied(fit["constant"])
        self.tags.add("fitted-inputs" if place[0] == "in" else "fitted-weights")
        return fit

    # ---- the task's description of one variant, as core/task/task_describe.c writes it ----

    def description(self, tensors, variant):
        values = {n: v[variant] for n, v in self.dims.items()}
        described, place = [], {w["parameter"]: w for w in self.weights}
        for t in tensors:
            shape = list(t["each"][variant].shape) if "each" in t else [evaluate(e, values) for e in t["shape"]]
            d = {"name": t["name"], "dtype": t["dtype"], "role": t["role"], "shape": shape, "of": t.get("of"),
                 "parameter": t.get("parameter")}
            if "segments" in (t.get("init") or {}):
                d["segments"], offset = [], 0
                for segment in t["init"]["segments"]:
                    count = place[segment["parameter"]]["each"][variant].numel()
                    d["segments"].append({"parameter": segment["parameter"], "offset": offset, "count": count})
                    offset += count
            described.append(d)
        return {"name": "import", "dims": values, "tensors": described, "rivals": [],
                "reference": {"source": self.source, "file": self.name, "form": "function" if self.is_function else "module",
                              "entry": self.entry, "backward": self.is_backward}}

    # ---- numbers ----

    def values(self, description, tensors, draws, only=None):
        """Contents of every in and constant tensor, or of some by name: {name: tensor of its dtype}."""
        dims = description["dims"]
        filled, inits = {}, {t["name"]: t.get("init") for t in tensors}
        for number, d in enumerate(description["tensors"]):
            if d["role"] == "out" or only is not None and d["name"] not in only:
                continue
            init = inits[d["name"]]
            if "segments" in init:
                parts = [draws.fill(number + (k << 8), [s["count"]], TORCH[d["dtype"]], w["init"], dims)
                         for k, (s, w) in enumerate(zip(d["segments"], init["segments"]))]
                filled[d["name"]] = torch.cat(parts)
            else:
                filled[d["name"]] = draws.fill(number, d["shape"], TORCH[d["dtype"]], init, dims)
        return filled

    def wide(self, values):
        return {n: t.double() if t.is_floating_point() and self.precision == "f64" else t for n, t in values.items()}

    def answer(self, tensors, variant, values):
        """The true outputs, as doubles."""
        key = (variant, tuple((t["name"], t.get("parameter")) for t in tensors))  # what a problem binds
        with self.turns:
            if key not in self.oracles:
                description = self.description(tensors, variant)
                self.oracles = {}  # its memory is free before the next is made
                self.oracles = {key: problem.load(torch, description, self.device, self.float64())}
            return [t.detach().double().cpu() for t in self.oracles[key].call(self.wide(self.to_device(values)))]

    def eager(self, tensors, variant, values):
        description = self.description(tensors, variant)
        with self.turns:
            loaded = problem.load(torch, description, self.device, None)
            return [t.detach().cpu() for t in loaded.call(self.to_device(values))]

    def to_device(self, values):
        return {n: t.to(self.device, copy=True) for n, t in values.items()}  # a module may write into its inputs

    def float64(self):
        return torch.float64 if self.precision == "f64" else None

    def settle_randomness(self):
        """A module that draws in forward is put into evaluation mode where dropout is why, else it is no task."""
        tensors = self.plain_tensors()
        variant = self.smallest()
        description = self.description(tensors, variant)
        drawn = self.values(description, tensors, Draws(1))

        def once(seed):
            loaded.bind(values)
            torch.manual_seed(seed)
            given = loaded.arguments(values)
            with torch.no_grad():
                result = problem.guarded("", self.name, lambda: loaded.target(*given))
            return [t.detach().double().cpu() for t in problem.tensors_in(torch, result)]

        with self.turns:
            loaded, values = problem.load(torch, description, self.device, None), self.to_device(drawn)
            calls = [] if self.is_backward else [once(1), once(2), once(1)]
        if alike(*calls[:2]) or alike_but_order(*calls, benchmark_tolerance([t["dtype"] for t in self.outs])):
            return
        if self.is_eval or self.is_function:
            raise Refusal("unsupported", "it draws random numbers when it is called: two calls with the same inputs differ", cause="random")
        self.is_eval = True
        self.tags.add("eval-mode")
        self.notes.append("dropout draws random numbers in training mode: evaluation mode")
        self.wrap()
        self.settle_randomness()

    def wrap(self):
        why = []
        if self.conversions:
            why.append("masks come as bytes")
        if self.is_eval:
            why.append("evaluation mode, as dropout draws random numbers")
        if not why:
            return
        self.source = problem_text.entry_of(self.plain_source, self.plain_entry, why, self.bench.arguments, self.conversions,
                                            self.is_eval)
        self.entry = "AtollEntry"
        if self.is_eval:
            self.chosen = [(name, dims, self.look(dims)) for name, dims, _ in self.chosen]
            self.bench = self.chosen[-1][2]
            self.inputs_found = False

    def plain_tensors(self):
        """Every weight a tensor of its own, as no task could have it."""
        self.taken, self.tensors = set(self.dims), []
        self.find_tensors()
        weights = [{"name": "w%d" % i, "dtype": w["dtype"], "role": "constant", "parameter": w["parameter"],
                    "init": w["init"], "each": w["each"]}
                   for i, w in enumerate(self.weights)]
        taken = set(self.taken)
        self.plain = self.completed(self.tensors, weights)
        self.taken = taken
        return self.plain

    def smallest(self):
        return min(range(len(self.chosen)), key=lambda i: work_of(self.chosen[i][2]) + sum(
            t.numel() for _, t in self.chosen[i][2].inputs))

    def drop_silent_weights(self):
        """Weights that change nothing (a bias in front of a training batch norm) are no tensors of the task."""
        if len(self.weights) > 48 or self.is_dear or self.is_backward:
            return
        silent = {w["parameter"] for w in self.weights}
        for variant in [i for i, (name, _, _) in enumerate(self.chosen) if name.startswith("check")]:
            for seed in (11, 13, 15):
                silent &= self.silent_weights(variant, silent, seed)
        self.silent = silent
        if silent:
            said = [n for n in sorted(silent) if not n.endswith(("running_mean", "running_var"))]
            if said:
                self.notes.append("without influence, so no tensors of the task: " + ", ".join(said))
            self.weights = [w for w in self.weights if w["parameter"] not in silent]

    def silent_weights(self, variant, suspects, seed):
        """Those of the suspects that change nothing in this draw."""
        if not suspects:
            return set()
        tensors, found = self.plain, set()
        description = self.description(tensors, variant)
        values = self.values(description, tensors, Draws(seed))
        first = self.answer(tensors, variant, values)
        for t in tensors:
            if t.get("parameter") not in suspects or "constant" in t["init"]:
                continue
            changed = self.values(description, tensors, Draws(seed + 1), [t["name"]])
            if all(unmoved(a, b) for a, b in zip(first, self.answer(tensors, variant, {**values, **changed}))):
                found.add(t["parameter"])
        return found

    def settle_precision(self):
        """Double precision where the module runs in it."""
        self.precision = "f64"
        tensors, variant = self.plain, self.smallest()
        values = self.values(self.description(tensors, variant), tensors, Draws(1))
        begin = time.process_time()  # of this process: others may work beside it
        try:
            self.answer(tensors, variant, values)
            self.is_dear = time.process_time() - begin > DEAR_S
        except Refusal as refusal:
            if refusal.kind == "memory":
                raise
            self.precision, self.oracles = "f32", {}
            self.tags.add("f32-oracle")
            self.notes.append("does not run in double precision (%s)" % refusal.text)
            self.answer(tensors, variant, values)

    def measure(self):
        """Tolerance, distributions, flaws."""
        tensors = self.tensors
        variants = [i for i, (name, _, _) in enumerate(self.chosen) if name.startswith("check")][:1 if self.is_dear else 2]
        judged = variants[0]
        if self.device.type == "cuda" and sum(t.numel() for t in self.given(self.bench) + self.bench.outputs) <= BENCH_ELEMENTS_GPU:
            judged = len(self.chosen) - 1
            variants.append(judged)
        is_exact = all(t["dtype"][0] in "iu" for t in tensors if t["role"] == "out")
        spread, kept, drawn = Spread(), [], []
        for variant in variants:
            for seed in (1, 2, 3)[:2 if self.is_dear else 3]:
                values = self.values(self.description(tensors, variant), tensors, Draws(seed))
                right, eager = self.answer(tensors, variant, values), self.eager(tensors, variant, values)
                if variant == judged:
                    kept.append(right)
                    drawn.append(values)
                spread.add(right, eager)
        if not is_exact and self.bench_tells_more(variants):
            self.add_bench(spread, tensors)
        self.worst = spread.worst
        if not math.isfinite(spread.worst):
            self.notes.append("outputs are not finite everywhere at the check shapes")
        elif SAFETY * spread.worst >= 1:
            self.notes.append("PyTorch's own answer in the task's types is off by %.0f %% of the right one" % (100 * spread.worst))
        self.tolerance = spread.bounds([t["dtype"] for t in tensors if t["role"] == "out"], self.precision, self.device)
        share, atol = (self.tolerance.get(name, 0) for name in ("rtol", "atol"))
        tolerance = Tolerance(share, atol, 2 * share)
        self.find_flaws(tensors, judged, drawn, kept, tolerance)
        self.find_distributions(tensors, variants, tolerance, is_exact)

    def bench_tells_more(self, variants):
        """Sums are longer at the benchmark's own shape: one draw of it tells how far eager's are off there, where a GPU has room."""
        bench, outputs = self.given(self.bench), self.bench.outputs
        return (self.device.type == "cuda" and len(self.chosen) - 1 not in variants and
                sum(t.numel() for t in outputs) <= BENCH_ELEMENTS_GPU and
                sum(t.numel() for t in bench) <= BENCH_INPUTS_GPU)

    def add_bench(self, spread, tensors):
        variant = len(self.chosen) - 1
        values = self.values(self.description(tensors, variant), tensors, Draws(1))
        try:
            spread.add(self.answer(tensors, variant, values), self.eager(tensors, variant, values))
        except Refusal as refusal:
            if refusal.kind != "memory":
                raise
            self.notes.append("the tolerance is of smaller shapes alone: %s" % refusal.text)

    @staticmethod
    def given(s):
        return [t for _, t in s.inputs] + list(s.parameters.values())

    def find_flaws(self, tensors, variant, drawn, kept, tolerance):
        """drawn: what went in, for each of the answers kept."""
        base = drawn[0]
        inputs = [t["name"] for t in tensors if t["role"] == "in"]
        asked = [t.get("of") for t in tensors if t["role"] == "out"]  # a gradient need not depend on what it is of: a bias
        silent = [t["name"] for t in tensors if t["role"] != "out" and t["name"] not in asked and
                  "constant" not in (t.get("init") or {"constant": 0})]
        for seed, values, right in zip((1, 2), drawn, kept):
            silent = [name for name in silent if self.is_unmoved(tensors, variant, values, name, seed, right, tolerance)]
        inputs_only = kept  # where there is nothing but inputs
        if len(inputs) < len(base):
            inputs_only = kept[:1] + [self.answer(tensors, variant, {**base, **{n: values[n] for n in inputs}}) for values in drawn[1:]]
        self.marks = judge(kept, tolerance, silent)
        for t in tensors:
            given = base.get(t["name"])
            if given is not None and any(given.numel() == r.numel() and tolerance.passes(given.cpu(), r)
                                         for r in kept[0]):
                self.marks.append({"criterion": "copy", "reason": "a copy of %s passes" % t["name"]})
        self.public = public_figures(kept, inputs_only)
        self.waste = self.find_waste()
        for reason in self.waste:
            self.marks.append({"criterion": "baseline", "reason": reason})

    def is_unmoved(self, tensors, variant, values, name, seed, right, tolerance):
        """Whether other values of a tensor give the answer that this draw has."""
        changed = self.values(self.description(tensors, variant), tensors, Draws(seed + 6), [name])
        moved = self.answer(tensors, variant, {**values, **changed})
        return all(tolerance.is_same(m, r) for m, r in zip(moved, right))

    def find_waste(self):
        return waste_in(self.bench.meter.names, self.bench.meter.steps)

    def find_distributions(self, tensors, variants, tolerance, is_exact):
        """Those under which the module stays finite and eager stays right."""
        self.distributions = ["base"]
        kinds = {k for t in tensors for k in inits_of(t.get("init"))}
        if is_exact or not kinds & {"normal", "uniform"}:
            return
        if self.is_dear:
            self.notes.append("other distributions than base were not tried: an answer takes long")
            return
        variant = variants[-1] if self.device.type != "cuda" else variants[0]
        for name in DISTRIBUTIONS[1:]:
            good = name != "signed" or any(is_symmetric(t.get("init")) for t in tensors)
            for seed in (21, 22):
                values = self.values(self.description(tensors, variant), tensors, Draws(seed, name))
                right, eager = self.answer(tensors, variant, values), self.eager(tensors, variant, values)
                good = good and all(is_finite(r) and tolerance.passes(e, r) for r, e in zip(right, eager))
            if good:
                self.distributions.append(name)

    # ---- work ----

    def work(self):
        surveys = [s for _, _, s in self.chosen]
        shapes = [t for t in self.tensors if t["role"] != "constant" or not t.get("init", {}).get("segments")]
        largest = max(shapes, key=lambda t: math.prod(evaluate(e, {n: v[-1] for n, v in self.dims.items()}) for e in t["shape"]))
        each = product_text([e for e in largest["shape"]]) or "1"
        counts = {len(s.meter.products) for s in surveys}
        if counts == {0}:
            return {"flops": "unknown"}  # torch's counter knows products alone
        text = None
        if len(counts) == 1:
            text = self.product_sum([s.meter.products for s in surveys])
        if text is None or len(text) > EXPRESSION_LIMIT:
            text = self.expression([work_of(s) for s in surveys])
        return {"flops": each, "matrix_flops": text}

    def product_sum(self, products):
        terms = {}
        for number, factors in enumerate(products[-1]):
            each = [p[number] for p in products]
            if any(len(f) != len(factors) for f in each):
                return None
            constant, texts = 1, []
            for k in range(len(factors)):
                text = shape_fit.fit([int(f[k]) for f in each], self.dims)
                if text is None:
                    return None
                if text.isdigit():
                    constant *= int(text)
                else:
                    texts.append(text)
            key = product_text(sorted(texts))
            terms[key] = terms.get(key, 0) + constant
        return " + ".join("%d * %s" % (n, key) if key else str(n) for key, n in terms.items()) or None

    # ---- all of it ----

    def inspect(self):
        self.oracles, self.precision, self.is_eval, self.taken, self.init_variant = {}, "f64", False, set(), -1
        self.is_dear = self.is_signed = False
        self.silent = set()
        self.read()
        self.plain_source, self.plain_entry = self.source, self.entry
        self.scale()
        self.reached.add("read")
        self.look_at_size()
        self.plain_tensors()
        if self.conversions:
            self.wrap()
        self.settle_randomness()
        self.settle_precision()
        self.describe()
        flaws = {m["criterion"] for m in self.marks}
        if "copy" in flaws:
            self.try_other("signed-inputs", "inputs of 0 to 1 are drawn normal instead: the benchmark's make the answer a copy of one")
        if flaws & {"range", "std", "axis", "impact"} and self.weights:
            self.init_variant = 0
            self.try_other("check-inits", "weights are drawn as the module draws them at the check shape: drawn as at the bench "
                           "shape, the check shape shows no difference")
        work = self.work()
        seeds, no_seed = seeds_of(self)
        return self.reply(work, seeds, no_seed)

    def describe(self):
        """Tensors as the task has them, and their numbers."""
        self.drop_silent_weights()
        self.tensors = self.completed(self.tensors, self.weight_tensors(self.weights))
        if len(self.tensors) > TENSOR_LIMIT:
            raise Refusal("unsupported", "%d tensors, a task has at most %d" % (len(self.tensors), TENSOR_LIMIT), cause="tensors")
        self.oracles = {}
        self.reached.add("expressible")
        self.measure()
        self.reached.add("checked")

    def try_other(self, tag, note):
        """Other inits, kept where they leave fewer flaws. Initialisers follow the extents: at the small shapes those of the
        benchmark's may leave nothing to see."""
        kept = {name: getattr(self, name) for name in ("tensors", "weights", "marks", "public", "tolerance", "distributions",
                                                       "worst", "plain", "waste", "taken", "source", "entry", "silent")}
        kept["tags"], kept["notes"], kept["dims"] = set(self.tags), list(self.notes), dict(self.dims)
        self.is_signed = tag == "signed-inputs"
        self.plain_tensors()
        self.notes = [n for n in self.notes if not n.startswith("without influence")]
        self.describe()
        if len(self.marks) < len(kept["marks"]):
            self.tags.add(tag)
            self.notes.append(note)
            return
        for name, value in kept.items():
            setattr(self, name, value)
        self.init_variant, self.is_signed = -1, False

    def reply(self, work, seeds, no_seed):
        variants = []
        for i, (name, _, _) in enumerate(self.chosen):
            dims = {n: v[i] for n, v in self.dims.items()}
            if name in self.backends:
                dims["backend"] = self.backends[name]
            variants.append({"name": name, "dims": dims})
        floats = sorted({t["dtype"] for t in self.tensors if t["dtype"][0] in "fb"})
        memory = (4 if self.is_backward else 2) * self.bench.meter.peak
        reference = {"torch": self.name, "form": "function" if self.is_function else "module", "entry": self.entry}
        if self.is_backward:
            reference["backward"] = True
        reference["memory"] = int(memory)
        return {"task": {"summary": self.summary(), "dims": list(self.dims), "tensors": self.tensors,
                         "reference": reference,
                         "work": work, "precisions": floats or ["i64"], "tolerance": self.tolerance,
                         "distributions": self.distributions, "variants": variants,
                         "category": category_of(self.bench.meter.names, self.request.get("level")),
                         "tags": sorted(self.tags)},
                "source": self.source, "seeds": seeds, "no_seed": no_seed or "", "flaws": self.marks, "public": self.public,
                "notes": self.notes, "worst_error": self.worst if math.isfinite(self.worst) else -1.0,
                "precision": self.precision, "surveys": self.sizes.tries,
                "operators": sorted({n.rstrip("_") for n in self.bench.meter.names} - SAME)}

    def summary(self):
        said = None
        for node in ast.parse(self.plain_source).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name == self.plain_entry:
                said = ast.get_docstring(node)
        title = self.request.get("title") or self.entry
        said = " ".join((self.request.get("summary") or said or "").split("\n\n")[0].split())
        return ("%s: %s" % (title, said) if said else title).encode("ascii", "replace").decode()[:400]


def widened(given):
    return [problem.with_tensors(torch, value, iter([t.double() if t.is_floating_point() else t for t in problem.tensors_in(torch, value)]))
            for value in given]


def alike(*answers):
    return all(torch.equal(a, b) or bool(torch.isnan(a).any()) for a, b in zip(*answers))


def alike_but_order(first, other, again, rounding):
    """Of calls with two seeds, and with the first again: a GPU's atomic operations come in any order, so that the same seed gives
    other last bits.  What a seed decides is a random draw."""
    return not alike(first, again) and all(relative_error(b, a, root_mean_square(a)) <= rounding for a, b in zip(first, other))


def unmoved(first, second):
    size = root_mean_square(first)
    return relative_error(second, first, size) < 1e-9


def product_text(texts):
    return " * ".join(t if re.fullmatch(r"\w+", t) else "(%s)" % t for t in texts if t != "1")
