#!/usr/bin/env python3
"""The shape of the tree in figures: lines, lengths, functions with one caller, headers that serve one file, circles of files.

    house.py ROOT [FOLDER ...]            the table, of these folders only when some are named
    house.py ROOT [FOLDER ...] --list     with the functions, headers and circles behind it
    house.py ROOT --check                 exit status 1 for a circle that is not listed below, for exported functions
                                          that only tests use, and for two decisions (docs/adr) of one number
    house.py --selftest

A file is a source with its header. A caller is a call in the product, its tests or benchmarks; a function whose name stands
in a table has other callers. The tree is read as text, so namesakes count for each other; definitions come from Universal
Ctags. The figures are a means: where a figure and a reader disagree, the reader is right."""
import collections
import json
import pathlib
import re
import subprocess
import sys

MODULES = ("base", "core", "evolution", "archive-h5", "llm-gateway", "mpi-eval", "scheduler")
SHORT = 15

# Tables of functions: who finds one by its name calls back into who lists it. Proven: without these names there is no circle.
TABLES = {
    "atoll_strategy_beam", "atoll_strategy_islands", "atoll_strategy_repeated", "atoll_strategy_staged", "atoll_strategy_tree",
    "atoll_strategy_analyses", "atoll_strategy_judge", "atoll_strategy_lessons", "atoll_strategy_prompts", "atoll_strategy_template_phase",
    "atoll_provider_anthropic", "atoll_provider_chat", "atoll_provider_responses",
    "atoll_backend_cuda",
}

# Exported functions that nothing of the product calls, and why they are there.
UNCALLED = {
    "atoll_tools_open_count": "tests wait for it",
    "atoll_tune_create_space": "a tuner of a recorded space: benchmarks and tests compare strategies on those",
    "atoll_tune_strategy_name": "names the strategies in those comparisons",
    "atoll_journal_next_event": "what a writer would number next: tests of takeovers and kills compare it",
    "atoll_counters_plan": "asks CUPTI's host side for the passes of a set of metrics: the test of them needs no GPU",
    "atoll_command_batch_take_function": "reads what a FUNCTION command replies: GPU tests look at a kernel's registers",
    "atoll_err_fill": "the macros of err.h call it",
    "atoll_crc32c_portable": "the tables, on machines whose CRC instruction is otherwise all that a test sees",
    "atoll_referee_thread_phases": "benchmarks print where the time of a sample goes",
    "atoll_experience_count": "the same, as a benchmark prints it",
    "atoll_plan_choice_check": "tests and bench/mix judge the numbers of bundled plans at every variant without a device",
}

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*(?:\\\n[^\n]*)*|[A-Za-z_]\w*|[{}();=,]', re.S)


def references_of(text):
    """Yields (name, is_call) for each identifier inside of braces, and for those at file scope that are no declarations."""
    depth = 0
    tokens = [t for t in TOKEN.findall(text) if not t.startswith(("/*", "//", '"', "'"))]
    in_initialiser = False
    for i, token in enumerate(tokens):
        if token.startswith("#"):
            if token.startswith("#define"):
                names = re.findall(r"[A-Za-z_]\w*", token)[2:]
                for name in names:
                    yield name, name + "(" in token
            continue
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif token == "=" and depth == 0:
            in_initialiser = True
        elif token == ";" and depth == 0:
            in_initialiser = False
        elif (depth or in_initialiser) and (token[0].isalpha() or token[0] == "_"):
            following = tokens[i + 1] if i + 1 < len(tokens) else ""
            yield token, following == "("


def room_of(path):
    return re.sub(r"\.[ch]$", "", path)


