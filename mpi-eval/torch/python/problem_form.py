"""The public forms of problems, as what inspect_problem reads: a text with get_inputs(), an entry, and top-level constants
that dims can replace.

kernelbench: class Model, get_inputs(), get_init_inputs(); without a Model, a function forward(). robust-kbench: the same with
arguments, whose values stand in a configuration of JSON; backward ones are gradients of the forward. ai-bench: a
specification of shapes for a module of KernelBench. definition: FlashInfer-Bench and SOL-ExecBench, a function run() with
axes and workloads."""
import ast
import json
import re

from atoll.problem import reason
from atoll.problem_text import bound
from atoll.refusal import Refusal

NAME = "problem.py"  # of the text, in messages
SHAPES = 8  # of a benchmark beside the one that is measured first
ADDED = "\n\n# Added by `atoll task import`: %s.\n"


def request_of(request):
    try:
        return FORMS[request["format"]](request)
    except (Refusal, SyntaxError):
        raise
    except Exception as error:  # a file beside the text that is JSON, but made otherwise
        files = " and ".join(file_of(request, label) for label in request["files"] if label != "source")
        raise Refusal("problem", "%s: not as %s has it (%s)" % (files or NAME, request["format"], reason(error)))


def file_of(request, label):
    """The file's name, as its author knows it."""
    return request.get("names", {}).get(label, label)


def document(request, label):
    try:
        return json.loads(request["files"][label])
    except ValueError as error:
        raise Refusal("problem", "%s: no JSON that can be read: %s" % (file_of(request, label), error))


def kernelbench(request):
    source = request["files"]["source"]
    tree = ast.parse(source, NAME)
    is_function = "Model" not in top_names(tree) and accepted(tree, "forward") is not None
    return {"source": source, "entry": "forward" if is_function else "Model", "form": "function" if is_function else "module",
            "title": request["title"], "level": request.get("level", 0)}


def literal(value):
    if not isinstance(value, (int, float, str, bool, list, type(None))):
        raise Refusal("unsupported", "a configuration holds %r" % (value,))
    return repr(value)


