"""ATen operators as nodes of a seed (seed_node.py): what each of them computes, in plain terms.

OPERATORS maps a name ("aten.add.Tensor"; changes in place under the name without the underscore) to a function of
(call) that returns a node, or a tuple of nodes for several results.  An operator that is not there has no seed.  They stand in
seed_pointwise, seed_move, seed_reduce and seed_product, which fill the table when they are imported.
"""

import math

from atoll.aten_graph import Unsupported
from atoll.seed_node import Generated, Node, is_one, kind_of

OPERATORS = {}


class Call:
    """One operator of the graph: its arguments by name, and shape and type of what comes out."""

    def __init__(self, op, args, outs, lowering):
        self.op, self.args, self.outs, self.lowering = op, args, outs, lowering
        self.name = op.split(".")[1].rstrip("_")
        self.variants = lowering.variants

    def __getitem__(self, name):
        return self.args.get(name)

    @property
    def shape(self):
        return self.outs[0][0]

    @property
    def kind(self):
        return kind_of(self.outs[0][1])

    def node(self, name):
        """A tensor argument; a number becomes a node, too; None stays None."""
        given = self.args.get(name)
        if given is None or isinstance(given, Node):
            return given
        if isinstance(given, dict):
            return self.lowering.value(given["value"])
        return self.number(given)

    def nodes(self, name):
        return [self.lowering.value(g["value"]) for g in self.args[name]]

    def number(self, value, kind=None):
        kind = kind or ("bool" if isinstance(value, bool) else "float" if isinstance(value, float) else None)
        if kind is None:
            numbers = value if isinstance(value, tuple) else (value,)
            kind = "float" if any(isinstance(v, float) for v in numbers) else "long long"
        return Generated([], kind, lambda kernel, index: number_text(kernel, value, kind), "")

    def integer(self, name):
        """A number that must be the same at all variants: an axis, a flag."""
        value = self.args.get(name)
        if isinstance(value, tuple):
            raise Unsupported("%s with a %s that differs between the variants" % (self.op, name))
        return value

    def axis(self, name, rank=None):
        rank = max(len(self.node("self").shape) if rank is None else rank, 1)
        return self.integer(name) % rank

    def axes(self, name, node):
        rank = len(node.shape)
        given = self.args.get(name)
        if isinstance(given, int) and not isinstance(given, bool):
            given = [given]
        if not given:
            return list(range(rank))
        if any(isinstance(g, tuple) for g in given):
            raise Unsupported("%s over axes that differ between the variants" % self.op)
        return sorted({g % rank for g in given}) if rank else []

    def extents(self, name, count=None):
        """A list of numbers as extents; one for all where the list has one."""
        given = self.args.get(name) or []
        result = [g if isinstance(g, tuple) else (int(g),) * self.variants for g in given]
        return result * count if count is not None and len(result) == 1 else result

    def all(self, number):
        return (number,) * self.variants


def operator(*names):
    def put(function):
        for name in names:
            OPERATORS["aten." + name] = function
        return function
    return put


def literal(value, kind):
    if value in (math.inf, -math.inf):
        return "-INFINITE" if value < 0 else "INFINITE"
    if kind in ("float", "double"):
        return repr(float(value)) + ("f" if kind == "float" else "")
    if isinstance(value, float) and not value.is_integer():
        return repr(value)
    return "1" if value is True else "0" if value is False else str(int(value)) if value >= 0 else "(%d)" % int(value)


def number_text(kernel, value, kind):
    if not isinstance(value, tuple):
        text = literal(value, kind)
        return "(%s)" % text if text.startswith("-") else text
    if all(isinstance(v, int) or float(v).is_integer() for v in value):
        return "(%s)%s" % (kind, kernel.extent(tuple(int(v) for v in value)))
    for power, form in ((-1, "1.0f / %s"), (-2, "1.0f / sqrtf((float)%s)"), (2, "sqrtf((float)%s)"),
                        (-4, "1.0f / sqrtf(sqrtf((float)%s))")):
        whole = tuple(round(1 / v if power == -1 else v ** power) for v in value)
        back = [1 / w if power == -1 else w ** (1 / power) for w in whole if w > 0]
        if len(back) == len(value) and all(abs(b - v) <= 1e-12 * abs(v) for b, v in zip(back, value)):
            return "(%s)" % (form % kernel.extent(whole))
    raise Unsupported("a number that differs between the variants")


# ---- words of indices and numbers ----

def fill(form, kind, **given):
    return form.format(f="" if kind == "double" else "f", **given)


def shift(kernel, index, by, sign="+"):
    """index + by, `by` a number of the variants."""
    if all(b == 0 for b in by):
        return index
    if all(b < 0 for b in by):
        by, sign = tuple(-b for b in by), "-" if sign == "+" else "+"
    amount = kernel.extent(tuple(by))
    return amount if index == "0" and sign == "+" else "%s %s %s" % (index, sign, amount)


def grouped(text):
    return text if text.replace("_", "a").isalnum() else "(%s)" % text


def inside(kernel, index, extent):
    return "%s >= 0 && %s < %s" % (index, index, kernel.extent(extent))


def cut(node, index):
    return ["0" if is_one(e) else i for i, e in zip(index, node.shape)]
