#!/usr/bin/env python3
"""`atoll task check`: parameters at their ends and in between, what failed first, lines as the author counts them."""
import pathlib
import re
import subprocess
import sys
import tempfile

build = sys.argv[1]

YAML = """version: 1
name: {name}
summary: y = 2 x
dims: [N]
tensors:
  - {{name: x, dtype: f32, shape: [N], role: in, init: {{normal: {{mean: 0, std: 1}}}}}}
  - {{name: y, dtype: f32, shape: [N], role: out}}
reference: {{file: reference.c, units: "N"}}
work: {{flops: "N"}}
tolerance: {{rtol: 1.0e-6, atol: 1.0e-6}}
variants:
  check: {{N: 1000}}
  bench: {{N: 4000}}
baselines: [{{name: plain, file: seeds/plain.c}}]
"""
REFERENCE = """/* Twice. */
void reference(const struct atoll_reference_args *a, long unit)
{
    put_y(a, unit, 2 * get_x(a, unit));
}
"""
SEED = """/* atoll-plan {
  "version": 1, "params": {"STEP": [4, 1, 2, 8], "TURN": [0, 1]},
  "launch": [{"function": "twice", "units": "N", "args": ["x", "y"]}]
} */
void twice(long begin, long end, const float *x, float *y)
{
    for (long i = begin; i < end; i++)
        y[i] = STEP == WRONG ? 0 : 2 * x[i];
}
"""
# Large shapes go to g, which takes 32 at a time: bench alone is one.
PATHS = """/* atoll-plan {
  "version": 1,
  "paths": [{"when": "WHEN", "launch": [{"function": "g", "units": "N / 32", "args": ["x", "y"]}]},
            {"launch": [{"function": "f", "units": "N", "args": ["x", "y"]}]}]
} */
void f(long begin, long end, const float *x, float *y)
{
    for (long i = begin; i < end; i++)
        y[i] = 2 * x[i];
}
void g(long begin, long end, const float *x, float *y)
{
    for (long i = begin; i < end; i++)
        for (long j = 32 * i; j < 32 * i + 32; j++)
            y[j] = 2 * x[j];
}
"""


def check(condition, message):
    if not condition:
        sys.exit(message)


def make(suite, name, reference=REFERENCE, seed=SEED.replace("WRONG", "16")):
    (suite / name / "seeds").mkdir(parents=True)
    (suite / name / "task.yaml").write_text(YAML.format(name=name))
    (suite / name / "reference.c").write_text(reference)
    (suite / name / "seeds" / "plain.c").write_text(seed)


with tempfile.TemporaryDirectory(prefix="atoll-task-check-") as scratch:
    suite = pathlib.Path(scratch)
    make(suite, "good")
    make(suite, "edge", seed=SEED.replace("WRONG", "8"))  # right for the first value, wrong for the largest
    make(suite, "broken", reference=REFERENCE.replace("unit, 2", "uint, 2"))
    make(suite, "unknown", reference=REFERENCE.replace("get_x", "fetch_x"))
    make(suite, "forbidden", seed=SEED.replace("WRONG", "16").replace("    for", "    fork();\n    for"))
    make(suite, "aligned", seed=PATHS.replace("WHEN", "N > 1000 && N % 32 == 0"))  # and right wherever that holds
    make(suite, "lax", seed=PATHS.replace("WHEN", "N > 1000"))  # wrong where it holds and N is uneven
    make(suite, "narrow", seed=PATHS.replace("WHEN", "N == 4000"))
    yaml = suite / "narrow" / "task.yaml"
    yaml.write_text(yaml.read_text().replace('flops: "N"', "flops: unknown"))
    result = subprocess.run([f"{build}/atoll", "task", "check", suite], capture_output=True, text=True, timeout=280)
    text = result.stdout
    check(result.returncode == 1, f"status {result.returncode}: {result.stderr}{text}")
    parts = dict(zip(re.findall(r"^(\w+): y = 2 x$", text, re.M), re.split(r"^\w+: y = 2 x$", text, flags=re.M)[1:]))
    check("FAIL" not in parts["good"] and re.search(r"ok +\d+ tests \(-v prints them\)", parts["good"]), text)
    check(re.search(r"\A\s*FAIL +baseline plain holds +[1-9]\d* of \d+ combinations fail; STEP=8 TURN=\d: wrong", parts["edge"]), text)
    check(parts["edge"].count("FAIL") == 1, text)
    check("FAIL" not in parts["aligned"], text)
    check(re.search(r"wrong: variant check\.path\[0\], y: .*; made for paths\[0\]: N=\d+", parts["lax"]), text)
    floor = "  floor: of memory alone: how many operations the task needs is not known"
    check(floor in parts["narrow"] and text.count(floor) == 1, text)
    check("bad_plan: plan: field 'paths[0]': variant 'bench' takes it, no check variant does" in parts["narrow"], text)
    says = "line 4 of reference.c says: put_y(a, "
    check("reference.c:4:" in parts["broken"] and f"{says}uint, 2 * get_x(a, unit));" in parts["broken"], text)
    check(f"{says}unit, 2 * fetch_x(a, unit));" in parts["unknown"], text)
    check("rule system, line 7:" in parts["forbidden"], text)
    shown = subprocess.run([f"{build}/atoll", "task", "check", "-v", "--combinations", "0", suite / "edge"], capture_output=True,
                           text=True, timeout=280)
    check(shown.returncode == 0 and re.search(r"ok +baseline plain is right", shown.stdout) and "holds" not in shown.stdout,
          f"status {shown.returncode}: {shown.stdout}{shown.stderr}")
