#!/usr/bin/env python3
"""Seeds that are written for imported tasks compute what PyTorch computes: operators of every kind, at two variants, as C and
as CUDA run on the host.  ATOLL_TEST_TORCH names a Python with torch; whose version may be any from 1.13 on."""
import contextlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types

source = pathlib.Path(sys.argv[2])
python = os.environ.get("ATOLL_TEST_TORCH", "/usr/bin/python3")
only = sys.argv[3:]


def outer():
    if subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"]).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(77)
    sys.exit(subprocess.run([python, __file__, *sys.argv[1:]], env=dict(os.environ, ATOLL_TEST_INNER="1", PYTHONPATH="",
                                                                         OMP_NUM_THREADS="1")).returncode)


if "ATOLL_TEST_INNER" not in os.environ:
    outer()

import torch  # noqa: E402

sys.dont_write_bytecode = True
sys.path += [str(source / "tests/fixtures/torch"), str(source / "tests/cli")]
package = types.ModuleType("atoll")
package.__path__ = [str(source / "mpi-eval/torch/python")]
sys.modules["atoll"] = package

import host_seed  # noqa: E402
import operators  # noqa: E402
from atoll import aten_graph, seed, seed_kernel, seed_rows, seed_tile, shape_fit  # noqa: E402
from atoll.problem_survey import OnDevice, survey, work_of  # noqa: E402
from atoll.tensor_origin import Meter  # noqa: E402


def copies(model, inputs, device):
    import copy

    model = copy.deepcopy(model)
    if isinstance(model, torch.nn.Module):
        model = model.to(device)
    inputs = [t.to(device) if device == "meta" else t.clone() for t in inputs]
    named = [(f"x{i}", t) for i, t in enumerate(inputs)]
    if isinstance(model, torch.nn.Module):
        named += list(model.named_parameters()) + list(model.named_buffers())
    return model, inputs, named


def tensor_name(key):
    return "of_" + key.replace(".", "_")


def flatten(result):
    return [result] if isinstance(result, torch.Tensor) else list(result)


def observe(build, dims, variant):
    """Graph, tensors by name and what PyTorch answers."""
    torch.manual_seed(variant)
    model, inputs = build({name: values[variant] for name, values in dims.items()})
    if isinstance(model, torch.nn.Module):
        for parameter in model.parameters():
            parameter.data.uniform_(-1, 1)
    run_model, run_inputs, named = copies(model, inputs, "cpu")
    tensors = {tensor_name(key): t.detach().clone().contiguous() for key, t in named}
    with torch.no_grad():
        answers = [t.clone() for t in flatten(run_model(*run_inputs))]
    is_new = tuple(int(n) for n in torch.__version__.split(".")[:2]) >= (2, 0)
    model, inputs, named = copies(model, inputs, "meta" if is_new or build.__name__.startswith("recurrences") else "cpu")

    def run():
        with OnDevice("meta") if inputs[0].is_meta else contextlib.nullcontext():
            return flatten(model(*inputs))
    return aten_graph.record(run, named), tensors, answers


def differs(name, answer, got):
    if not answer.dtype.is_floating_point:
        return None if torch.equal(answer, got) else f"{name}: {int((answer != got).sum())} integers differ"
    worst = ((answer.double() - got.double()).abs() / (answer.double().abs() + answer.double().abs().max() * 0.1 + 1e-6)).max()
    limit = 1e-4 if answer.dtype == torch.float32 else 1e-2
    return None if worst <= limit else f"{name}: {float(worst):.3g} off"


def moved(t):
    """The tensor at an address that is a multiple of its element's size and of nothing more."""
    return torch.empty(t.numel() + 1, dtype=t.dtype)[1:].view(t.shape).copy_(t)


