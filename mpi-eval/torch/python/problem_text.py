"""The text of a problem as a suite keeps it: what an extent is made of stands in top-level constants, so that dims can
replace it.

Elements of top-level tuples (input_shape = (32768,)) and numbers among the arguments of torch's factories inside
get_inputs() (torch.rand(2, 3, 224, 224)) are lifted; nothing else of the author's text is changed.  Where a task cannot
say what the module wants (a mask of booleans, evaluation mode), a subclass is appended."""
import ast
import re

FACTORIES = ("rand", "randn", "randint", "zeros", "ones", "full", "empty", "arange", "rand_like", "randperm")
LEAST_LIFTED = 2


def constants(tree, names):
    """Top-level names that hold an int, in the order of the text: {name: value}; names: the executed text's."""
    found = {}
    for statement in tree.body:
        for name in bound(statement):
            value = names.get(name)
            if type(value) is int:
                found[name] = value
    return found


def bound(statement):
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    else:
        return []
    return [node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)]


def all_names(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | \
        {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} | \
        {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value >= LEAST_LIFTED


class Lift:
    """Edits of the text: (first byte, end byte, new text), made at the end so that places hold."""

    def __init__(self, source):
        self.lines = source.encode().splitlines(True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        self.bytes = source.encode()
        self.edits = []
        self.taken = set()

    def place(self, line, column):
        return self.starts[line - 1] + column

    def free_name(self, wanted):
        name, number = wanted, 1
        while name in self.taken:
            number += 1
            name = "%s_%d" % (wanted, number)
        self.taken.add(name)
        return name

    def replace(self, node, text):
        self.edits.append((self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset), text))

    def insert(self, line, text):
        at = self.place(line, 0)
        self.edits.append((at, at, text))

    def text(self):
        done = self.bytes
        for begin, end, new in sorted(self.edits, key=lambda edit: edit[:2], reverse=True):
            done = done[:begin] + new.encode() + done[end:]
        return done.decode()


def lift(source):
    """The text with its extents in constants; the text itself where there is nothing to lift."""
    tree = ast.parse(source)
    edit = Lift(source)
    edit.taken = all_names(tree)
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            lift_tuple(edit, statement)
        if isinstance(statement, ast.FunctionDef) and statement.name == "get_inputs":
            lift_literals(edit, statement)
    if not edit.edits:
        return source
    done = edit.text()
    ast.parse(done)
    return done


def lift_tuple(edit, statement):
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, (ast.Tuple, ast.List)) or statement.col_offset:
        return
    lifted = []
    for index, item in enumerate(value.elts):
        if is_number(item):
            name = edit.free_name("%s_%d" % (target.id, index))
            lifted.append("%s = %d\n" % (name, item.value))
            edit.replace(item, name)
    if lifted:
        edit.insert(statement.lineno, "".join(lifted))


def is_factory(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FACTORIES and \
        isinstance(node.func.value, ast.Name)


def lift_literals(edit, function):
    lifted, skip = [], set()
    for call in ast.walk(function):
        if not is_factory(call):
            continue
        sizes = call.args
        if call.func.attr == "randint":  # its first numbers are bounds
            sizes = [a for a in call.args if isinstance(a, (ast.Tuple, ast.List))]
        elif call.func.attr in ("full", "rand_like"):
            sizes = call.args[:1]
        for argument in sizes:
            items = argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]
            for item in items:
                if is_number(item) and id(item) not in skip:
                    skip.add(id(item))
                    lifted.append((item, call.func.attr))
    numbers = sorted(lifted, key=lambda pair: (pair[0].lineno, pair[0].col_offset))
    made = []
    for item, _ in numbers:
        name = edit.free_name("extent_%d" % len(made))
        made.append("%s = %d\n" % (name, item.value))
        edit.replace(item, name)
    if made:
        edit.insert(function.decorator_list[0].lineno if function.decorator_list else function.lineno, "".join(made))


def entry_of(source, entry, why, arguments, conversions, is_eval):
    """A subclass of `entry` to be appended; arguments: names of forward's; conversions: {name: "torch.bool"}."""
    lines = ["", "", "# Added by `atoll task import`: %s." % "; ".join(why),
             "class AtollEntry(%s):" % entry]
    if is_eval:
        lines += ["    def __init__(self, *arguments, **keywords):",
                  "        super().__init__(*arguments, **keywords)",
                  "        self.eval()", ""]
    if conversions:
        given = ["%s.to(%s)" % (name, conversions[name]) if name in conversions else name for name in arguments]
        lines += ["    def forward(self, %s):" % ", ".join(arguments),
                  "        return super().forward(%s)" % ", ".join(given), ""]
    return source.rstrip("\n") + "\n" + "\n".join(lines).rstrip("\n") + "\n"


def plain_name(text, limit=63):
    """[a-z][a-z0-9_]*, at most `limit` characters."""
    name = re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "problem"
    if not name[0].isalpha():
        name = "p_" + name
    return name[:limit].rstrip("_")
