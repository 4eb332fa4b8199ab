#!/usr/bin/env python3
"""Templates and profiles as files: valid shell, profiles that exist, keys that are documented."""
import pathlib
import re
import shutil
import subprocess
import sys

source = pathlib.Path(sys.argv[1])
jobscripts = source / "jobscripts"
templates = sorted([*jobscripts.glob("*.sbatch"), *jobscripts.glob("*.pbs")])
profiles = {p.stem for p in (jobscripts / "sites").glob("*.yaml")}
complaints = []


def complain(place, text):
    complaints.append(f"{place}: {text}")


def check_shell(path):
    done = subprocess.run(["bash", "-n", path], capture_output=True, text=True)
    if done.returncode:
        complain(path.name, done.stderr.strip())
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", "-s", "bash", path], capture_output=True, text=True)
        if done.returncode:
            complain(path.name, done.stdout.strip())


def check_template(path):
    text = path.read_text()
    for name in re.findall(r"--site ([\w-]+)", text):
        if name not in profiles:
            complain(path.name, f"no profile {name}.yaml in jobscripts/sites")
    directive = re.compile(r"^#(SBATCH|PBS) ", re.M)
    body = re.search(r"^(?!#|$)", text, re.M).start()
    if any(m.start() > body for m in directive.finditer(text)):
        complain(path.name, "a directive behind the first command: the scheduler does not read it")
    if "SBATCH" in text and "open-mode=append" not in text and path.name.startswith("slurm-"):
        complain(path.name, "a requeued job would write over its log: --open-mode=append is missing")


def check_documents():
    page = (source / "docs/spec/site.md").read_text()
    keys = re.findall(r'^    \{"(\w+)", ATOLL_YAML_', (source / "scheduler/site/site_keys.c").read_text(), re.M)
    if len(keys) < 50:
        complain("scheduler/site/site_keys.c", f"only {len(keys)} keys found: has the table moved?")
    for key in keys:
        if f"`{key}`" not in page:
            complain("docs/spec/site.md", f"key {key} is not described")
    readme = (jobscripts / "README.md").read_text()
    for name in sorted(profiles):
        if f"`{name}`" not in readme:
            complain("jobscripts/README.md", f"profile {name} is not listed")


if len(templates) < 9:
    complain("jobscripts", f"only {len(templates)} templates found")
if not shutil.which("shellcheck"):
    print("shellcheck is not installed (Debian: apt install shellcheck): bash -n alone judges the templates")
for template in templates:
    check_shell(template)
    check_template(template)
check_documents()
print("\n".join(complaints) or f"{len(templates)} templates, {len(profiles)} profiles")
sys.exit(1 if complaints else 0)