def accepted(tree, name, owner=None):
    """Names of the arguments of a top-level function or of a class's __init__; None: it is not there."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == owner:
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name == name:
                    return [a.arg for a in inner.args.args][1:]
            return []
        if owner is None and isinstance(node, ast.FunctionDef) and node.name == name:
            return [a.arg for a in node.args.args]
    return None


def robust(request):
    """The first of the configurations, as the benchmark measures; its values become top-level constants."""
    source, config = request["files"]["source"], document(request, "config")
    tree = ast.parse(source, NAME)
    shared = (config.get("single_shared_configs") or [{}])[0]
    given = {"inputs": dict(shared, **(config.get("single_input_configs") or [{}])[0]),
             "init": dict(shared, **(config.get("single_init_configs") or [{}])[0])}
    wanted = {"inputs": accepted(tree, "get_inputs"), "init": accepted(tree, "__init__", "Model")}
    if wanted["inputs"] is None or wanted["init"] is None:
        raise Refusal("problem", "problem.py: there is no get_inputs() or no Model at its top level")
    names = top_names(tree)
    lines, constants, calls, places = [ADDED % "the configuration that is measured"], {}, {}, {}
    for place in ("inputs", "init"):
        arguments = []
        for key, value in given[place].items():
            if key not in wanted[place]:
                continue
            name = key if key not in names else "of_" + key
            if constants.setdefault(name, value) != value:
                name = "%s_%s" % (place, key)
                constants[name] = value
            places.setdefault(key, []).append(name)
            arguments.append("%s=%s" % (key, name))
        calls[place] = ", ".join(arguments)
    defaults = defaults_of(tree, wanted["inputs"])
    for key, value in defaults.items():  # what the configuration leaves open
        if key not in given["inputs"] and isinstance(value, int) and key not in names and key not in constants:
            constants[key] = value
            calls["inputs"] += ("%s%s=%s" % (", " if calls["inputs"] else "", key, key))
    lines += ["%s = %s\n" % (name, literal(value)) for name, value in constants.items()]
    lines += ["_inputs_of = get_inputs\n\n\ndef get_inputs():\n    return _inputs_of(%s)\n" % calls["inputs"],
              "\n\nclass AtollModel(Model):\n    def __init__(self):\n        super().__init__(%s)\n" % calls["init"],
              "\n\ndef get_init_inputs():\n    return []\n"]
    return {"source": source.rstrip("\n") + "".join(lines), "entry": "AtollModel", "form": "module",
            "title": request["title"], "level": request.get("level", 0), "backward": request.get("backward", False),
            "shapes": robust_shapes(config, places, constants)}


def robust_shapes(config, places, constants):
    """The other configurations that differ from the first in sizes alone, as values of its constants."""
    found = []
    for of_input in config.get("multi_input_configs") or [{}]:
        for of_init in config.get("multi_init_configs") or [{}]:
            for shared in config.get("multi_shared_configs") or [{}]:
                values = {name: value for part in (shared, of_init, of_input) for key, value in part.items()
                          for name in places.get(key, [])}
                found.append(sizes_beside(values, constants))
    return distinct(found)


def sizes_beside(values, constants):
    """{constant: size} of what differs from the constants; {}: nothing, or more than sizes."""
    other = {name: value for name, value in values.items() if constants.get(name) != value}
    are_sizes = all(type(value) is int and value > 0 and type(constants.get(name)) is int for name, value in other.items())
    return other if are_sizes else {}


def distinct(shapes):
    """Largest first, as a benchmark's small ones are seen in the check variants anyway."""
    kept = []
    for shape in shapes:
        if shape and shape not in kept:
            kept.append(shape)
    return kept[:SHAPES]


def top_names(tree):
    """Names that the top level of a text binds."""
    found = {name for statement in tree.body for name in bound(statement)} | {n.name for n in tree.body if hasattr(n, "name")}
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(a.asname or a.name).split(".")[0] for a in node.names}
    return found


def defaults_of(tree, names):
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == "get_inputs":
            values = node.args.defaults
            found = {}
            for argument, value in zip(node.args.args[len(node.args.args) - len(values):], values):
                if isinstance(value, ast.Constant):
                    found[argument.arg] = value.value
            return found
    return {}