class House:
    def __init__(self, root, folders):
        self.root = pathlib.Path(root)
        self.paths = sorted(p.relative_to(self.root).as_posix() for m in MODULES for p in (self.root / m).rglob("*.[ch]"))
        self.text = {p: (self.root / p).read_text() for p in self.paths}
        self.folders = folders or list(MODULES)
        self.lines = {p: t.count("\n") for p, t in self.text.items()}
        self.functions = self.read_functions()
        self.refs = {p: list(references_of(t)) for p, t in self.text.items()}
        self.count_references()

    def inside(self, path):
        return any(path.startswith(f.rstrip("/") + "/") for f in self.folders)

    def read_functions(self):
        out = subprocess.run(["ctags", "--output-format=json", "--languages=C", "--langmap=C:.c.h", "--kinds-C=fv", "--fields=+neKF{file}",
                              "-f", "-", "-L", "-"], input="\n".join(self.paths), text=True, cwd=self.root,
                             stdout=subprocess.PIPE, check=True).stdout
        found, self.variables = [], []
        for line in out.splitlines():
            tag = json.loads(line)
            if tag["kind"] == "variable" and tag["name"].startswith("atoll_") and tag["path"].endswith(".c"):
                self.variables.append(tag)
            if tag["kind"] != "function" or "end" not in tag:
                continue
            found.append({"name": tag["name"], "path": tag["path"], "line": tag["line"], "lines": tag["end"] - tag["line"] + 1,
                          "static": bool(tag.get("file")) or tag["path"].endswith(".h")})
        return found

    def count_references(self):
        product, outside, of_file = collections.Counter(), collections.Counter(), {}
        for path, refs in self.refs.items():
            of_file[path] = collections.Counter(refs)
            product.update(of_file[path])
        for folder in ("tests", "bench"):
            for path in (self.root / folder).rglob("*.[ch]"):
                if "fixtures" not in path.parts:
                    outside.update(references_of(path.read_text()))
        for f in self.functions:
            everywhere = not f["static"] or f["path"].endswith(".h")
            counts = product if everywhere else of_file[f["path"]]
            call, name = (f["name"], True), (f["name"], False)
            f["uses"] = counts[call] + counts[name]
            elsewhere = outside[call] + outside[name] if everywhere else 0
            f["is_once"] = counts[call] == 1 and counts[name] == 0 and elsewhere == 0

    def mine(self):
        return [f for f in self.functions if self.inside(f["path"])]

    def one_caller(self):
        return [f for f in self.mine() if f["is_once"]]

    def uncalled(self):
        return [f for f in self.mine() if f["uses"] == 0 and not f["static"] and f["name"] != "main"]

    def lonely_headers(self):
        users = collections.defaultdict(set)
        for path, text in self.text.items():
            for name in re.findall(r'^\s*#\s*include\s*"([^"]+)"', text, re.M):
                if room_of(name) != room_of(path):
                    users[name].add(path)
        headers = [p for p in self.paths if p.endswith(".h") and self.inside(p)]
        return [(h, sorted(users[h])) for h in headers if len(users[h]) <= 1], len(headers)

    def edges(self, without):
        """room -> room -> {names that the first takes from the second}, but for these names."""
        owner = collections.defaultdict(set)
        for f in self.functions:
            if not f["static"]:
                owner[f["name"]].add(room_of(f["path"]))
        for tag in self.variables:
            owner[tag["name"]].add(room_of(tag["path"]))
        edges = collections.defaultdict(dict)
        for path, refs in self.refs.items():
            room = room_of(path)
            for name, _ in refs:
                if name in without or len(owner.get(name, ())) != 1:
                    continue
                other = next(iter(owner[name]))
                if other != room:
                    edges[room].setdefault(other, set()).add(name)
        return edges

    def circles(self, without):
        """[(its files, the edges)]"""
        edges = self.edges(without)
        return [(sorted(c), edges) for c in circles_of(edges) if any(self.inside(r) for r in c)]


def circles_of(graph):
    """Strongly connected components of two members and more (Tarjan, without recursion)."""
    index, low, on_stack, stack, result, counter = {}, {}, set(), [], [], 0
    for start in list(graph):
        if start in index:
            continue
        work = [(start, iter(graph[start]))]
        index[start] = low[start] = counter
        counter += 1
        stack.append(start)
        on_stack.add(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in index:
                    index[other] = low[other] = counter
                    counter += 1
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(graph.get(other, ()))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        members.append(member)
                        if member == node:
                            break
                    if len(members) > 1:
                        result.append(members)
    return result


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))] if values else 0


