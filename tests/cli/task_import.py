#!/usr/bin/env python3
"""`atoll task import`: modules of every form become tasks that load and pass the battery; what cannot says why; killed, it goes on.
Two are looked at side by side, and nothing of what comes out shows it.
ATOLL_TEST_TORCH names a Python with torch."""
import json
import os
import pathlib
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import types

build, source = sys.argv[1], pathlib.Path(sys.argv[2])
fixtures = source / "tests" / "fixtures" / "torch"
python = os.environ.get("ATOLL_TEST_TORCH", "/usr/bin/python3")
environment = dict(os.environ, ATOLL_PYTHON=python)
# Nobody looks at the problem: its text is what would come of it.  A start of torch is most of what a look costs.
unseen = dict(environment, ATOLL_TORCH_SCRIPT=str(fixtures / "peer.py"))
bad = []


def check(condition, message):
    if not condition:
        bad.append(message)


def atoll(*arguments, status=0, env=environment):
    done = subprocess.run([f"{build}/atoll", *map(str, arguments)], capture_output=True, text=True, env=env)
    check(done.returncode == status, f"atoll {' '.join(map(str, arguments))}: {done.returncode}, not {status}: {done.stdout[-800:]} {done.stderr}")
    return done


def rows_of(done):
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {r["problem"]: r for r in rows if "problem" in r}, next((r["counts"] for r in rows if "counts" in r), {})


def refusals(scratch):
    """No torch is needed to say what is wrong with a command line."""
    cases = [(["task", "import", "kernelbranch", fixtures, "-o", scratch / "s"], "no format 'kernelbranch'; known: kernelbench"),
             (["task", "import", "kernelbench", scratch / "nothing", "-o", scratch / "s"], "is not there; name the checkout"),
             (["task", "import", "kernelbench", fixtures / "robust", "-o", scratch / "s"], "holds no problem of the format kernelbench"),
             (["task", "import", "kernelbench", fixtures / "problems"], "-o my-suite"),
             (["task", "import", "kernelbench", fixtures / "problems", "--level", "1,x", "-o", scratch / "s"], "levels are 1 to 9"),
             (["task", "import", "kernelbench", fixtures / "problems", "-o", scratch / "s", "--jobs", "3", "--memory", "900T"],
              "give a lower --jobs"),
             (["task", "import", "kernelbench", fixtures / "problems", "--list", "kernelfoundri", "-o", scratch / "s"],
              "no list 'kernelfoundri'; did you mean 'kernelfoundry'?"),
             (["task", "import", "kernelbench", fixtures / "problems", "--list", "no", "-o", scratch / "s"],
              "known: metr, robust-kbench, robust-tasks, kernelfoundry"),
             (["task", "import", "kernelbench", fixtures / "problems", "--list", "metr", "-o", scratch / "s"],
              "no problem of kernelbench there is in the list"),
             (["task", "import", "t4", fixtures, "-o", scratch / "s"], "neither the kernel nor what it computes")]
    for arguments, said in cases:
        done = subprocess.run([f"{build}/atoll", *map(str, arguments)], capture_output=True, text=True, env=environment)
        check(done.returncode not in (0, -11, -6) and said in done.stderr, f"{arguments}: {done.returncode} {done.stderr!r}")
    done = subprocess.run([f"{build}/atoll", "task", "import", "kernelbench", str(fixtures / "problems"), "-o", str(scratch / "s")],
                          capture_output=True, text=True, env=dict(environment, ATOLL_PYTHON="none"))
    check(done.returncode == 5 or "needs a Python with torch" in done.stderr, f"without torch: {done.stderr!r}")
    check(not (scratch / "s").exists(), "a refused import made its suite")