def write_task(folder, name, dims, observed, outs, texts):
    """A task that the seeds belong to; its reference is none."""
    names = {"float32": "f32", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "bool": "u8"}
    task = folder / name
    (task / "seeds").mkdir(parents=True)
    lines = ["version: 1", f"name: {name}", "summary: a test", f"dims: [{', '.join(dims)}]", "tensors:"]

    def put(tensor, role, shown):
        shape = [shape_fit.fit(extents, dims, names=True) for extents in zip(*(t.shape for t in shown))]
        dtype = names[str(shown[0].dtype).replace("torch.", "")]
        init = ", init: {constant: 1}" if role == "in" else ""
        lines.append(f"  - {{name: {tensor}, dtype: {dtype}, shape: [{', '.join(json.dumps(s) for s in shape)}], role: {role}{init}}}")
    for tensor in observed[0][1]:
        put(tensor, "in", [o[1][tensor] for o in observed])
    for position, out in enumerate(outs):
        put(out, "out", [o[2][position] for o in observed])
    lines += ["reference: {file: reference.c, units: 1}", "work: {flops: 1}", "tolerance: {rtol: 1.0e-4, atol: 1.0e-4}", "variants:"]
    for variant, kind in enumerate(("bench", "check")):
        lines.append(f"  {kind}: {{{', '.join(f'{key}: {values[variant]}' for key, values in dims.items())}}}")
    (task / "task.yaml").write_text("\n".join(lines) + "\n")
    (task / "reference.c").write_text("void reference(const struct atoll_reference_args *a, long unit) {}\n")
    for number, (language, text) in enumerate(texts):
        (task / "seeds" / f"s{number}.{'cu' if language == 'cuda' else 'c'}").write_text(text)
    return str(task)


def check_candidates(tasks, count):
    """Plans hold, rules are kept; NVRTC compiles some of each kind."""
    some = [t for t in tasks if os.path.basename(t) in ("convolutions", "convolutions_1d", "long_reductions", "scans", "activations", "recurrences")]
    rest = [t for t in tasks if t not in some]
    done = subprocess.run([f"{sys.argv[1]}/tests/bin/seed_check", *rest, "--compile", *some], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=dict(os.environ, ATOLL_COMPILE_CUDA=f"{sys.argv[1]}/atoll-compile-cuda"), text=True)
    print(done.stdout, end="")
    assert done.returncode == 0 and f"{count} seeds checked" in done.stdout


def check_seeds():
    cases, tasks = [], []
    for name, (dims, build) in operators.CASES.items():
        if only and name not in only:
            continue
        observed = [observe(build, dims, v) for v in range(2)]
        graphs = [o[0] for o in observed]
        places = {key: (tensor_name(key), 0) for key in graphs[0]["inputs"]}
        outs = [f"out{i}" for i in range(len(graphs[0]["outputs"]))]
        for language, least in (("cuda", 32), ("c", 32), ("cuda", 2)):
            seed_tile.LEAST = least  # products of large factors are shared by blocks
            text, reason = seed.seed_text(graphs, places, outs, dims, 0, language)
            assert text, f"{name}: {reason}"
            assert text == seed.seed_text(graphs, places, outs, dims, 0, language)[0], f"{name}: not the same text twice"
            assert not (free := free_names(text, dims)), f"{name}: a dim or a tensor could be called {free} as well"
            if least == 32 or "TILE" in text:
                cases.append((name, language, text, dims, observed, outs))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in dict.fromkeys(c[0] for c in cases):
            texts = [c for c in cases if c[0] == name]
            tasks.append(write_task(pathlib.Path(folder), *[texts[0][i] for i in (0, 3, 4, 5)], [c[1:3] for c in texts]))
        check_candidates(tasks, len(cases))
        forms = [(case, host_seed.PARAMS) for case in cases]
        forms += [(case, host_seed.others(case[2])) for case in cases if case[1] == "cuda" and host_seed.others(case[2])]
        seeds = host_seed.compile_all([(case[1], case[2], params) for case, params in forms], folder)
        for ((name, language, text, dims, observed, outs), params), compiled in zip(forms, seeds):
            for variant, (_, tensors, answers) in enumerate(observed):
                got = {out: torch.full_like(a, 77, memory_format=torch.contiguous_format) for out, a in zip(outs, answers)}
                if params is host_seed.OTHERS and variant:  # no pointer is that of a vector
                    tensors, got = ({key: moved(t) for key, t in each.items()} for each in (tensors, got))
                compiled.run({key: values[variant] for key, values in dims.items()}, dict(tensors, **got))
                form = "the other forms, " if params is host_seed.OTHERS else ""
                failed += [f"{name} ({language}, {form}variant {variant}) {wrong}" for wrong in
                           (differs(out, answer, got[out]) for out, answer in zip(outs, answers)) if wrong]
    assert not failed, "\n".join(failed)
    print(f"{len(cases)} seeds right, {len(forms) - len(cases)} of them in their other forms, too, torch {torch.__version__}")


