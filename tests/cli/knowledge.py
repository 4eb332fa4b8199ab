#!/usr/bin/env python3
"""`atoll knowledge`: broken folders get the message that says what is wrong, each in its place; what comes with Atoll is right, with
every compiler of this machine.

    knowledge.py BUILD --broken      folders that are wrong, list, search, show
    knowledge.py BUILD --installed   what comes with Atoll; 77 when a compiler is missing
"""
import atexit
import json
import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile

PATIENCE_S = 1500  # a guard against what hangs: a minute of processor time on a busy machine

build, what = sys.argv[1:3]
root = pathlib.Path(tempfile.mkdtemp(prefix="atoll-knowledge-"))
atexit.register(shutil.rmtree, root, ignore_errors=True)
os.environ.pop("ATOLL_SITE", None)
scratch = os.environ["ATOLL_SCRATCH"] = tempfile.mkdtemp(prefix="atoll-knowledge-")  # what compilers said is kept there
atexit.register(shutil.rmtree, scratch, ignore_errors=True)


def check(condition, message):
    if not condition:
        sys.exit(message)


def run(words, status):
    result = subprocess.run([f"{build}/atoll", "knowledge", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE_S)
    check(result.returncode == status, f"atoll knowledge {' '.join(map(str, words))}: status {result.returncode}\n{result.stdout[-3000:]}\n{result.stderr}")
    return result


def atoll(*words, status=0):
    result = run(words, status)
    return result.stdout + result.stderr


def findings(*words, status=0):
    return [json.loads(line) for line in run(("check", "--json", *words), status).stdout.splitlines()]


def triton_python():
    named = os.environ.get("ATOLL_TRITON_PYTHON") or os.path.expanduser("~/.cache/atoll/triton-3.6.0/bin/python3")
    return named if os.access(named, os.X_OK) else "none"


def installed():
    # Other choices of kernels are for whoever changes one: each was compiled when it was measured.
    rows = findings("--python", triton_python(), "--choices", "0")
    kinds = {e["id"]: e["kind"] for e in json.loads(atoll("list", "--json"))}
    check(len(kinds) >= 80, f"{len(kinds)} entries come with Atoll; at least 80 are promised")
    check({"constraint", "pattern", "example", "hardware"} <= set(kinds.values()), set(kinds.values()))
    print(f"{len(kinds)} entries, {len(rows)} findings, {sum(r['result'] == 'note' for r in rows)} notes")
    missing = {(r["what"].split(", ")[-1], r["text"]) for r in rows if r["result"] == "skipped"}
    for who, why in sorted(missing):
        print(f"skipped: {who}: {why}")
    return 77 if missing else 0


def every_category_has_a_family():
    """Or hints and entries for its kind of work find no such task: those of our suites, and those that an import can say."""
    source = pathlib.Path(__file__).parents[2]
    rows = re.findall(r"categories: \[([^]]*)\]", (source / "knowledge/index.yaml").read_text())
    known = {word for row in rows for word in row.split(", ")}
    ours = {found.group(1) for task in source.glob("suites/*/*/task.yaml") if (found := re.search(r"^category: (\S+)", task.read_text(), re.M))}
    imported = runpy.run_path(str(source / "mpi-eval/torch/python/problem_category.py"))
    said = {family for family, _ in imported["FAMILIES"]} | {imported["category_of"](names, 3) for names in (
        ["relu"] * 61, ["convolution"] * 61, ["_softmax", "bmm"] * 31)} | {imported["category_of"](["relu"], 1)}
    check(said - ours == {"network", "pool", "rnn", "transformer"}, f"an import calls what our suites have otherwise: {said - ours}")
    check(len(ours) > 10 and len(said) > 10 and ours | said <= known, f"categories without a family: {sorted((ours | said) - known)}")


def every_stage_has_a_pattern():
    """What a stage's analyser, refiner and extractor are told of their own: of the languages that most campaigns write."""
    stages = set(re.findall(r'= "([a-z]+)"', re.search(r"stage_names\[.*?};", (pathlib.Path(__file__).parents[2] / "core/issue.c").read_text(), re.S).group(0)))
    check(len(stages) == 9, f"stages: {stages}")
    for language in ("c", "cuda"):
        told = {e["stage"] for e in json.loads(atoll("list", "--json", "--kind", "pattern", "--language", language))}
        check(told == stages, f"no pattern in {language} of the stages {sorted(stages - told)}")


INDEX = """version: 1
devices:
  - {name: cpu, vendor: x86, what: a processor, compile: {c: -march=x86-64-v3}}
  - {name: hopper, vendor: nvidia, what: a GPU, compile: {cuda: sm_90a, triton: sm_90a}}
  - {name: xe, vendor: intel, what: another GPU, compile: {opencl: --target=spir64-unknown-unknown}}
  - {name: arm-sve, vendor: arm, what: another processor, compile: {c: --target=aarch64-linux-gnu -march=armv8.2-a+sve -ffreestanding}}
families:
  - {name: gemm, categories: [matmul]}
  - {name: transpose, categories: [data-movement]}
"""
GOOD = "void f(long b, long e, float *y)\n{\n    for (long u = b; u < e; u++)\n        y[u] = 1;\n}\n"
TWO = GOOD.replace("1", "2")
BAD = "void f(long b, long e, float *y)\n{\n    y[b] = unheard;\n}\n"
WRITABLE = "static int count;\nint f(long b, long e, float *y)\n{\n    return count++;\n}\n"
PLAN = '/* atoll-plan {"version": 1, "launch": [{"function": "f", "units": "N", "args": ["%s"]}]} */\n' + GOOD
# With one of its values of W alone it does not compile.
PARAMS = (PLAN % "y").replace('"launch"', '"params": {"W": [1, 2, 3], "V": [4, 8]}, "launch"') + "#if W == 3\nint w = unheard;\n#endif\n"
SVE = "#include <arm_sve.h>\nfloat f(float *y)\n{\n    return svaddv_f32(svptrue_b32(), svld1_f32(svptrue_b32(), y));\n}\n"
DEVICE = 'extern "C" __global__ void f(float *y)\n{\n    y[0] = %s;\n}\n'
TRITON = """# atoll-plan {"version": 1, "launch": [{"kernel": "f", "grid": ["1"], "args": ["y"]}]}
import triton
import triton.language as tl


@triton.jit
def f(y):
    tl.store(y, %s)
"""
OPENCL = "__kernel void f(__global float *y)\n{\n    y[0] = %s;\n}\n"

# id, keys, wrong, right, fails, message of the entry; what is said of a part (None: it is fine).
CONSTRAINTS = [
    ("fine", {}, BAD, GOOD, "compile", "'unheard' undeclared", {"wrong, cc": None, "right, cc": None, "right, clang": None}),
    ("accepted", {}, GOOD, TWO, "compile", "expected", {"wrong, cc": "it must fail (compile: expected), and is accepted"}),
    ("otherwise", {}, BAD, GOOD, "compile", "expected ';'", {"wrong, cc": "and fails otherwise (compile)"}),
    ("right", {}, BAD, BAD.replace("heard", "seen"), "compile", "undeclared", {"wrong, cc": None, "right, cc": "it must compile, and does not (compile)"}),
    ("rules", {}, "#include <stdio.h>\n" + GOOD, GOOD, "rules", "rule include", {"wrong, cc": None}),
    ("not-rules", {}, BAD, GOOD, "rules", "undeclared", {"wrong, cc": "and fails otherwise (compile)"}),
    ("object", {}, WRITABLE, GOOD, "rules", "mutable global", {"wrong, cc": None}),
    ("result", {}, BAD, GOOD, "result", "wrong", {"wrong, cc": "it must compile, and does not"}),
    ("plan", {}, PLAN % "nobody", PLAN % "y", "plan", "unknown name 'nobody'", {"wrong, cc": None, "right, cc": None}),
    ("not-plan", {}, PLAN % "y", PLAN % "x", "plan", "unknown name", {"wrong, cc": "and is accepted"}),
    ("nowhere", {"devices": "[hopper]"}, BAD, GOOD, "compile", "undeclared", {"wrong": "index.yaml does not say how its language is compiled"}),
    ("which", {"language": '"*"'}, BAD, GOOD, "compile", "undeclared", {"wrong": "code is in one language; name it first"}),
    ("arm", {"devices": "arm-sve"}, SVE.replace("svptrue_b32()", "svptrue()"), SVE, "compile", "svptrue",
     {"right, clang for another processor": None, "wrong, clang for another processor": None}),
    ("cl", {"language": "opencl", "devices": "xe"}, OPENCL % "unheard", OPENCL % "1", "compile", "undeclared identifier 'unheard'",
     {"right, clang for OpenCL": None, "wrong, clang for OpenCL": None}),
    ("gpu", {"language": "cuda", "devices": "hopper"}, DEVICE % "1", DEVICE % "unheard", "compile", "undefined",
     {"wrong, NVRTC sm_90a": "and is accepted", "right, NVRTC sm_90a": 'identifier "unheard" is undefined'}),
    ("python", {"language": "triton", "devices": "hopper"}, TRITON % "unheard", TRITON % "1.0", "compile", "unheard is not defined",
     {"wrong, Triton sm_90a": None, "right, Triton sm_90a": None}),
    ("python-plan", {"language": "triton", "devices": "hopper"}, "x = 1\n", TRITON % "1.0", "compile", "x", {"wrong, Triton sm_90a": "and fails otherwise (plan)"}),
]


def block(key, text, indent="    "):
    return f"{indent}{key}: |\n" + "".join(f"{indent}  {line}\n" if line else "\n" for line in text.splitlines())


def constraint(name, keys, wrong, right, fails, message):
    message = message.replace("'", "''")
    keys = {"severity": "warning", "language": "c", "devices": "cpu", "what": "a rule", "source": "us"} | keys
    return (f"  - id: t-{name}\n" + "".join(f"    {k}: {v}\n" for k, v in keys.items()) + block("wrong", wrong) + block("right", right)
            + f"    fails: {fails}\n    message: '{message}'\n")


def write(name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def of(rows, name, part):
    return [r for r in rows if r["id"] == name and r["what"] == part]


def expect(rows, name, part, text):
    found = of(rows, name, part)
    check(found, f"nothing is said of {part} of {name}: {[r['what'] for r in rows if r['id'] == name]}")
    for r in found:
        if r["result"] == "skipped":
            print(f"skipped: {part}: {r['text']}")
        elif text is None:
            check(r["result"] == "ok", f"{name} {part}: {r}")
        else:
            check(r["result"] == "failed" and text in r["text"], f"{name} {part}: {r} instead of '{text}'")


def broken():
    every_category_has_a_family()
    every_stage_has_a_pattern()
    write("index.yaml", INDEX)
    write("constraints/all.yaml", "version: 1\nconstraints:\n" + "".join(constraint(*row[:6]) for row in CONSTRAINTS))
    write("patterns/all.yaml", "version: 1\npatterns:\n"
          + "".join(f"  - id: t-pattern-{i}\n    stage: memory\n    language: c\n    devices: cpu\n    what: a step\n" + block("before", before) + block("after", after)
                    + f"    why: so\n    expected: [1, 2]\n    applies: always\n    source: us\n    task: {task}\n"
                    for i, (before, after, task) in enumerate([(BAD, GOOD, "starter/transpose"), (GOOD, TWO, "suites/nowhere")])))
    write("examples/cpu/t/kernel.c", PARAMS)
    write("examples/cpu/t/example.yaml", "version: 1\nid: t-example\nwhat: a kernel\nlanguage: c\nfamily: gemm\ntask: starter/transpose\nkernel: kernel.c\n"
          "measured:\n  - {dims: {M: 1, Q: 2}, choice: {BM: 2}, device: a, time_us: 1, rival: b, rival_us: 1, date: 2026-11-23}\nlearn: it\nsource: us\n")
    write("hints.yaml", "version: 1\nhints:\n  - {name: a, trigger: drams, advice: b}\n")
    rows = findings("--alone", root, "--python", triton_python(), status=1)
    for row in CONSTRAINTS:
        for part, text in row[6].items():
            expect(rows, f"t-{row[0]}", part, text)
    expect(rows, "t-pattern-0", "before, cc", "it must compile, and does not")
    expect(rows, "t-pattern-0", "after, cc", None)
    expect(rows, "t-pattern-1", "task", "its task 'suites/nowhere' cannot be read")
    expect(rows, "t-example", "family", "its task 'starter/transpose' is of none of its families")
    measured = " ".join(r["text"] for r in of(rows, "t-example", "measured"))
    check("M=1 Q=2 does not give each dim of task 'starter/transpose' a value" in measured, measured)
    check("BM=2 names a param that the kernel has not" in measured, measured)
    expect(rows, "t-example", "kernel, cc", None)
    chosen = {r["what"]: r for r in rows if r["id"] == "t-example" and r["what"].startswith("kernel W=")}
    values = {word for what in chosen for word in what[len("kernel "):-len(", cc")].split()}
    check(values == {"W=2", "W=3", "V=4", "V=8"} and len(chosen) == 2, chosen)  # W=1 V=4 is the first
    check(all(r["result"] == ("failed" if "W=3" in what else "ok") for what, r in chosen.items()) and "unheard" in str(chosen), chosen)
    few = findings("--alone", root, "--python", "none", "--only", "t-example", "--choices", "0", status=1)
    check(not any(r["what"].startswith("kernel W=") for r in few), "--choices 0 compiles the first choice alone")
    # Neither verdicts nor cubins of other checks are used or kept.
    os.environ["ATOLL_SCRATCH"] = empty = os.path.join(scratch, "empty")
    os.mkdir(empty)
    findings("--alone", root, "--python", "none", "--only", "t-gpu", "--no-cache", status=1)
    os.environ["ATOLL_SCRATCH"] = scratch
    check(not os.listdir(empty), f"--no-cache leaves {os.listdir(empty)}")
    check(any("hints.yaml:3: " in r["text"] and r["result"] == "failed" for r in rows), "nothing is said of the hint's trigger")
    place = of(rows, "t-otherwise", "wrong, cc")[0]["place"]
    line = (root / "constraints/all.yaml").read_text().splitlines().index("  - id: t-otherwise") + 1
    check(place == f"constraints/all.yaml:{line}", place)
    # Again: what compilers said is kept, and says the same.
    check(findings("--alone", root, "--python", triton_python(), status=1) == rows, "another answer from what is kept")
    write("hints.yaml", "version: 1\nhints:\n  - {name: a, trigger: dram, category: matmul matmull, advice: b}\n")
    rows = findings("--alone", root, "--no-compile", status=1)
    check(any("hint 'a' is for category 'matmull', which no family of index.yaml has" in r["text"] for r in rows), "a hint's category")
    text = (pathlib.Path(__file__).parents[2] / "knowledge/prompts/c.md").read_text()
    write("bare/prompts/c.md", text.replace("<!-- region pitfalls -->", "<!-- region pitfall -->"))
    rows = findings(root / "bare", "--no-compile", status=1)
    check(any("prompts/c.md: " in r["text"] and "without its regions it does not evolve" in r["text"] for r in rows), "a text without a region")
    some = findings("--alone", root, "--only", "rules", "--no-compile")
    check([r["id"] for r in some] == ["t-rules", "t-not-rules"], some)
    check("--alone goes with folders" in atoll("check", "--alone", status=2), "alone without folders")
    # Looking things up, with a folder laid over what is installed.
    write("more/constraints/more.yaml", "version: 1\nconstraints:\n" + constraint("quagga", {"what": "a striped rule"}, BAD, GOOD, "compile", "undeclared"))
    more = ["--knowledge", root / "more"]
    check("t-quagga" in atoll("search", "striped", "quagga", *more, "-n", "1"), "search")
    check(json.loads(atoll("search", "striped", "--json", *more))[0]["score"] > 0, "search --json")
    check("nothing is about these words" in atoll("search", "zyzzyva"), "search for what is not there")
    check("fails      by its compile: undeclared" in atoll("show", "t-quagga", *more), "show")
    check(json.loads(atoll("show", "t-quagga", "--json", *more))["wrong"] == BAD, "show --json")
    check("did you mean 't-quagga'?" in atoll("show", "t-quaga", *more, status=66), "show of what is not there")
    listed = atoll("list", "--kind", "constraint", "--language", "c", "--device", "cpu", *more)
    check("t-quagga" in listed and "cuda-" not in listed, listed)
    # The site's folder, as a run that names the site reads it.
    write("site.yaml", f"version: 1\nname: striped\nscheduler: slurm\nstep: {{start: srun}}\nknowledge: {root / 'more'}\n")
    os.environ["ATOLL_SITE"] = str(root / "site.yaml")
    check("t-quagga" in atoll("search", "striped", "quagga", "-n", "1"), "search: the site's folder")
    check("t-quagga" in atoll("list") and json.loads(atoll("show", "t-quagga", "--json"))["wrong"] == BAD, "list and show: the site's folder")
    check([r["id"] for r in findings("--only", "t-quagga", "--no-compile")] == ["t-quagga"], "check: the site's folder")
    os.environ["ATOLL_SITE"] = str(root / "no-site.yaml")
    check("no-site.yaml" in atoll("list", status=66), "a site that is not there")
    del os.environ["ATOLL_SITE"]
    write("other/constraints/other.yaml", "version: 1\nconstraints:\n" + constraint("quagga", {}, BAD, GOOD, "compile", "undeclared"))
    check("'t-quagga' is that of constraints/more.yaml:3 as well" in atoll("list", *more, "--knowledge", root / "other", status=65), "an id twice")
    return 0


sys.exit({"--broken": broken, "--installed": installed}[what]())