def lists(scratch):
    """What a list takes of a checkout, by level and number, or by name."""
    fails = json.dumps({"refused": "ValueError: never", "kind": "problem", "cause": "raises", "trace": "", "reached": []})
    for level, numbers in ((1, (8, 20, 101)), (2, (2, 9)), (3, (3, 50)), (4, (1,))):
        (scratch / "kb" / f"level{level}").mkdir(parents=True)
        for number in numbers:
            (scratch / "kb" / f"level{level}" / f"{number}_of.py").write_text(fails)
    for name in ("mine", "mnist_linear"):
        for task in ("forward", "backward"):
            folder = scratch / "rk" / "tasks" / name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"func_{task}.py").write_text(fails)
            (folder / f"config_{task}.json").write_text("{}")
    expected = {"metr": ("kernelbench", "kb", ["level1/20", "level1/101", "level2/2", "level3/50"]),
                "robust-kbench": ("kernelbench", "kb", ["level1/8", "level1/20"]),
                "kernelfoundry": ("kernelbench", "kb", ["level1/20"]),
                "robust-tasks": ("robust-kbench", "rk", ["mnist_linear_backward", "mnist_linear_forward"])}
    for name, (form, where, wanted) in expected.items():
        rows, counts = rows_of(atoll("task", "import", form, scratch / where, "--list", name, "-o", scratch / f"of-{name}", "--json", "--jobs", "2",
                                  status=1, env=unseen))
        check([r.removesuffix("_of") for r in rows] == wanted, f"--list {name}: {list(rows)}")
        check(counts["reasons"] == {"failed: it raises an error": len(wanted)},
              f"--list {name}: {counts}")