def check_refusals():
    """What has no seed says which operator it wants."""
    def refused(function, *inputs):
        graph = aten_graph.record(lambda: function(*inputs), [(f"x{i}", t) for i, t in enumerate(inputs)])
        text, reason = seed.seed_text([graph], {f"x{i}": (f"x{i}", 0) for i in range(len(inputs))}, ["y"], {"n": [4]}, 0)
        assert text is None
        return reason
    x = torch.rand(4, 4)
    assert refused(torch.linalg.svdvals, x).startswith("aten."), refused(torch.linalg.svdvals, x)
    assert "bernoulli" in refused(lambda t: torch.nn.functional.dropout(t, 0.5), x)

    held = torch.rand(9, 9)
    for kept in (lambda t: held.add(1).copy_(t), lambda t: held[0].copy_(t[0]), lambda t: held.copy_(held * 2)):
        try:
            refused(kept, torch.rand(9, 9))
        except aten_graph.Unsupported as why:
            assert "neither input, parameter nor buffer" in str(why), why
        else:
            raise AssertionError("what is read before it is written whole has a seed")

    def many(t):
        for _ in range(80):
            t = torch.softmax(t @ t, dim=1)
        return t
    assert "launches, 64 are allowed" in refused(many, x)
    for function, words in ((lambda t: t * t.sum().item(), "a number taken out of a tensor"),
                            (lambda t: t * y, "neither input, parameter nor buffer"),
                            (lambda t: "text", "an output that is no tensor but str")):
        y = torch.rand(9, 4, 4)
        try:
            aten_graph.record(lambda: function(x), [("x0", x)])
            raise SystemExit(f"no refusal: {words}")
        except aten_graph.Unsupported as refusal:
            assert words in str(refusal), refusal

    def under_a_view(t):
        t = t * 2
        row = t[0]
        t.add_(1)
        return row
    try:
        aten_graph.record(lambda: under_a_view(x), [("x0", x)])
        raise SystemExit("no refusal of a view")
    except aten_graph.Unsupported as refusal:
        assert "changed in place" in str(refusal)


RECURRENT = """import torch
STEPS, LAYERS = 5, 2
class Model(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer = getattr(torch.nn, kind)(7, 11, LAYERS, batch_first=True, bidirectional=True)
    def forward(self, x):
        return self.layer(x)
def get_inputs():
    return [torch.rand(3, STEPS, 7)]
def get_init_inputs():
    return ["%s"]
"""


def check_looks():
    """A look at a recurrence takes one operator however many steps it has, and tells what it takes unrolled."""
    for kind in ("LSTM", "GRU", "RNN"):
        looked = survey(RECURRENT % kind, "Model", {})
        unrolled = Meter()
        with torch.no_grad(), unrolled:
            answers = [t for part in looked.target(*looked.given) for t in (part if isinstance(part, tuple) else [part])]
        assert [(t.shape, t.dtype) for t in looked.outputs] == [(t.shape, t.dtype) for t in answers], kind
        assert work_of(looked) == sum(math.prod(factors) for factors in unrolled.products) > 0, kind
        names = survey(RECURRENT % kind, "Model", {"STEPS": 400, "LAYERS": 3}).meter.names
        assert len(names) < 5 and len(unrolled.names) > 50, (len(names), len(unrolled.names))