DTYPES = {"float64": "float64", "float32": "float32", "float16": "float16", "bfloat16": "bfloat16", "int64": "int64",
          "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "bool",
          "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}


def definition(request):
    """A function run() of a definition.json; each var axis becomes a constant, its value that of the largest workload of
    random inputs."""
    d = document(request, "definition")
    for key in ("reference", "axes", "inputs"):
        if key not in d:
            raise Refusal("problem", "%s: there is no \"%s\"" % (file_of(request, "definition"), key))
    tree = ast.parse(d["reference"], NAME)
    if "run" not in top_names(tree):
        raise Refusal("problem", "%s: its reference has no function run()" % file_of(request, "definition"))
    maker = d.get("custom_inputs_entrypoint")
    everything = workloads_of(request)
    workloads = [w for w in everything if usable(w, maker)]
    if not everything:
        raise Refusal("problem", "%s names no workload" % file_of(request, "workload"))
    if not workloads:
        raise Refusal("unsupported", "no workload has random inputs alone: the others are files", cause="inputs")
    axes = {n: a.get("value") for n, a in d["axes"].items()}
    variable = [n for n, a in d["axes"].items() if a.get("type") == "var"]

    def size(workload):
        total = 1
        for axis in variable:
            total *= int(workload.get("axes", {}).get(axis, 1))
        return total

    chosen = max(workloads, key=size)
    for axis in variable:
        axes[axis] = chosen.get("axes", {}).get(axis)
    for axis, a in d["axes"].items():
        if axes[axis] is None and a.get("expression") is None:
            raise Refusal("problem", "definition.json: axis \"%s\" has no value" % axis)
    lines = [ADDED % "axes and inputs of definition.json", "import torch as _torch\n"]
    taken = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - set(axes)
    for axis, value in axes.items():
        lines.append("%s = %s\n" % (axis, int(value) if value is not None else "int(%s)" % d["axes"][axis]["expression"]))
        if axis in taken:
            raise Refusal("unsupported", "axis \"%s\" is a name of its program as well" % axis)
    made, calls, scalars, is_given = [], [], {}, False
    for name, spec in d["inputs"].items():
        how = (chosen.get("inputs") or {}).get(name, {"type": "random"})
        if how.get("type") == "scalar":
            scalars[name] = how.get("value")
        elif spec.get("shape") is None:
            scalars[name] = how.get("value", 1)
        elif how.get("type") == "custom":
            is_given = True
            made.append("given[%r]" % name)
        else:
            made.append(random_input(spec))
    names = list(d["inputs"])
    for name in names:
        calls.append(literal(scalars[name]) if name in scalars else name)
    lines.append("\n\ndef get_inputs():\n")
    if is_given:
        known = ["%r: %s" % (axis, axis) for axis in axes] + ["%r: %s" % (name, literal(value)) for name, value in scalars.items()]
        lines.append("    given = %s({%s}, _torch.empty(0).device)\n" % (identifier(maker), ", ".join(known)))
    lines.append("    return [%s]\n" % ", ".join(made))
    tensors = [n for n in names if n not in scalars]
    lines.append("\n\nclass AtollModel(_torch.nn.Module):\n    def forward(self, %s):\n        return run(%s)\n"
                 % (", ".join(tensors), ", ".join(calls)))
    return {"source": d["reference"].rstrip("\n") + "".join(lines), "entry": "AtollModel", "form": "module",
            "title": request["title"], "level": 0, "summary": d.get("description") or "",
            "shapes": distinct([sizes_beside(sizes_of(w, variable), axes) for w in workloads if scalars_of(w) == scalars_of(chosen)])}


def sizes_of(workload, variable):
    return {axis: workload.get("axes", {}).get(axis) for axis in variable}


def scalars_of(workload):
    return {n: i.get("value") for n, i in (workload.get("inputs") or {}).items() if i.get("type") == "scalar"}


def shape_text(extents):
    shape = "(%s)" % "".join("%s, " % extent for extent in extents)
    if not re.fullmatch(r"[\w\s()+*/,-]*", shape):
        raise Refusal("problem", "a shape holds %r" % shape[:80])
    return shape


def random_input(spec):
    dtype = DTYPES.get(spec.get("dtype"))
    if dtype is None:
        raise Refusal("unsupported", "an input is of %s, which no task has" % spec.get("dtype"), cause="dtype")
    shape = shape_text(spec["shape"])
    if dtype.startswith(("int", "uint")):
        raise Refusal("unsupported", "an input is of %s, and nothing says of what range" % dtype, cause="inputs")
    if dtype == "bool":
        return "_torch.randint(0, 2, %s).bool()" % shape
    return "_torch.randn(%s).to(_torch.%s)" % (shape, dtype)


def workloads_of(request):
    found = []
    for line in request["files"].get("workload", "").splitlines():
        if line.strip():
            try:
                one = json.loads(line)
            except ValueError as error:
                raise Refusal("problem", "workload.jsonl: a line is no JSON: %s" % error)
            found.append(one.get("workload", one))
    return found


def usable(workload, maker):
    """maker: a function of the definition's that makes inputs; None."""
    kinds = ("random", "scalar", "custom") if maker else ("random", "scalar")
    return all(i.get("type") in kinds for i in (workload.get("inputs") or {}).values())


def identifier(name):
    if not isinstance(name, str) or not name.isidentifier():
        raise Refusal("problem", "definition.json: %r is no function's name" % (name,))
    return name


def ai_bench(request):
    """Shapes, dtypes and arguments of a specification for a module of KernelBench."""
    source, spec = request["files"]["source"], document(request, "spec")
    inputs, bench = spec.get("inputs") or {}, None
    sections = [spec[section] for section in ("bench-gpu", "bench-xpu", "bench-cpu", "ci") if spec.get(section)]
    if sections:
        bench = sections[0][0]
    if bench is None:
        raise Refusal("problem", "the specification has no variant")
    tree = ast.parse(source, NAME)
    names = top_names(tree)
    dims = bench.get("dims") or {}
    rename = {k: k if k not in names else "of_" + k for k in dims}
    lines = [ADDED % "shapes of the specification"] + [dim_text(rename[k], v) for k, v in dims.items()]
    made, dtype = [], "float32"
    for name in bench.get("params") or list(inputs):
        one = inputs.get(name)
        if one is None:
            raise Refusal("problem", "the specification has no input \"%s\"" % name)
        shape = shape_text(rename.get(str(e), str(e)) for e in one["shape"])
        named = str(bench.get("dtype", one.get("dtype", "float32")))
        dtype = DTYPES.get(named)
        if dtype is None:
            raise Refusal("unsupported", "an input is of %s, which no task has" % named, cause="dtype")
        made.append("torch.randn(%s).to(torch.%s)" % (shape, dtype) if dtype.startswith(("float", "bfloat"))
                    else "torch.randint(0, 2, %s).to(torch.%s)" % (shape, dtype))
    lines.append("\n\ndef get_inputs():\n    return [%s]\n" % ", ".join(made))
    given = []
    for one in spec.get("inits") or []:
        value = one.get("dim") if isinstance(one, dict) else one
        given.append(rename.get(str(value), str(value)))
    if spec.get("inits"):
        lines.append("\n\ndef get_init_inputs():\n    return [%s]\n" % ", ".join(given))
    lines.append("\n\nclass AtollModel(Model):\n    def __init__(self, *arguments):\n        super().__init__(*arguments)\n"
                 "        self.to(torch.%s)\n" % (dtype if dtype.startswith(("float", "bfloat")) else "float32"))
    constants = dim_values(dims, rename)
    others = [one for section in sections for one in section if same_but_sizes(one, bench)]
    shapes = [sizes_beside(dim_values(one.get("dims") or {}, rename), constants) for one in others]
    return {"source": source.rstrip("\n") + "".join(lines), "entry": "AtollModel", "form": "module", "title": request["title"],
            "level": request.get("level", 0), "shapes": distinct(shapes)}


def same_but_sizes(one, other):
    return all(one.get(key, other.get(key)) == other.get(key) for key in ("params", "dtype"))


def dim_text(name, value):
    """A dim's constant; of a list each element has its own."""
    if not isinstance(value, list):
        return "%s = %r\n" % (name, number_of(value))
    names = ["%s_%d" % (name, index) for index in range(len(value))]
    return "".join(map(dim_text, names, value)) + "%s = [%s]\n" % (name, ", ".join(names))


def dim_values(dims, rename):
    """{constant: its value}; how long a list is, is no size, and so a text."""
    values = {}
    for name, value in dims.items():
        if name in rename and isinstance(value, list):
            values[rename[name]] = "%d elements" % len(value)
            values.update({"%s_%d" % (rename[name], index): number_of(one) for index, one in enumerate(value)})
        elif name in rename:
            values[rename[name]] = number_of(value)
    return values


def number_of(text):
    try:
        return int(text)
    except ValueError:
        return float(text)


FORMS = {"kernelbench": kernelbench, "robust-kbench": robust, "ai-bench": ai_bench, "sol-execbench": definition,
         "flashinfer": definition}