def fallout(scratch):
    """What falls out is counted by its reason, and a task without a seed says why it has none."""
    suite = scratch / "fallout"
    rows, counts = rows_of(atoll("task", "import", "kernelbench", fixtures / "fallout", "-o", suite, "--json", "--jobs", "1"))
    expected = {"1_axis": ("degenerate", "axis"), "2_impact": ("degenerate", "impact"), "3_data": ("unsupported", "data-dependent"),
                "4_many": ("unsupported", "tensors"), "5_complex": ("unsupported", "dtype"), "6_unseeded": ("imported", ""),
                "7_order": ("imported", ""), "8_two": ("imported", ""), "9_rounding": ("degenerate", "range")}
    got = {name: (row["status"], row["cause"]) for name, row in rows.items()}
    check(got == expected, f"causes: {got}")
    check(counts["reasons"] == {"degenerate: the output is the same along an axis": 1,
                                "degenerate: the output does not depend on an input": 1,
                                "degenerate: constant output: one number passes": 1,
                                "unsupported: shapes or control flow depend on data": 1, "unsupported: too many tensors": 1,
                                "unsupported: a type that no task has": 1}, f"{counts}")
    check(counts["no_seeds"] == {"aten.sort.default": 1} and (counts["seeded"], counts["expressible"]) == (5, 6), f"{counts}")
    off = "PyTorch's own answer in the task's types is off by "
    told = [name for name, row in rows.items() if any(note.startswith(off) for note in row.get("notes", []))]
    check(told == ["9_rounding"], f"off by rounding: {told}")
    said = atoll("task", "import", "kernelbench", fixtures / "fallout", "-o", suite).stdout
    for line in ("    1 unsupported: too many tensors: 4_many", "    1 without a seed, because of aten.sort.default: 6_unseeded"):
        check(line in said, f"no '{line}' in\n{said}")
    check('unseeded: "aten.sort.default"' in (suite / "p006_unseeded" / "task.yaml").read_text(), "the task does not say why it has no seed")
    check('work: {"flops": "unknown"}' in (suite / "p006_unseeded" / "task.yaml").read_text(), "operations that were not counted are told")
    # What is no test needs no PyTorch to be told; what the battery says of it stands in check_all().
    done = subprocess.run([f"{build}/atoll", "task", "check", suite / "p006_unseeded", "--json", "--python", "none"], capture_output=True, text=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    check({"task": "p006_unseeded", "test": "seeds", "passed": True, "detail": "none: aten.sort.default"} in rows, f"{rows[:3]} {done.stderr}")


def hostile(scratch):
    """One Python imports torch and forks the rest: none of them reaches it, or finds what another one left."""
    done = atoll("task", "import", "kernelbench", fixtures / "hostile", "-o", scratch / "hostile", "--json", "--jobs", "1", status=1)
    rows, _ = rows_of(done)
    expected = {"1_reaches": "reached: nothing", "2_ends": "ended by itself (exit status 3); it said: going",
                "3_changes": "OSError: [Errno 9]", "4_good": "", "5_replaces": "problem.py: the module replaces torch.relu"}
    check(list(rows) == list(expected), f"{list(rows)}")
    for name, reason in expected.items():
        check(reason in rows[name]["reason"] and (rows[name]["status"] == "imported") == (not reason), f"{name}: {rows[name]}")
    check("imported anew" not in done.stderr, done.stderr)


BESIDE_TORCH = """
import sys, types
package = types.ModuleType("atoll")
package.__path__ = [sys.argv[1]]
sys.modules["atoll"] = package
import torch
from atoll import admission, problem
from atoll.tolerance import Spread, relative_error
"""
COMPARISONS = """
torch.manual_seed(1)
right = torch.randn(7, 11, dtype=torch.float64)
right[6, 3] = float("inf")
same, off, late, nan = (right.clone() for _ in range(4))
off[0, 0] += 1e-3 * abs(off[0, 0])
late[6, 10] += 0.5
nan[3, 3] = float("nan")
tolerance = admission.Tolerance(1e-2, 1e-3, 1e-5)
finite = right.nan_to_num(0, 0, 0)
for piece in (3, 1 << 17):
    admission.PIECE = piece
    print([(tolerance.passes(a.nan_to_num(0, 0, 0), finite), tolerance.is_same(a, right), "%.9g" % relative_error(a, right, 0.5))
           for a in (same, off, late, nan, right.float())],
          tolerance.passes(torch.tensor(1.0), torch.ones(5) + 1e-6), tolerance.passes(torch.tensor(1.0), finite),
          "%.9g" % admission.root_mean_square(right, True), admission.root_mean_square(right), admission.is_finite(right),
          admission.is_finite(finite), [admission.small(finite * scale, axis) for scale in (1, 1e-3) for axis in (0, 1)],
          [bool((torch.std(finite * scale, dim=axis) < 0.01).all()) for scale in (1, 1e-3) for axis in (0, 1)])
"""


SHORT_AND_LONG = """
short, long = torch.full((8,), 1e-3, dtype=torch.float64), torch.linspace(0, 1, 9, dtype=torch.float64)
spread = Spread()
spread.add([short], [short])
eager = long + 2e-5 * (long == 0)
spread.add([long], [eager])
bounds = spread.bounds(["f32"], "f64", torch.device("cpu"))
print([admission.Tolerance(bounds["rtol"], bounds["atol"], bounds["norm"]).is_same(long + k * (eager - long), long) for k in (1, 3.99, 6)])
"""


def long_sums(said, errors):
    """Where outputs of one shape are small and those of another are not, eager passes at both."""
    check(said.strip() == "[True, True, False]", f"{said}\n{errors}")


def comparisons(said, errors):
    """By pieces the same comes out as of the whole, wherever what differs lies."""
    lines = said.splitlines()
    check(len(lines) == 2 and lines[0] == lines[1], f"{said}\n{errors}")
    wanted = ("[(True, True, '0'), (False, True, '0.000", "(False, False, 'nan')", "True False", "inf False True",
              "[False, False, True, True] [False, False, True, True]")
    for part in wanted:
        check(part in said, f"no {part} in {said}\n{errors}")


LOADED = """
SOURCE = '''
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.given, self.own = (torch.nn.Parameter(torch.full((3,), v)) for v in (5.0, 0.1))
        self.tied = self.given
        self.register_buffer("table", torch.tensor([1.0, 2.0, 3.0]))

    def to(self, *arguments, **how):
        self.came = [self.given.dtype, self.own.dtype, self.table.dtype]
        return super().to(*arguments, **how)

    def forward(self, x):
        return x * self.given + self.own + self.tied * self.table
'''
tensors = [{"name": "x", "dtype": "f32", "role": "in", "shape": [3]},
           {"name": "w", "dtype": "f32", "role": "constant", "shape": [3], "parameter": "given"},
           {"name": "y", "dtype": "f32", "role": "out", "shape": [3]}]
packed = dict(tensors[1], parameter=None, segments=[{"parameter": "given", "offset": 0, "count": 3}])
for constant in (tensors[1], packed):
    for dtype in (torch.float64, None):
        loaded = problem.load(torch, {"tensors": [tensors[0], constant, tensors[2]], "dims": {}, "reference": {
            "source": SOURCE, "file": "problem.py", "form": "module", "entry": "Model"}}, torch.device("cpu"), dtype)
        x, w = (torch.tensor(v, dtype=dtype or torch.float32) for v in ([1.0, 1.0, 2.0], [7.0, 8.0, 9.0]))
        print(loaded.target.came, loaded.call({"x": x, "w": w})[0].tolist())
"""


def loaded(said, errors):
    """What the task's constants replace is not converted: it has the answer's type before the rest has.  What they do not stays."""
    lines, own = said.splitlines(), float(struct.unpack("f", struct.pack("f", 0.1))[0])
    wide, narrow = ([[f"torch.float{bits}", "torch.float32", "torch.float32"] for bits in (64, 32)])
    check(len(lines) == 4, f"{said}\n{errors}")
    for line, came in zip(lines, (wide, narrow) * 2):
        names, values = line.split("] ")
        check(names[1:].split(", ") == came, f"{line}: not {came}")
        check(all(abs(a - b) < (1e-15 if came == wide else 1e-5) * b
                  for a, b in zip(json.loads(values), (14 + own, 24 + own, 45 + own))), f"{line}: other values")


def beside_torch():
    """What stands beside torch, looked at by one Python: to import it takes longer than all of it."""
    between = "between two of them"
    text = BESIDE_TORCH + f"print({between!r})\n".join([COMPARISONS, SHORT_AND_LONG, LOADED])
    done = subprocess.run([python, "-c", text, str(source / "mpi-eval" / "torch" / "python")], capture_output=True, text=True)
    said = done.stdout.split(between + "\n")
    for look, words in zip((comparisons, long_sums, loaded), said + [""] * 3):
        look(words, done.stderr)


def turns():
    """Of a GPU, without one: one process at a time; the next when the holder ended; without the lock after a wait."""
    names = {}
    exec((source / "mpi-eval" / "torch" / "python" / "turns.py").read_text(), names)
    names["WAIT_S"] = 0.02
    freed = []
    torch = types.SimpleNamespace(cuda=types.SimpleNamespace(empty_cache=lambda: freed.append(1)))
    lock, (ends, begins) = os.memfd_create("turns"), os.pipe()
    child = os.fork()
    if child == 0:
        with names["Turns"](lock, torch):
            os.write(begins, b"x")
            signal.pause()
    os.read(ends, 1)
    waited = names["Turns"](lock, torch)
    with waited:
        check(waited.fd == -1, "two are on the GPU at a time")
    check(not freed, "who did not have the lock gave it back")
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    after = names["Turns"](lock, torch)
    for _ in range(2):
        with after:
            check(after.fd == lock, "the lock did not end with its process")
    check(len(freed) == 2, "memory is not given back with the lock")
    other = os.fork()  # a lock is a process's: only another one can tell that it is free
    if other == 0:
        next_one = names["Turns"](lock, torch)
        os._exit(0 if next_one._take() else 1)
    check(os.waitpid(other, 0)[1] == 0, "the lock is kept between turns")
    for fd in (lock, ends, begins):
        os.close(fd)


def forms():
    """What stands beside a text and is made otherwise than its benchmark's is told by its file; nothing is guessed."""
    package = types.ModuleType("atoll")
    package.__path__ = [str(source / "mpi-eval" / "torch" / "python")]
    sys.modules["atoll"], sys.dont_write_bytecode = package, True
    from atoll import problem_form, refusal
    text = "class Model:\n    def __init__(self):\n        pass\n\n\ndef get_inputs(n):\n    return []\n"
    spec = {"inputs": {"X": {"shape": ["N"], "dtype": "float32"}}, "ci": [{"params": ["X"], "dims": {"N": "8"}}]}
    whole = {"reference": "def run(x):\n    return x\n", "axes": {"n": {"type": "var"}}, "inputs": {"x": {"shape": ["n"], "dtype": "float32"}}}
    work = [{"axes": {"n": 4}}]

    def changed(one, key, value):
        return dict(one, **{key: value})

    other = {"X": {"shape": ["N"], "dtype": "quaternion"}}
    program = {"X": {"shape": ["__import__('os').getpid()"]}}
    cases = [("robust-kbench", {"config": [1]}, "problem", "config.x: not as robust-kbench has it (AttributeError: 'list'"),
             ("robust-kbench", {"config": {"multi_input_configs": 5}}, "problem", "config.x: not as robust-kbench has it (TypeError: 'int'"),
             ("ai-bench", {"spec": ["a"]}, "problem", "spec.x: not as ai-bench has it"),
             ("ai-bench", {"spec": changed(spec, "ci", [{"dims": {"N": "many"}}])}, "problem", "spec.x: not as ai-bench has it (ValueError"),
             ("ai-bench", {"spec": changed(spec, "inputs", other)}, "unsupported", "an input is of quaternion, which no task has"),
             ("ai-bench", {"spec": changed(spec, "inputs", program)}, "problem", "a shape holds \"(__import__('os').getpid(), )\""),
             ("sol-execbench", {"definition": [1], "workload": work}, "problem", "definition.x: there is no \"reference\""),
             ("sol-execbench", {"definition": changed(whole, "axes", [1]), "workload": work}, "problem",
              "definition.x and workload.x: not as sol-execbench has it"),
             ("sol-execbench", {"definition": changed(whole, "reference", "def go(x):\n    return x\n"), "workload": work}, "problem",
              "definition.x: its reference has no function run()"),
             ("sol-execbench", {"definition": changed(whole, "reference", "x = 1\ndef run(:\n"), "workload": work}, SyntaxError, "problem.py:2"),
             ("sol-execbench", {"definition": whole, "workload": []}, "problem", "workload.x names no workload"),
             ("sol-execbench", {"definition": whole, "workload": [5]}, "problem", "definition.x and workload.x: not as sol-execbench has it")]
    for form, files, kind, said in cases:
        files = {label: "\n".join(map(json.dumps, value)) if label == "workload" else json.dumps(value) for label, value in files.items()}
        request = {"format": form, "title": "t", "files": dict(files, source=text), "names": {label: label + ".x" for label in files}}
        try:
            got, told = "a task", problem_form.request_of(request)
        except refusal.Refusal as error:
            got, told = error.kind, error.text
        except SyntaxError as error:
            got, told = SyntaxError, f"{error.filename}:{error.lineno}"
        check(got == kind and str(told).startswith(said), f"{form} {files}: {got}, {told}")


def here(folder):
    """Processes that work in a folder."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            found += [process.name] if os.readlink(process / "cwd").startswith(str(folder)) else []
        except OSError:
            pass
    return found


def killed(suite):
    """Ends it after its first task; nothing half written is left for the next one to trip over, and what was done is known.  Nothing
    that it started goes on."""
    scratch = suite.parent / "killed"
    scratch.mkdir()
    child = subprocess.Popen([f"{build}/atoll", "task", "import", "kernelbench", str(fixtures / "problems"), "-o", str(suite), "--json",
                              "--memory", "1500M", "--jobs", "2"], stdout=subprocess.PIPE, text=True, env=dict(environment, TMPDIR=str(scratch)),
                             start_new_session=True)
    first = json.loads(child.stdout.readline())
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    check(first["problem"] == "1_good" and first["status"] == "imported", f"first: {first}")
    end = time.monotonic() + 60
    while here(scratch) and time.monotonic() < end:
        time.sleep(0.05)
    check(not here(scratch), f"left by a kill: {here(scratch)}")
    done = {e["task"] for e in json.loads((suite / "import.json").read_text())["problems"].values() if e["status"] == "imported"}
    there = {p.name for p in suite.glob("[!.]*/")}
    check("p001_good" in done and done <= there and len(there) <= 3, f"after a kill: {done} {sorted(suite.iterdir())}")


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def alone(scratch, suite):
    """One after the other the same comes out; and what is degenerate is imported where all is asked for."""
    (scratch / "names").write_text("3_single  # by its name\np004_constant\np009_function\n")
    rows, _ = rows_of(atoll("task", "import", "kernelbench", fixtures / "problems", "-o", scratch / "alone", "--json", "--memory", "1500M",
                            "--jobs", "1", "--names", scratch / "names", "--all"))
    check(list(rows) == ["3_single", "4_constant", "9_function"], f"{list(rows)}")
    constant = rows.pop("4_constant")
    check(constant["status"] == "imported" and (scratch / "alone" / "p004_constant" / "task.yaml").exists(), f"--all: {constant}")
    one, two = (json.loads((s / "import.json").read_text())["problems"] for s in (scratch / "alone", suite))
    for name, row in rows.items():
        check(one[name] == two[name], f"{name}: {one[name]} and side by side {two[name]}")
        check(files_of(scratch / "alone" / row["task"]) == files_of(suite / row["task"]), f"{name}: other files side by side")


def modules(scratch):
    suite = scratch / "mine"
    killed(suite)
    (suite / ".import-p002_packed" / "seeds").mkdir(parents=True, exist_ok=True)
    (suite / ".import-p002_packed" / "task.yaml").write_text("half")
    before = (suite / "p001_good" / "task.yaml").stat().st_mtime_ns
    rows, counts = rows_of(atoll("task", "import", "kernelbench", fixtures / "problems", "-o", suite, "--json", "--memory", "1500M", "--jobs", "2",
                                 status=1))
    check((suite / "p001_good" / "task.yaml").stat().st_mtime_ns == before, "what was there was written again")
    check(not list(suite.glob(".import-*")), "what a kill left is still there")
    expected = {"1_good": ("imported", ""), "2_packed": ("imported", ""), "3_single": ("imported", ""),
                "4_constant": ("degenerate", "one number passes for all of it"),
                "5_raises": ("failed", "problem.py:6: ValueError: this module never works"),
                "6_network": ("failed", "problem.py:6: "), "7_memory": ("failed", "memory"),
                "8_random": ("unsupported", "draws random numbers when it is called"), "9_function": ("imported", "")}
    check(list(rows) == list(expected), f"lines are not in the list's order: {list(rows)}")
    recorded = list(json.loads((suite / "import.json").read_text())["problems"])
    check(recorded == list(expected), f"import.json is not in the list's order: {recorded}")
    for name, (status, reason) in expected.items():
        row = rows.get(name, {})
        check(row.get("status") == status and reason in row.get("reason", ""), f"{name}: {row.get('status')}: {row.get('reason')}")
    check((counts.get("problems"), counts.get("imported"), counts.get("degenerate"), counts.get("failed")) == (9, 4, 1, 3), f"{counts}")

    check(rows["1_good"]["seeded"], f"no seed of a module that makes tensors when it is called: {rows['1_good'].get('no_seed')}")
    good = (suite / "p001_good" / "task.yaml").read_text()
    for part in ('dims: ["batch", "shape_0", "width"]', '"init": {"uniform": {"low": -1.0, "high": 1.0}}', '"dtype": "u8"',
                 '"parameter": "gain"', '{"normal": {"mean": 0.0, "std": 0.5}}', 'bench: {"batch": 64, "shape_0": 48, "width": 32}',
                 '"entry": "AtollEntry"', "A linear map, masked and scaled."):
        check(part in good, f"p001_good: no {part} in\n{good}")
    check("norm.bias" in good and "linear.bias" in good, f"a weight is missing:\n{good}")
    check("More than one paragraph" not in good.split("dims")[0], "the summary is its first paragraph")
    packed = (suite / "p002_packed" / "task.yaml").read_text()
    check('"segments"' in packed and "packed-weights" in packed and "eval-mode" in packed, f"p002_packed:\n{packed}")
    check("self.eval()" in (suite / "p002_packed" / "problem.py").read_text(), "dropout stays random")
    check("single-shape" in (suite / "p003_single" / "task.yaml").read_text(), "one shape is not told")

    function = (suite / "p009_function" / "task.yaml").read_text()
    check('"form": "function"' in function and '"entry": "forward"' in function and "Sums of scaled rows." in function, function)
    alone(scratch, suite)

    done = atoll("task", "import", "robust-kbench", fixtures / "robust", "-o", suite, status=73)
    check("is of an import of kernelbench" in done.stderr, done.stderr)


def terminal(scratch):
    """Somebody reads along: what is looked at, then what came of it in one line of the terminal, and all of it in the record."""
    suite, problem = scratch / "watched", scratch / "8_random.py"
    problem.write_text(json.dumps({"refused": "it draws random numbers when it is called: two calls with the same inputs differ",
                                   "kind": "unsupported", "cause": "random", "trace": "", "reached": ["read"]}))
    master, slave = pty.openpty()
    done = subprocess.run([f"{build}/atoll", "task", "import", "kernelbench", str(problem), "-o", str(suite)],
                          stdout=slave, stderr=subprocess.PIPE, text=True, env=dict(unseen, TERM="xterm"))
    text = ""
    while select.select([master], [], [], 1)[0]:  # one read gets what the line discipline has handed over so far
        text += os.read(master, 1 << 16).decode()
    os.close(slave)
    os.close(master)
    reason = json.loads((suite / "import.json").read_text())["problems"]["8_random"]["reason"]
    lines = text.replace("\033[K", "").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    lines = [line for line in lines if line]
    line = f"unsupported 8_random: {reason}"
    check(lines[:2] == ["0 of 1, looking at 8_random", line[:76] + "..." if len(line) > 79 else line], f"{done.returncode} {done.stderr} {lines}")
    check(len(line) > 79 and max(map(len, lines[:2])) <= 80, f"{max(map(len, lines))} columns: {lines}")


def again(scratch):
    """What is no task of the host's is looked at once more where there is a GPU, and then it is known."""
    suite, problem = scratch / "again", scratch / "half.py"
    problem.write_text(json.dumps({"refused": "not implemented for 'Half'", "kind": "unsupported", "cause": "dtype", "trace": "", "reached": []}))
    known = []
    for gpu in ([], [], ["--gpu", "0"], ["--gpu", "0"], []):
        rows, _ = rows_of(atoll("task", "import", "kernelbench", problem, "-o", suite, "--json", *gpu, env=unseen))
        known.append(rows["half"]["seconds"] < 0)
    check(known == [False, True, False, True, True], f"known before: {known}")


def others(scratch):
    rows, _ = rows_of(atoll("task", "import", "robust-kbench", fixtures / "robust", "-o", scratch / "robust", "--json", "--jobs", "1"))
    check([r["status"] for r in rows.values()] == ["imported"] * 2, f"{rows}")
    backward = (scratch / "robust" / "scaled_backward" / "task.yaml").read_text()
    for part in ('"backward": true', '"of": "0"', '"of": "x"', '"batch_size": 50', '"features": 36'):
        check(part in backward, f"backward: no {part} in\n{backward}")
    for name in "scaled_forward", "scaled_backward":  # the other configurations: small ones are checked, large ones are timed
        told = (scratch / "robust" / name / "task.yaml").read_text()
        for part in ('check.3: {"features": 36, "batch_size": 7}', 'bench.2: {"features": 9000, "batch_size": 50}',
                     'check.4: {"features": 9000, "batch_size": 7}', "several-shapes"):
            check(part in told, f"{name}: no {part} in\n{told}")
    check("unused" not in backward, "a parameter without gradient is a tensor")
    rows, _ = rows_of(atoll("task", "import", "flashinfer", fixtures / "definition", "-o", scratch / "defined", "--json", "--jobs", "1"))
    check({n: (r["status"], r["task"]) for n, r in rows.items()} == {"other/row_scale": ("imported", "row_scale"),
                                                                      "row_scale": ("imported", "row_scale_2")}, f"{rows}")
    made = (scratch / "defined" / "row_scale" / "task.yaml").read_text()  # its inputs come from a function of its own
    for part in ('"init": {"normal": {"mean": 0.0, "std": 0.288', '"init": {"integer": {"low": 0, "high": "rows"}}', "check.3: {\"rows\": 90"):
        check(part in made, f"inputs of its own: no {part} in\n{made}")
    defined = (scratch / "defined" / "row_scale_2" / "task.yaml").read_text()
    check('"dtype": "bf16"' in defined and 'bench: {"rows": 6000, "columns": 48}' in defined, defined)
    check('check.3: {"rows": 3, "columns": 48}' in defined and 'check.4: {"rows": 90, "columns": 48}' in defined, defined)
    rows, _ = rows_of(atoll("task", "import", "ai-bench", fixtures / "ai-bench", "-o", scratch / "ai", "--json", "--jobs", "1"))
    check(rows.get("level1/7_shift", {}).get("status") == "imported", f"{rows}")
    shift = (scratch / "ai" / "l1_007_shift" / "task.yaml").read_text()
    for part in ('"dtype": "f32"', 'bench: {"BATCH": 96, "WIDTH": 128, "SHIFT_SHAPE_1": 128}',
                 'bench.2: {"BATCH": 2048, "WIDTH": 160, "SHIFT_SHAPE_1": 160}', 'check.3: {"BATCH": 5, "WIDTH": 12, "SHIFT_SHAPE_1": 12}'):
        check(part in shift, f"ai-bench: no {part} in\n{shift}")
    check("64" not in shift.split("variants:")[1], f"another type's shape is a variant:\n{shift}")
    check("4096" not in shift, f"a list of another length is a size:\n{shift}")


def check_all(scratch):
    """The battery of what was imported: all at once, for each check starts torch."""
    mine = ["p001_good", "p002_packed", "p009_function"]
    text = atoll("task", "check", *[scratch / "mine" / name for name in mine], scratch / "fallout" / "p006_unseeded",
                 scratch / "alone" / "p004_constant", scratch / "robust" / "scaled_backward", scratch / "defined", scratch / "ai", status=1).stdout
    told, name = {}, ""
    for line in text.splitlines():
        name = name if line.startswith("  ") else line.split(":")[0]
        told.setdefault(name, []).append(line)
    expected = mine + ["p006_unseeded", "p004_constant", "scaled_backward", "row_scale", "row_scale_2", "l1_007_shift"]
    check(list(told)[:-1] == expected, f"{list(told)}")
    for name in expected:
        rows = [line for line in told.get(name, []) if line.startswith("  FAIL ")]
        check(bool(rows) == (name == "p004_constant"), f"{name}: {rows}")
    unseeded, constant = ("\n".join(told.get(name, [])) for name in ("p006_unseeded", "p004_constant"))
    for line in "  floor: of memory alone", "  seeds: none: aten.sort.default":
        check(line in unseeded, unseeded)
    for test in ("y differs along axis 0", "spread of y", "reacts to x"):
        check(f"FAIL {test}" in constant, f"a constant passes '{test}':\n{constant}")


with tempfile.TemporaryDirectory(prefix="atoll-import-") as folder:
    refusals(pathlib.Path(folder))
    turns()
    forms()
    if subprocess.run([python, "-c", "import importlib.util as u, sys; sys.exit(not u.find_spec('torch'))"]).returncode != 0:
        print(f"skipped: {python} has no torch")
        sys.exit(1 if bad else 77)
    lists(pathlib.Path(folder))
    fallout(pathlib.Path(folder))
    hostile(pathlib.Path(folder))
    beside_torch()
    modules(pathlib.Path(folder))
    terminal(pathlib.Path(folder))
    again(pathlib.Path(folder))
    others(pathlib.Path(folder))
    check_all(pathlib.Path(folder))
if bad:
    sys.exit("\n".join(bad))