def check_silent():
    """What changes no result is no tensor of the task: taken for zeros."""
    x, p = torch.rand(4, 4), torch.rand(4)
    graph = aten_graph.record(lambda: x * 2 + p, [("x", x), ("p", p)])
    text, reason = seed.seed_text([graph], {"x": ("x", 0), "p": None}, ["y"], {"n": [4]}, 0)
    assert text and '"args": ["x", "y"]' in text, (text, reason)
    assert seed.seed_text([graph], {"x": ("x", 0)}, ["y"], {"n": [4]}, 0)[0] is None


def check_fit():
    """Expressions hold at every variant; short ones come first."""
    dims = {"n": [16, 3, 5], "c": [64, 8, 12], "h": [128, 11, 9], "k": [3, 3, 3]}
    columns = {name: values for name, values in dims.items()}
    for values, text in (([16, 3, 5], "n"), ([3, 3, 3], "3"), ([128, 16, 24], "2 * c"), ([126, 9, 7], "h - 2"),
                         ([1024, 24, 60], "n * c"), ([64, 5, 4], "h / 2"), ([63, 5, 4], "(h - 1) / 2"),
                         ([192, 19, 21], None), ([5, 999, 4], None), ([16 * 64 * 126, 3 * 8 * 9, 5 * 12 * 7], None)):
        found = shape_fit.fit(values, dims)
        got = [host_seed.evaluate(found, {name: column[i] for name, column in columns.items()}) for i in range(3)]
        assert got == values, (values, found, got)
        assert text is None or found == text, (found, text)
    assert shape_fit.fit([3, 3, 3], dims, names=True) == "k"
    assert shape_fit.fit([1, 2], {"n": [4, 4]}) is None
    assert shape_fit.fit([7], {"n": [4]}) == "7"
    check_windows()