def print_table(house, with_list):
    functions = house.mine()
    one = house.one_caller()
    small = [f for f in one if f["lines"] <= SHORT]
    lonely, headers = house.lonely_headers()
    circles, tables = house.circles(TABLES), house.circles(())
    count = max(1, len(functions))
    lengths = [f["lines"] for f in functions]
    for folder in house.folders:
        files = [p for p in house.paths if p.startswith(folder.rstrip("/") + "/")]
        print(f"  {folder:24} {sum(house.lines[p] for p in files):7} lines {len(files):5} files")
    print(f"  {'product':24} {sum(n for p, n in house.lines.items() if house.inside(p)):7} lines, {len(functions)} functions")
    print(f"functions with one caller             {100 * len(one) / count:5.1f} %")
    print(f"  of them at most {SHORT} lines           {100 * len(small) / count:5.1f} % of all ({len(small)})")
    print(f"longest function, half and 90 %       {percentile(lengths, 0.5)}, {percentile(lengths, 0.9)} lines, above 100: "
          f"{sum(n > 100 for n in lengths)}")
    print(f"headers that serve at most one file   {100 * len(lonely) / max(1, headers):5.1f} % ({len(lonely)} of {headers})")
    print(f"circles of files                      {len(circles)}, and {len(tables) - len(circles)} by tables of functions")
    print(f"exported functions without a caller   {len(house.uncalled())}")
    if with_list:
        for f in sorted(small, key=lambda f: (f["path"], f["line"])):
            print(f"one caller: {f['path']}:{f['line']}: {f['name']} ({f['lines']} lines)")
        for header, users in lonely:
            print(f"serves one: {header} ({users[0] if users else 'nobody'})")
        for f in house.uncalled():
            print(f"no caller: {f['path']}:{f['line']}: {f['name']}")
        print_circles(tables)


def print_circles(circles):
    for members, edges in circles:
        print(f"circle of {len(members)}:")
        for room in members:
            for other in sorted(set(edges[room]) & set(members)):
                print(f"  {room} -> {other}: {', '.join(sorted(edges[room][other])[:6])}")


def decisions(root):
    """What is wrong with the numbers of docs/adr: two of one number, a title that says another."""
    found = {}
    for path in sorted(pathlib.Path(root, "docs", "adr").glob("[0-9]*.md")):
        number = int(path.name[:4])
        title = path.read_text(encoding="utf-8").partition("\n")[0]
        if number in found:
            yield f"docs/adr/{path.name}: {found[number]} has the number {number}, too"
        elif not title.startswith(f"# {number}. "):
            yield f"docs/adr/{path.name}: its title does not begin with '# {number}. '"
        found[number] = path.name


def check(house):
    circles = house.circles(TABLES)
    print_circles(circles)
    bad = len(circles)
    for f in house.uncalled():
        if f["name"] not in UNCALLED and not f["name"].endswith("_body"):  # referee/wide.h makes the calls of those
            bad += 1
            print(f"{f['path']}:{f['line']}: {f['name']} is exported and nothing of the product calls it")
    for name in sorted(set(UNCALLED) - {f["name"] for f in house.uncalled()}):
        bad += 1
        print(f"house.py: {name} is listed as uncalled and is gone, or is called")
    for fault in decisions(house.root):
        bad += 1
        print(fault)
    return bad


def selftest():
    refs = list(references_of('int f(void);\nstatic int g(void)\n{ /* h() */ return f() + h("k()"); }\nstruct t x = {.a = m};\n'))
    assert refs == [("return", False), ("f", True), ("h", True), ("a", False), ("m", False)], refs
    assert sorted(circles_of({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})[0]) == ["a", "b", "c"]
    assert circles_of({"a": {"b"}, "b": {"c"}}) == []


def main():
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    if "--selftest" in sys.argv:
        return selftest()
    if subprocess.run(["sh", "-c", "ctags --version"], stdout=subprocess.PIPE, text=True).stdout.find("Universal Ctags") < 0:
        print("skipped: Universal Ctags is not installed")
        sys.exit(77)
    house = House(words[0], words[1:])
    print_table(house, "--list" in sys.argv)
    if "--check" in sys.argv:
        sys.exit(1 if check(house) else 0)


main()