def check_windows():
    """Strided windows of every divisor, shift and offset that is tried are found, and what is found holds; no others are."""
    limit, of = shape_fit.NUMBER_LIMIT, (129, 31, 224)

    def is_window(values):
        return any(all((o + shift) // divisor + offset == v for o, v in zip(of, values)) for divisor in range(2, limit + 1)
                   for shift in range(-min(of), limit + 1) for offset in (-1, 0, 1))

    for divisor in (2, 3, 31, limit, limit + 1):
        for shift in (-limit, -1, 5, limit):
            for offset in (-1, 1, 2):
                values = tuple((o + shift) // divisor + offset for o in of)
                found = shape_fit._floored(values, of, ("n", shape_fit.ATOM))
                assert bool(found) == is_window(values), (values, found)
                assert not found or tuple(host_seed.evaluate(found[0], {"n": o}) for o in of) == values, (values, found)


def check_long_sums():
    """Sums of 32768 positive terms in f32 stay exact, by one thread, by a block, by tiles, and over the taps of a convolution, in all forms."""
    def about(*shape):
        """Values so near to each other that the rounding errors of their sums do not cancel out."""
        return torch.rand(*shape) * 1e-4 + 0.84

    torch.manual_seed(0)
    depth = 32768
    rows, weights, bias = about(3, depth), about(5, depth), torch.rand(5)
    ways = [("thread", 1e-6, 0, 32, torch.nn.functional.linear, rows, weights, bias),
            ("block", 1e-6, 65536, 32, torch.nn.functional.linear, rows, weights, bias),
            ("tiles", 5e-6, 65536, 2, torch.nn.functional.linear, rows, weights, bias),
            ("channels", 1e-6, 0, 32, torch.nn.functional.conv1d, about(1, depth // 8, 9), about(2, depth // 8, 8)),
            ("taps", 1e-6, 0, 32, torch.nn.functional.conv1d, about(1, 64, 514), about(2, 64, 512))]
    seeds = []
    for _, _, seed.BLOCK_RESULTS, seed_tile.LEAST, function, *inputs in ways:
        seeds.append(("cuda", seed_of(function, *inputs)))
    others = [("cuda", text, host_seed.others(text) or host_seed.PARAMS) for _, text in seeds]
    assert all(seed[2] is host_seed.OTHERS for seed in others)
    with tempfile.TemporaryDirectory() as folder:
        for (way, limit, _, _, function, *inputs), compiled in zip(ways + ways, host_seed.compile_all(seeds + others, folder)):
            answer = function(*[t.double() for t in inputs])
            y = torch.zeros(answer.shape)
            compiled.run({"n": 4}, dict({f"x{i}": t for i, t in enumerate(inputs)}, y=y))
            error = float(((y.double() - answer) / answer).abs().max())
            assert error < limit, f"a long sum by {way} is {error:.3g} off"


def free_names(text, dims):
    """Names that a text defines within its kernels and that are not kept from dims and tensors."""
    kernels = text[re.search("^(extern \"C\" __global__ )?void\\s", text, re.M).start():]  # behind them nothing is defined
    found = re.findall(r"^ +(?:[\w()]+ )*(?:int|float|double|long long|unsigned|bool|long) (\w+)(?= = (?!given_)|;|\[)", kernels, re.M)
    return {name for name in found if name.rstrip("_") not in dims and name not in seed_kernel.RESERVED and not seed_kernel.LOCAL.fullmatch(name)}


def check_branches():
    """A product that several operations on the way read is shared by blocks as well."""
    x, w = torch.rand(40, 50), torch.rand(60, 50)

    def f(x, w):
        y = torch.nn.functional.linear(x, w)
        return torch.sigmoid(y) * 2 + y
    graph = aten_graph.record(lambda: [f(x, w)], [("x", x), ("w", w)])
    text, reason = seed.seed_text([graph], {"x": ("x", 0), "w": ("w", 0)}, ["y"], {"n": [4]}, 0)
    assert text and "TILE" in text, (reason, text)


def check_narrow():
    """Places are of 32 bits where all of a kernel's are far below what these hold, and none of its values is an integer."""
    def is_narrow(rows, columns, dtype=torch.float32):
        x = torch.empty(rows, columns, device="meta", dtype=dtype)
        graph = aten_graph.record(lambda: [x.t() + x.t()[:1]], [("x", x)])
        return "const int last" in seed.seed_text([graph], {"x": ("x", 0)}, ["y"], {"n": [rows], "m": [columns]}, 0)[0]
    assert is_narrow(1 << 15, 1 << 15) and not is_narrow(1 << 15, (1 << 15) + 1) and not is_narrow(5, 7, torch.int32)
    x, w = torch.empty(1 << 15, 1 << 16, device="meta"), torch.empty(1 << 8, 1 << 16, device="meta")
    text = seed_of(torch.nn.functional.linear, x, w)
    assert "x0[(long long)row * 65536 + term]" in text and "const int row" in text, text  # 2^31 places, and fewer rows and terms


def check_divisions():
    """What a thread divides of its own index stands before its loops."""
    text = seed_of(lambda x: torch.nn.functional.avg_pool1d(x, 8, 1, 4), torch.empty(3, 5, 70, device="meta"))
    assert "i / 71" in text and text.index("i / 71") < text.index("for ("), text
    text = seed_of(torch.nn.functional.conv2d, torch.empty(8, 40, 20, 20, device="meta"), torch.empty(33, 40, 3, 3, device="meta"))
    staged = text[text.index("#if STAGED"):text.index("#else")]
    assert re.search("from_column [/%]", staged) and not re.search("from_column [/%]", staged[staged.index("for ("):]), text


def seed_of(function, *inputs):
    graph = aten_graph.record(lambda: [function(*inputs)], [(f"x{i}", t) for i, t in enumerate(inputs)])
    text, reason = seed.seed_text([graph], {f"x{i}": (f"x{i}", 0) for i in range(len(inputs))}, ["y"], {"n": [4]}, 0)
    assert text, reason
    return text


seed_rows.LEAST = 2
check_long_sums()
check_narrow()
check_divisions()
seed.BLOCK_RESULTS, seed_tile.LEAST = 65536, 32
check_branches()
# So that a few thousand elements are shared by blocks, and short sums are cut, and split.
seed.PARTS, seed.PARTS_LOOPS, seed_kernel.PIECE, seed.LONG_LOOPS, seed.SPLIT_VALUES = 4, 512, 8, 3, [1, 2]
seed_tile.LEAST_SIDE = seed_tile.LEAST_DEPTH = 2
check_fit()
check_refusals()
check_looks()
check_silent()
check_seeds()
