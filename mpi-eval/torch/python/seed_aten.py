"""ATen operators as nodes of a seed (seed_node.py): what each of them computes, in plain terms.

OPERATORS maps a name ("aten.add.Tensor"; changes in place under the name without the underscore) to a function of
(call) that returns a node, or a tuple of nodes for several results.  An operator that is not here has no seed.
"""

import math

from atoll.aten_graph import Unsupported
from atoll.seed_node import (Chosen, Fold, Gathered, Generated, Moved, Node, Pointwise, Product, Scan, expand, is_one, kind_of,
                             permute, pointwise, product, reduce, view)

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
    for power, form in ((-1, "1.0f / %s"), (-2, "1.0f / sqrtf((float)%s)"), (2, "sqrtf((float)%s)")):
        whole = tuple(round(1 / v if power == -1 else v ** power) for v in value)
        back = [1 / w if power == -1 else w ** (1 / power) for w in whole if w > 0]
        if len(back) == len(value) and all(abs(b - v) <= 1e-12 * abs(v) for b, v in zip(back, value)):
            return "(%s)" % (form % kernel.extent(whole))
    raise Unsupported("a number that differs between the variants")


def c_function(name, kind):
    return name if kind == "double" else name + "f"


# ---- one element at a time ----

UNARY = {
    "relu": ("fmax{f}({x}, 0.0{f})", 1), "abs": ("fabs{f}({x})", 1), "neg": ("-{x}", 1), "sqrt": ("sqrt{f}({x})", 4),
    "exp": ("exp{f}({x})", 10), "exp2": ("exp2{f}({x})", 10), "expm1": ("expm1{f}({x})", 10),
    "log": ("log{f}({x})", 10), "log1p": ("log1p{f}({x})", 10), "log2": ("log2{f}({x})", 10),
    "log10": ("log10{f}({x})", 10), "sin": ("sin{f}({x})", 10), "cos": ("cos{f}({x})", 10), "tan": ("tan{f}({x})", 10),
    "asin": ("asin{f}({x})", 10), "acos": ("acos{f}({x})", 10), "atan": ("atan{f}({x})", 10),
    "sinh": ("sinh{f}({x})", 10), "cosh": ("cosh{f}({x})", 10), "tanh": ("tanh{f}({x})", 10),
    "erf": ("erf{f}({x})", 10), "erfc": ("erfc{f}({x})", 10), "floor": ("floor{f}({x})", 1), "ceil": ("ceil{f}({x})", 1),
    "trunc": ("trunc{f}({x})", 1), "round": ("rint{f}({x})", 1), "reciprocal": ("1.0{f} / {x}", 4),
    "rsqrt": ("1.0{f} / sqrt{f}({x})", 4), "sign": ("({x} > 0) - ({x} < 0)", 1), "sgn": ("({x} > 0) - ({x} < 0)", 1),
    "sigmoid": ("1.0{f} / (1.0{f} + exp{f}(-{x}))", 10), "silu": ("{x} / (1.0{f} + exp{f}(-{x}))", 10),
    "mish": ("{x} * tanh{f}(log1p{f}(exp{f}(-fabs{f}({x}))) + fmax{f}({x}, 0.0{f}))", 20),
    "hardsigmoid": ("fmin{f}(fmax{f}({x} / 6.0{f} + 0.5{f}, 0.0{f}), 1.0{f})", 3),
    "hardswish": ("{x} * fmin{f}(fmax{f}({x} + 3.0{f}, 0.0{f}), 6.0{f}) / 6.0{f}", 3),
    "relu6": ("fmin{f}(fmax{f}({x}, 0.0{f}), 6.0{f})", 1),
    "logical_not": ("!{x}", 1), "isnan": ("{x} != {x}", 1),
}
UNCHANGED = ("clone", "detach", "alias", "lift_fresh", "lift_fresh_copy", "contiguous", "_to_copy", "detach_copy", "positive",
             "view_copy", "to")


def fill(form, kind, **given):
    return form.format(f="" if kind == "double" else "f", **given)


def unary(call):
    x, kind = call.node("self") or call.node("input"), call.kind
    form, cost = UNARY[call.name]
    if kind == "long long" and call.name in ("relu", "abs", "floor", "ceil", "trunc", "round"):
        form = {"relu": "{x} > 0 ? {x} : 0", "abs": "{x} < 0 ? -{x} : {x}"}.get(call.name, "{x}")
    return pointwise([x], lambda v: fill(form, kind, x=v), call.name, kind, cost)


for _name in UNARY:
    OPERATORS["aten.%s.default" % _name] = unary


def unchanged(call):
    x = call.node("self")
    if call.kind == x.kind:
        return x
    test = "%s != 0" if call.kind == "bool" else "(%s)%%s" % call.kind
    return pointwise([x], lambda v: test % v, "to " + call.outs[0][1], call.kind, 0)


for _name in UNCHANGED:
    OPERATORS["aten.%s.default" % _name] = unchanged
for _name in ("to.dtype", "to.device", "to.dtype_layout", "to.other", "_to_copy.default", "type_as.default"):
    OPERATORS["aten." + _name] = unchanged

BINARY = {
    "mul": ("{a} * {b}", 1), "atan2": ("atan2{f}({a}, {b})", 10), "maximum": ("fmax{f}({a}, {b})", 1),
    "minimum": ("fmin{f}({a}, {b})", 1), "fmax": ("fmax{f}({a}, {b})", 1), "fmin": ("fmin{f}({a}, {b})", 1),
    "fmod": ("fmod{f}({a}, {b})", 5), "eq": ("{a} == {b}", 1), "ne": ("{a} != {b}", 1), "lt": ("{a} < {b}", 1),
    "le": ("{a} <= {b}", 1), "gt": ("{a} > {b}", 1), "ge": ("{a} >= {b}", 1), "logical_and": ("{a} && {b}", 1),
    "logical_or": ("{a} || {b}", 1), "logical_xor": ("!{a} != !{b}", 1), "bitwise_and": ("{a} & {b}", 1),
    "bitwise_or": ("{a} | {b}", 1), "bitwise_xor": ("{a} ^ {b}", 1),
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")


def typed(call, node, kind=None):
    """A number in the kind of the result, so that 2 becomes 2.0f."""
    kind = kind or call.kind
    if isinstance(node, Generated) and not node.shape and kind in ("float", "double") and node.kind != kind:
        return Generated([], kind, lambda k, i: "(%s)%s" % (kind, node.text(k, i)), "")
    return node


def pair(call, first="self", second="other"):
    kind = call.kind
    if call.name in COMPARISONS:
        tensors = [n for n in (call.args.get(first), call.args.get(second)) if isinstance(n, dict)]
        kinds = [call.lowering.value(n["value"]).kind for n in tensors]
        kind = "double" if "double" in kinds else "float" if "float" in kinds else kinds[0]
    result = []
    for name in (first, second):
        given = call.args.get(name)
        plain = isinstance(given, (int, float, tuple)) and kind in ("float", "double")
        result.append(call.number(given, kind) if plain else call.node(name))
    return result


def binary(call):
    form, cost = BINARY[call.name]
    kind = call.kind
    if kind == "long long" and call.name in ("maximum", "minimum"):
        form = "{a} %s {b} ? {a} : {b}" % (">" if call.name == "maximum" else "<")
    return pointwise(pair(call), lambda a, b: fill(form, kind, a=a, b=b), call.name, kind, cost)


for _name in BINARY:
    for _form in ("Tensor", "Scalar", "default", "Scalar_Tensor"):
        OPERATORS["aten.%s.%s" % (_name, _form)] = binary


@operator("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar", "rsub.Scalar", "rsub.Tensor", "add.default")
def added(call):
    a, b = pair(call)
    alpha = call["alpha"] if call["alpha"] is not None else 1
    if call.name == "rsub":
        a, b = b, a
    sign = "+" if call.name == "add" else "-"
    if alpha == 1:
        return pointwise([a, b], lambda x, y: "%s %s %s" % (x, sign, y), call.name, call.kind)
    if call.name == "rsub":
        raise Unsupported("%s with an alpha" % call.op)
    scale = typed(call, call.number(alpha, call.kind))
    return pointwise([a, b, scale], lambda x, y, z: "%s %s %s * %s" % (x, sign, z, y), call.name, call.kind, 2)


@operator("div.Tensor", "div.Scalar", "div.Tensor_mode", "div.Scalar_mode", "true_divide.Tensor", "floor_divide.default")
def divided(call):
    a, b = pair(call)
    kind = call.kind
    mode = "floor" if call.name == "floor_divide" else call["rounding_mode"]
    if kind == "long long":
        if mode not in ("floor", "trunc"):
            raise Unsupported(call.op)
        form = ("{a} / {b} - ({a} % {b} != 0 && ({a} < 0) != ({b} < 0))" if mode == "floor" else "{a} / {b}")
    elif mode:
        form = "%s{f}({a} / {b})" % mode
    else:
        form = "{a} / {b}" if "long long" not in (a.kind, b.kind) and "bool" not in (a.kind, b.kind) else \
            "(%s){a} / (%s){b}" % (kind, kind)
    return pointwise([a, b], lambda x, y: fill(form, kind, a=x, b=y), call.name, kind, 4)


@operator("remainder.Tensor", "remainder.Scalar")
def remainder(call):
    kind = call.kind
    form = "{a} - floor{f}({a} / {b}) * {b}" if kind != "long long" else "(({a} % {b}) + {b}) % {b}"
    return pointwise(pair(call), lambda a, b: fill(form, kind, a=a, b=b), call.name, kind, 6)


@operator("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar", "square.default")
def power(call):
    kind = call.kind
    exponent = call["exponent"] if call.name == "pow" else 2
    forms = {2: "{x} * {x}", 3: "{x} * {x} * {x}", 1: "{x}", 0.5: "sqrt{f}({x})", -1: "1.0{f} / {x}",
             -0.5: "1.0{f} / sqrt{f}({x})"}
    if isinstance(exponent, (int, float)) and exponent in forms:
        return pointwise([call.node("self")], lambda v: fill(forms[exponent], kind, x=v), call.name, kind, 2)
    if kind == "long long":
        raise Unsupported(call.op + " of integers")
    return pointwise(pair(call, "self", "exponent"), lambda a, b: fill("pow{f}({a}, {b})", kind, a=a, b=b), call.name,
                     kind, 20)


@operator("clamp.default", "clamp.Tensor", "clamp_min.default", "clamp_max.default", "hardtanh.default",
          "clip.default", "clamp_min.Tensor", "clamp_max.Tensor")
def clamped(call):
    kind = call.kind
    low = call["min_val"] if call.name == "hardtanh" else call["min"]
    high = call["max_val"] if call.name == "hardtanh" else call["max"]
    node = call.node("self")
    for bound, name, sign in ((low, "fmax", "<"), (high, "fmin", ">")):
        if bound is None:
            continue
        limit = call.lowering.value(bound["value"]) if isinstance(bound, dict) else call.number(bound, kind)
        form = "{x} %s {b} ? {b} : {x}" % sign if kind == "long long" else name + "{f}({x}, {b})"
        node = pointwise([node, limit], lambda x, b, form=form: fill(form, kind, x=x, b=b), call.name, kind)
    return node


@operator("leaky_relu.default")
def leaky_relu(call):
    slope = literal(call["negative_slope"], call.kind)
    return pointwise([call.node("self")], lambda v: "%s > 0 ? %s : %s * %s" % (v, v, slope, v), call.name, call.kind)


@operator("elu.default")
def elu(call):
    kind = call.kind
    alpha, scale, input_scale = (call[n] for n in ("alpha", "scale", "input_scale"))
    low = fill("expm1{f}({x})", kind, x="{x}") if input_scale == 1 else \
        fill("expm1{f}({x} * {s})", kind, x="{x}", s=literal(input_scale, kind))
    form = "{x} > 0 ? {high} : {low}"
    factor = float(alpha) * float(scale)
    low = low if factor == 1 else "%s * %s" % (literal(factor, kind), low)
    high = "{x}" if scale == 1 else "%s * {x}" % literal(scale, kind)
    return pointwise([call.node("self")], lambda v: form.format(x=v, high=high.format(x=v), low=low.format(x=v)),
                     call.name, kind, 10)


@operator("softplus.default")
def softplus(call):
    kind, beta = call.kind, call["beta"]
    inner = "{x}" if beta == 1 else "(%s * {x})" % literal(beta, kind)
    after = "" if beta == 1 else " / %s" % literal(beta, kind)
    form = inner + " > %s ? {x} : log1p{f}(exp{f}(%s))%s" % (literal(call["threshold"], kind), inner, after)
    return pointwise([call.node("self")], lambda v: fill(form, kind, x=v), call.name, kind, 20)


@operator("log_sigmoid_forward.default")
def log_sigmoid(call):
    kind = call.kind
    form = "fmin{f}({x}, 0.0{f}) - log1p{f}(exp{f}(-fabs{f}({x})))"
    return pointwise([call.node("self")], lambda v: fill(form, kind, x=v), call.name, kind, 20), None


@operator("gelu.default")
def gelu(call):
    kind = call.kind
    form = "0.5{f} * {x} * (1.0{f} + erf{f}({x} * 0.7071067811865476{f}))"
    if call["approximate"] == "tanh":
        form = "0.5{f} * {x} * (1.0{f} + tanh{f}(0.7978845608028654{f} * ({x} + 0.044715{f} * {x} * {x} * {x})))"
    return pointwise([call.node("self")], lambda v: fill(form, kind, x=v), call.name, kind, 20)


@operator("threshold.default")
def threshold(call):
    limit, value = literal(call["threshold"], call.kind), literal(call["value"], call.kind)
    return pointwise([call.node("self")], lambda v: "%s > %s ? %s : %s" % (v, limit, v, value), call.name, call.kind)


@operator("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(call):
    kind = call.kind
    nodes = [call.node("condition")]
    for name in ("self", "other"):
        given = call.args[name]
        nodes.append(call.node(name) if isinstance(given, dict) else call.number(given, kind))
    return pointwise(nodes, lambda c, a, b: "%s ? %s : %s" % (c, a, b), call.name, kind)


@operator("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill(call):
    given = call.args["value"]
    value = call.node("value") if isinstance(given, dict) else call.number(given, call.kind)
    return pointwise([call.node("mask"), value, call.node("self")], lambda m, v, x: "%s ? %s : %s" % (m, v, x), call.name,
                     call.kind)


@operator("lerp.Scalar", "lerp.Tensor")
def lerp(call):
    weight = call.args["weight"]
    weight = call.node("weight") if isinstance(weight, dict) else call.number(weight, call.kind)
    return pointwise([call.node("self"), call.node("end"), weight], lambda a, b, w: "%s + %s * (%s - %s)" % (a, w, b, a),
                     call.name, call.kind, 3)


@operator("addcmul.default", "addcdiv.default")
def addcmul(call):
    sign = "*" if call.name == "addcmul" else "/"
    value = call.number(call["value"], call.kind)
    return pointwise([call.node("self"), call.node("tensor1"), call.node("tensor2"), value],
                     lambda x, a, b, v: "%s + %s * %s %s %s" % (x, v, a, sign, b), call.name, call.kind, 4)


@operator("xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self")
def xlogy(call):
    form = "{a} == 0 ? 0.0{f} : {a} * log{f}({b})"
    return pointwise(pair(call), lambda a, b: fill(form, call.kind, a=a, b=b), call.name, call.kind, 12)


@operator("bitwise_not.default")
def bitwise_not(call):
    sign = "!" if call.kind == "bool" else "~"
    return pointwise([call.node("self")], lambda v: sign + v, call.name, call.kind)


# ---- numbers from nothing ----

def constant(call, value):
    return Generated(call.shape, call.kind, lambda k, i: number_text(k, value, call.kind), call.name)


@operator("zeros.default", "zeros_like.default", "new_zeros.default", "zero.default")
def zeros(call):
    return constant(call, 0)


@operator("ones.default", "ones_like.default", "new_ones.default")
def ones(call):
    return constant(call, 1)


@operator("full.default", "full_like.default", "new_full.default", "scalar_tensor.default", "fill.Scalar")
def full(call):
    for name in ("fill_value", "value", "s"):
        if name in call.args:
            return constant(call, call.args[name])
    raise Unsupported(call.op)


@operator("fill.Tensor")
def filled(call):
    return expand(call.node("value"), call.shape)


@operator("copy.default")
def copied(call):
    source = call.node("src")
    if source.kind != call.kind:
        source = pointwise([source], lambda v: "(%s)%s" % (call.kind, v), "copy", call.kind, 0)
    return expand(source, call.shape)


@operator("empty.memory_format", "empty_like.default", "new_empty.default", "empty_strided.default",
          "new_empty_strided.default")
def empty(call):
    return None


@operator("arange.default", "arange.start", "arange.start_step")
def arange(call):
    kind = call.kind
    start, step = call["start"] or 0, 1 if call["step"] is None else call["step"]

    def text(kernel, index):
        value = index[0]
        if step != 1:
            value = "%s * %s" % (value, number_text(kernel, step, kind))
        if start != 0:
            value = "%s + %s" % (number_text(kernel, start, kind), value)
        return "(%s)(%s)" % (kind, value)
    return Generated(call.shape, kind, text, call.name)


@operator("eye.default", "eye.m")
def eye(call):
    return Generated(call.shape, call.kind, lambda k, i: "(%s)(%s == %s)" % (call.kind, i[0], i[1]), call.name)


@operator("tril.default", "triu.default")
def triangle(call):
    x, sign = call.node("self"), "<=" if call.name == "tril" else ">="
    diagonal = call["diagonal"] or 0

    def text(kernel, index):
        offset = "" if diagonal == 0 else " + %s" % number_text(kernel, diagonal, "long long")
        return "%s %s %s%s" % (index[-1], sign, index[-2], offset)
    mask = Generated(call.shape, "bool", text, call.name)
    return pointwise([mask, x], lambda m, v: "%s ? %s : 0" % (m if m.isidentifier() else "(%s)" % m, v), call.name,
                     call.kind)


# ---- the same elements elsewhere ----

@operator("view.default", "reshape.default", "_unsafe_view.default", "_reshape_alias.default", "flatten.using_ints",
          "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default", "view_as.default", "reshape_as.default")
def reshaped(call):
    return view(call.node("self"), call.shape)


@operator("permute.default", "transpose.int", "t.default", "numpy_T.default", "movedim.int", "adjoint.default", "mT.default")
def permuted(call):
    x = call.node("self")
    axes = list(range(len(x.shape)))
    if call.name == "permute":
        axes = [d % len(axes) for d in call["dims"]]
    elif call.name == "transpose":
        a, b = call.axis("dim0"), call.axis("dim1")
        axes[a], axes[b] = b, a
    elif call.name in ("t", "numpy_T"):
        axes.reverse()
    elif call.name in ("adjoint", "mT"):
        axes[-1], axes[-2] = axes[-2], axes[-1]
    else:
        axis = axes.pop(call.axis("source"))
        axes.insert(call.axis("destination"), axis)
    return permute(x, axes)


@operator("expand.default", "expand_as.default", "broadcast_to.default")
def expanded(call):
    return expand(call.node("self"), call.shape)


@operator("repeat.default", "tile.default")
def repeated(call):
    x = call.node("self")
    lead = len(call.shape) - len(x.shape)

    def index(kernel, given):
        return [i if e == o else "%s %% %s" % (i if i.isidentifier() else "(%s)" % i, kernel.extent(e))
                for i, e, o in zip(given[lead:], x.shape, call.shape[lead:])]
    return Moved(call.shape, x, index, "repeat", is_many=True)


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


@operator("slice.Tensor", "narrow.default")
def sliced(call):
    x = call.node("self")
    axis = call.axis("dim") if call["dim"] is not None else 0
    start = call["start"] if call["start"] is not None else 0
    start = start if isinstance(start, tuple) else call.all(start)
    start = tuple(max(0, min(s + e if s < 0 else s, e)) for s, e in zip(start, x.shape[axis]))
    step = call.integer("step") or 1

    def index(kernel, given):
        at = given[axis] if step == 1 else "%s * %d" % (grouped(given[axis]), step)
        return given[:axis] + [shift(kernel, at, start)] + given[axis + 1:]
    if call.shape == x.shape:
        return x
    return Moved(call.shape, x, index, "slice")


@operator("select.int")
def selected(call):
    x, axis = call.node("self"), call.axis("dim")
    at = call["index"] if isinstance(call["index"], tuple) else call.all(call["index"])
    at = tuple(a % e for a, e in zip(at, x.shape[axis]))
    return Moved(call.shape, x, lambda k, i: i[:axis] + [k.extent(at)] + i[axis:], "select")


@operator("split.Tensor", "split_with_sizes.default", "chunk.default", "unbind.int")
def split(call):
    x, axis = call.node("self"), call.axis("dim") if call["dim"] is not None else 0
    parts, start = [], (0,) * call.variants
    for shape, _ in call.outs:
        if call.name == "unbind":
            parts.append(Moved(shape, x, lambda k, i, s=start: i[:axis] + [k.extent(s)] + i[axis:], "unbind"))
            start = tuple(s + 1 for s in start)
            continue
        parts.append(Moved(shape, x, lambda k, i, s=start: i[:axis] + [shift(k, i[axis], s)] + i[axis + 1:], "split"))
        start = tuple(s + e for s, e in zip(start, shape[axis]))
    return tuple(parts)


@operator("cat.default", "concat.default")
def concatenated(call):
    nodes = [n for n in call.nodes("tensors") if n.shape and not all(e == 0 for s in n.shape for e in s)]
    axis = call.axis("dim", len(call.shape)) if call["dim"] is not None else 0
    return joined(call, nodes, axis)


def joined(call, nodes, axis):
    cases, start = [], (0,) * call.variants
    for node in nodes:
        end = tuple(s + e for s, e in zip(start, node.shape[axis]))

        def condition(kernel, index, end=end):
            return "%s < %s" % (index[axis], kernel.extent(end))

        def moved(kernel, index, start=start):
            return index[:axis] + [shift(kernel, index[axis], start, "-")] + index[axis + 1:]
        cases.append((condition, node, moved))
        start = end
    return Chosen(call.shape, call.kind, cases, "0", call.name)


@operator("stack.default")
def stacked(call):
    axis = call.axis("dim", len(call.shape)) if call["dim"] is not None else 0
    one = call.all(1)
    nodes = [view(n, list(n.shape[:axis]) + [one] + list(n.shape[axis:])) for n in call.nodes("tensors")]
    return joined(call, nodes, axis)


@operator("flip.default")
def flipped(call):
    x, axes = call.node("self"), [d % len(call.shape) for d in call["dims"]]

    def index(kernel, given):
        return ["%s - 1 - %s" % (kernel.extent(e), i) if a in axes and not is_one(e) else i
                for a, (i, e) in enumerate(zip(given, x.shape))]
    return Moved(call.shape, x, index, "flip")


@operator("roll.default")
def rolled(call):
    x = call.node("self")
    shifts, axes = call.extents("shifts"), call["dims"]
    if not axes:
        raise Unsupported("roll without axes")
    by = {d % len(x.shape): s for d, s in zip(axes, shifts)}

    def index(kernel, given):
        result = list(given)
        for axis, amount in by.items():
            back = tuple(-s % e for s, e in zip(amount, x.shape[axis]))
            result[axis] = "(%s) %% %s" % (shift(kernel, given[axis], back), kernel.extent(x.shape[axis]))
        return result
    return Moved(call.shape, x, index, "roll")


@operator("diagonal.default", "diag.default", "diag_embed.default")
def diagonal(call):
    x = call.node("self")
    if call["offset"] or call["diagonal"]:
        raise Unsupported("diagonals beside the main one")
    if call.name == "diag_embed" or call.name == "diag" and len(x.shape) == 1:
        if call.name == "diag_embed" and (call.axis("dim1", len(call.shape)), call.axis("dim2", len(call.shape))) != \
                (len(call.shape) - 2, len(call.shape) - 1):
            raise Unsupported("a diagonal that is not along the last axes")
        mask = Generated(call.shape, "bool", lambda k, i: "%s == %s" % (i[-1], i[-2]), "diag")
        row = Moved(call.shape, x, lambda k, i: i[:-1], "diag", is_many=True)
        return pointwise([mask, row], lambda m, v: "%s ? %s : 0" % (grouped(m), v), "diag", call.kind)
    first, second = (call.axis("dim1"), call.axis("dim2")) if call.name == "diagonal" else (0, 1)

    def index(kernel, given):
        rest = iter(given[:-1])
        return [given[-1] if a in (first, second) else next(rest) for a in range(len(x.shape))]
    return Moved(call.shape, x, index, "diagonal")


@operator("unfold.default")
def unfolded(call):
    x, axis = call.node("self"), call.axis("dimension")
    step = call.extents("step") if isinstance(call["step"], list) else \
        call["step"] if isinstance(call["step"], tuple) else call.all(call["step"])

    def index(kernel, given):
        at = "%s * %s + %s" % (grouped(given[axis]), kernel.extent(tuple(step)), given[-1])
        return given[:axis] + [at] + given[axis + 1:-1]
    return Moved(call.shape, x, index, "unfold", is_many=True)


def inside(kernel, index, extent):
    return "%s >= 0 && %s < %s" % (index, index, kernel.extent(extent))


@operator("constant_pad_nd.default", "reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default",
          "replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def padded(call):
    x = call.node("self")
    pads = call.extents("pad" if call.name == "constant_pad_nd" else "padding")
    before = {len(x.shape) - 1 - i: pads[2 * i] for i in range(len(pads) // 2)}

    def moved(kernel, index):
        return [shift(kernel, i, before.get(a, call.all(0)), "-") for a, i in enumerate(index)]
    if call.name == "constant_pad_nd":
        changed = [a for a in before if x.shape[a] != call.shape[a]]

        def condition(kernel, index):
            places = moved(kernel, index)
            return " && ".join(inside(kernel, grouped(kernel.place(places[a])), x.shape[a]) for a in sorted(changed))
        value = literal(call["value"] or 0, call.kind)
        return Chosen(call.shape, call.kind, [(condition, x, moved)], value, "pad") if changed else x

    def bounded(kernel, index):
        result = []
        for a, i in enumerate(moved(kernel, index)):
            if a in before:
                i, last = kernel.place(i), "%s - 1" % kernel.extent(x.shape[a])
                if call.name.startswith("replication"):
                    i = "%s < 0 ? 0 : %s > %s ? %s : %s" % (i, i, last, last, i)
                else:
                    i = "%s < 0 ? -%s : %s > %s ? 2 * (%s) - %s : %s" % (i, i, i, last, last, i, i)
                i = kernel.place("(%s)" % i)
            result.append(i)
        return result
    return Moved(call.shape, x, bounded, "pad", is_many=True)


@operator("embedding.default", "index_select.default", "gather.default")
def gathered(call):
    source = call.node("weight") or call.node("self")
    if call.name == "embedding":
        chosen = call.node("indices")
        return Gathered(call.shape, source, chosen, lambda i: i[:-1], lambda k, i, at: [at, i[-1]], call.name)
    chosen, axis = call.node("index"), call.axis("dim")
    picks = (lambda i: i) if call.name == "gather" else (lambda i: [i[axis]])
    return Gathered(call.shape, source, chosen, picks, lambda k, i, at: i[:axis] + [at] + i[axis + 1:], call.name)


@operator("upsample_nearest1d.default", "upsample_nearest2d.default", "upsample_nearest3d.default",
          "upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def upsampled(call):
    x = call.node("self") or call.node("input")

    def index(kernel, given):
        return [i if e == o else kernel.place("%s * %s / %s" % (grouped(i), kernel.extent(e), kernel.extent(o)))
                for i, e, o in zip(given, x.shape, call.shape)]
    return Moved(call.shape, x, index, call.name, is_many=True)


@operator("pixel_shuffle.default")
def pixel_shuffled(call):
    x, factor = call.node("self"), call["upscale_factor"]
    factor = factor if isinstance(factor, tuple) else call.all(factor)
    lead, (c, h, w) = x.shape[:-3], x.shape[-3:]
    out = tuple(a // f // f for a, f in zip(c, factor))
    split_up = view(x, list(lead) + [out, factor, factor, h, w])
    n = len(lead)
    return view(permute(split_up, list(range(n)) + [n, n + 3, n + 1, n + 4, n + 2]), call.shape)


# ---- reductions ----

def count_text(kernel, axes, node):
    return kernel.extent(product([node.shape[a] for a in axes], kernel.target.variants))


def divided_by(node, axes, whole, op, correction=0):
    """node over how many elements of `whole` lie along the axes."""
    extents = [whole.shape[a] for a in axes]
    kind = node.kind
    variants = len(whole.shape[0]) if whole.shape else 1
    count = tuple(c - correction for c in product(extents, variants))
    number = Generated([], kind, lambda k, i: "(%s)%s" % (kind, k.extent(count)), "")
    return pointwise([node, number], lambda a, b: "%s / %s" % (a, b), op, kind, 4)


@operator("sum.default", "sum.dim_IntList", "prod.default", "prod.dim_int", "amax.default", "amin.default", "max.default",
          "min.default", "any.default", "any.dim", "all.default", "all.dim", "any.dims", "all.dims", "nansum.default")
def reduced(call):
    x = call.node("self")
    fold = {"sum": "sum", "prod": "product", "amax": "max", "amin": "min", "max": "max", "min": "min", "any": "any",
            "all": "all"}.get(call.name)
    if fold is None:
        raise Unsupported(call.op)
    term = {"any": lambda v: "%s != 0" % v, "all": lambda v: "%s != 0" % v}.get(call.name)
    value_kind = call.kind if call.name in ("sum", "prod") else "bool" if term else x.kind
    return reduce(x, call.axes("dim", x), fold, bool(call["keepdim"]), call.name, term, call.kind, value_kind)


@operator("mean.default", "mean.dim")
def mean(call):
    x = call.node("self")
    axes = call.axes("dim", x)
    return divided_by(reduce(x, axes, "sum", bool(call["keepdim"]), "mean", None, call.kind, call.kind), axes, x, "mean")


@operator("max.dim", "min.dim")
def extreme(call):
    x, axis = call.node("self"), call.axis("dim")
    keep = bool(call["keepdim"])
    return (reduce(x, [axis], call.name, keep, call.name),
            reduce(x, [axis], "arg" + call.name, keep, "arg" + call.name, None, "long long", x.kind))


@operator("argmax.default", "argmin.default")
def extreme_place(call):
    x = call.node("self")
    return reduce(x, call.axes("dim", x), call.name, bool(call["keepdim"]), call.name, None, "long long", x.kind)


def centred_squares(x, axes, op):
    """Mean (kept axes) and the sum of squared distances from it."""
    mean_node = divided_by(reduce(x, axes, "sum", True, op + " mean"), axes, x, op + " mean")
    distance = pointwise([x, mean_node], lambda a, b: "%s - %s" % (a, b), "")
    return mean_node, reduce(distance, axes, "sum", True, op + " variance", lambda v: "%s * %s" % (v, v))


@operator("var.correction", "std.correction", "var_mean.correction", "std_mean.correction", "var.dim", "std.dim",
          "var.default", "std.default")
def variance(call):
    x = call.node("self")
    axes = call.axes("dim", x)
    correction = call["correction"]
    if correction is None:
        correction = 1 if call["unbiased"] in (None, True) else 0
    mean_node, squares = centred_squares(x, axes, call.name)
    result = divided_by(squares, axes, x, call.name, int(correction))
    if call.name.startswith("std"):
        result = pointwise([result], lambda v: fill("sqrt{f}({x})", call.kind, x=v), "std", call.kind, 4)
    result = view(result, call.shape)
    return (result, view(mean_node, call.outs[1][0])) if len(call.outs) > 1 else result


@operator("linalg_vector_norm.default", "norm.ScalarOpt_dim", "norm.Scalar", "norm.default", "norm.ScalarOpt_dim_dtype",
          "norm.ScalarOpt_dtype")
def vector_norm(call):
    x, kind = call.node("self"), call.kind
    p = call["ord"] if call.name == "linalg_vector_norm" else call["p"]
    p = 2 if p is None else p
    axes, keep = call.axes("dim", x), bool(call["keepdim"])
    if p == math.inf or p == -math.inf:
        return reduce(x, axes, "max" if p > 0 else "min", keep, "norm", lambda v: fill("fabs{f}({x})", kind, x=v))
    if p == 2:
        total = reduce(x, axes, "sum", keep, "norm", lambda v: "%s * %s" % (v, v))
        return pointwise([total], lambda v: fill("sqrt{f}({x})", kind, x=v), "norm", kind, 4)
    if p == 1:
        return reduce(x, axes, "sum", keep, "norm", lambda v: fill("fabs{f}({x})", kind, x=v))
    power_text = literal(p, kind)
    total = reduce(x, axes, "sum", keep, "norm", lambda v: fill("pow{f}(fabs{f}({x}), {p})", kind, x=v, p=power_text))
    return pointwise([total], lambda v: fill("pow{f}({x}, 1.0{f} / {p})", kind, x=v, p=power_text), "norm", kind, 20)


def log_sum_exp(x, axes, keep, op):
    kind = x.kind
    most = reduce(x, axes, "max", True, op + " max")
    distance = pointwise([x, most], lambda a, b: "%s - %s" % (a, b), "")
    total = reduce(distance, axes, "sum", True, op, lambda v: fill("exp{f}({x})", kind, x=v))
    result = pointwise([total, most], lambda s, m: fill("log{f}({s}) + {m}", kind, s=s, m=m), op, kind, 12)
    return result if keep else view(result, [e for a, e in enumerate(x.shape) if a not in axes])


@operator("logsumexp.default")
def logsumexp(call):
    x = call.node("self")
    return log_sum_exp(x, call.axes("dim", x), bool(call["keepdim"]), "logsumexp")


@operator("_softmax.default", "_safe_softmax.default", "softmax.int")
def softmax(call):
    x, kind = call.node("self"), call.kind
    return softmax_of(x, call.axis("dim"), kind)


def softmax_of(x, axis, kind):
    most = reduce(x, [axis], "max", True, "softmax max")
    risen = pointwise([x, most], lambda a, b: fill("exp{f}({a} - {b})", kind, a=a, b=b), "softmax exp", kind, 10)
    total = reduce(risen, [axis], "sum", True, "softmax sum")
    return pointwise([risen, total], lambda a, b: "%s / %s" % (a, b), "softmax", kind, 4)


@operator("_log_softmax.default", "log_softmax.int")
def log_softmax(call):
    x = call.node("self")
    total = log_sum_exp(x, [call.axis("dim")], True, "log_softmax")
    return pointwise([x, total], lambda a, b: "%s - %s" % (a, b), "log_softmax", call.kind)


@operator("cumsum.default", "cumprod.default")
def scanned(call):
    x = call.node("self")
    if not x.shape:
        return x
    if x.kind != call.kind:
        x = pointwise([x], lambda v: "(%s)%s" % (call.kind, v), "", call.kind, 0)
    return Scan(x, call.axis("dim"), "sum" if call.name == "cumsum" else "product", call.name)


# ---- losses ----

def averaged(call, node, reduction):
    """reduction: 0 none, 1 mean, 2 sum."""
    axes = list(range(len(node.shape)))
    if reduction == 0:
        return node
    total = reduce(node, axes, "sum", False, call.name)
    return total if reduction == 2 else divided_by(total, axes, node, call.name)


@operator("mse_loss.default", "l1_loss.default", "smooth_l1_loss.default", "huber_loss.default", "soft_margin_loss.default",
          "binary_cross_entropy.default")
def loss(call):
    x, y, kind = call.node("self"), call.node("target"), call.node("self").kind
    knee = literal(float(call["beta"] or call["delta"] or 1.0), kind)
    form, cost = {
        "mse_loss": ("({a} - {b}) * ({a} - {b})", 2), "l1_loss": ("fabs{f}({a} - {b})", 2),
        "smooth_l1_loss": ("fabs{f}({a} - {b}) < {k} ? 0.5{f} * ({a} - {b}) * ({a} - {b}) / {k} : "
                           "fabs{f}({a} - {b}) - 0.5{f} * {k}", 4),
        "huber_loss": ("fabs{f}({a} - {b}) <= {k} ? 0.5{f} * ({a} - {b}) * ({a} - {b}) : "
                       "{k} * (fabs{f}({a} - {b}) - 0.5{f} * {k})", 4),
        "soft_margin_loss": ("log1p{f}(exp{f}(-{a} * {b}))", 20),
        "binary_cross_entropy": ("-({b} * fmax{f}(log{f}({a}), -100.0{f}) + "
                                 "(1.0{f} - {b}) * fmax{f}(log1p{f}(-{a}), -100.0{f}))", 20),
    }[call.name]
    if call.name == "binary_cross_entropy" and call["weight"] is not None:
        raise Unsupported(call.op + " with weights")
    each = pointwise([x, y], lambda a, b: fill(form, kind, a=a, b=b, k=knee), call.name, kind, cost)
    return averaged(call, each, call["reduction"])


@operator("nll_loss_forward.default", "nll_loss2d_forward.default")
def nll_loss(call):
    x, target = call.node("self"), call.node("target")
    if call["weight"] is not None:
        raise Unsupported(call.op + " with weights")
    if len(x.shape) < 2:
        raise Unsupported(call.op + " of one row")
    # Targets that are to be ignored (-100 by default) are taken for absent, as inputs of a task never hold them.
    picked = Gathered(target.shape, x, target, lambda i: i, lambda k, i, at: [i[0], at] + i[1:], call.name)
    negative = pointwise([picked], lambda v: "-%s" % v, call.name, x.kind)
    return averaged(call, negative, call["reduction"]), None


# ---- products ----

def matmul(a, b, call, op):
    """Batches of matrices, [..., M, K] times [..., K, N]; the leading axes are equal."""
    lead, rows, depth, columns = list(a.shape[:-2]), a.shape[-2], a.shape[-1], b.shape[-1]

    def left(kernel, index, loops):
        return kernel.value(a, cut(a, index[:-1] + [loops(0)]))

    def right(kernel, index, loops):
        return kernel.value(b, cut(b, index[:-2] + [loops(0), index[-1]]))
    rank = len(lead)
    along = ("width" if is_turned(a) else "depth", "depth" if is_turned(b) else "width")
    return Product(lead + [rows, columns], a.kind, [a, b], [depth], left, right, [rank], [rank + 1], along, op)


def is_turned(node):
    """Whether the last two axes lie the other way round in memory."""
    return isinstance(node, Moved) and node.op == "permute"


@operator("mm.default", "bmm.default")
def mm(call):
    other = call.node("mat2") or call.node("other")
    return matmul(call.node("self"), other, call, call.name)


def scaled(call, node, factor):
    if factor == 1:
        return node
    number = call.number(factor, node.kind)
    return pointwise([number, node], lambda s, v: "%s * %s" % (s, v), call.name, node.kind)


@operator("addmm.default", "baddbmm.default", "addmv.default")
def addmm(call):
    names = {"addmm": ("mat1", "mat2"), "baddbmm": ("batch1", "batch2"), "addmv": ("mat", "vec")}[call.name]
    a, b = (call.node(n) for n in names)
    total = matrix_vector(a, b, call) if call.name == "addmv" else matmul(a, b, call, call.name)
    total = scaled(call, total, call["alpha"] if call["alpha"] is not None else 1)
    beta = call["beta"] if call["beta"] is not None else 1
    if beta == 0:
        return total
    added_node = scaled(call, call.node("self"), beta)
    return pointwise([total, added_node], lambda x, y: "%s + %s" % (x, y), call.name, call.kind)


def matrix_vector(a, b, call):
    def body(kernel, index, loops):
        k = loops(0)
        return "%s * %s" % (kernel.value(a, ["0" if is_one(a.shape[0]) else index[0], k]), kernel.value(b, [k]))
    return Fold([a.shape[0]], a.kind, [a, b], [a.shape[1]], body, "sum", call.name, rereads=False)


@operator("mv.default")
def mv(call):
    return matrix_vector(call.node("self"), call.node("vec"), call)


@operator("dot.default", "vdot.default")
def dot(call):
    a, b = call.node("self"), call.node("other") or call.node("tensor")
    together = pointwise([a, b], lambda x, y: "%s * %s" % (x, y), "dot")
    return reduce(together, [0], "sum", False, "dot")


@operator("_scaled_dot_product_flash_attention_for_cpu.default", "_scaled_dot_product_flash_attention.default",
          "_scaled_dot_product_efficient_attention.default", "_scaled_dot_product_fused_attention_overrideable.default",
          "_scaled_dot_product_attention_math.default", "_scaled_dot_product_cudnn_attention.default")
def attention(call):
    q, k, v = (call.node(n) for n in ("query", "key", "value"))
    if call["dropout_p"]:
        raise Unsupported("attention with dropout")
    depth = q.shape[-1]
    factor = call["scale"] if call["scale"] is not None else \
        (tuple(d ** -0.5 for d in depth) if len(set(depth)) > 1 else depth[0] ** -0.5)
    scores = matmul(q, permute(k, list(range(len(k.shape) - 2)) + [len(k.shape) - 1, len(k.shape) - 2]), call, "attention")
    scores = scaled(call, scores, factor)
    mask = call.node("attn_mask") or call.node("attn_bias")
    if mask is not None and mask.kind == "bool":
        scores = pointwise([mask, scores], lambda m, s: "%s ? %s : -INFINITE" % (m, s), "attention mask")
    elif mask is not None:
        scores = pointwise([scores, mask], lambda s, m: "%s + %s" % (s, m), "attention mask")
    if call["is_causal"]:
        seen = Generated(scores.shape, "bool", lambda kernel, i: "%s <= %s" % (i[-1], i[-2]), "causal")
        scores = pointwise([seen, scores], lambda m, s: "%s ? %s : -INFINITE" % (grouped(m), s), "causal mask",
                           scores.kind)
    weights = softmax_of(scores, len(scores.shape) - 1, scores.kind)
    return (matmul(weights, v, call, "attention"),) + (None,) * (len(call.outs) - 1)


# ---- convolutions and windows ----

def window_place(kernel, out, k, stride, pad, dilation):
    """Where tap k of the window of output `out` lies in the input."""
    text = out if all(s == 1 for s in stride) else \
        "0" if out == "0" else "%s * %s" % (grouped(out), kernel.extent(stride))
    tap = k if all(d == 1 for d in dilation) else "0" if k == "0" else "%s * %s" % (grouped(k), kernel.extent(dilation))
    if text == "0" and tap != "0":
        text = tap
    elif tap != "0":
        text = "%s + %s" % (text, tap)
    return kernel.place(shift(kernel, text, pad, "-"))


@operator("convolution.default", "_convolution.default", "convolution_overrideable.default", "mkldnn_convolution.default",
          "cudnn_convolution.default", "_convolution.deprecated", "conv1d.default", "conv2d.default", "conv3d.default")
def convolution(call):
    x, weight, bias = call.node("input") or call.node("self"), call.node("weight"), call.node("bias")
    rank = len(weight.shape) - 2
    if len(x.shape) != rank + 2:
        raise Unsupported(call.op + " without a batch axis")
    stride, pad, dilation = (call.extents(n, rank) for n in ("stride", "padding", "dilation"))
    groups = call["groups"] if isinstance(call["groups"], tuple) else call.all(call["groups"])
    make = transposed if call["transposed"] else direct
    node = make(call, x, weight, (stride, pad, dilation), groups)
    if bias is None:
        return node
    own = view(bias, [bias.shape[0]] + [call.all(1)] * rank)
    return pointwise([node, own], lambda a, b: "%s + %s" % (a, b), call.name, call.kind)


def direct(call, x, weight, windows, groups):
    stride, pad, dilation = windows
    rank = len(stride)
    out = tuple(c // g for c, g in zip(weight.shape[0], groups))  # output channels of a group

    def taps_of(loops):
        return ["0" if is_one(weight.shape[2 + a]) else loops(1 + a) for a in range(rank)]

    def left(kernel, index, loops):
        return kernel.value(weight, cut(weight, [index[1], loops(0)] + taps_of(loops)))

    def right(kernel, index, loops):
        channel = loops(0)
        places = []
        for a in range(rank):
            k = "0" if is_one(weight.shape[2 + a]) else loops(1 + a)
            at = window_place(kernel, index[2 + a], k, stride[a], pad[a], dilation[a])
            last = tuple((o - 1) * s - p + d * (w - 1) for o, s, p, d, w in
                         zip(call.shape[2 + a], stride[a], pad[a], dilation[a], weight.shape[2 + a]))
            low = any(p > 0 for p in pad[a])
            high = any(x_last >= e for x_last, e in zip(last, x.shape[2 + a]))
            if low or high:
                kernel.guard(" && ".join(([at + " >= 0"] if low else []) +
                                         (["%s < %s" % (at, kernel.extent(x.shape[2 + a]))] if high else [])))
            places.append(at)
        source = channel
        if not all(g == 1 for g in groups):
            of_group = kernel.place(index[1] if is_one(out) else "%s / %s" % (index[1], kernel.extent(out)))
            source = kernel.place(of_group if is_one(weight.shape[1]) else
                                  "%s * %s + %s" % (of_group, kernel.extent(weight.shape[1]), channel))
        return kernel.value(x, cut(x, [index[0], source] + places))
    return window_product(call, x, weight, [weight.shape[1]] + list(weight.shape[2:]), left, right, groups)


def window_product(call, x, weight, loops, left, right, groups):
    """Output channels are rows, places in the batch columns."""
    if all(g == 1 for g in groups):
        columns = [0] + list(range(2, len(call.shape)))
        return Product(call.shape, x.kind, [x, weight], loops, left, right, [1], columns, ("depth", "width"), call.name)

    def body(kernel, index, given):
        second = right(kernel, index, given)
        return "%s * %s" % (second, left(kernel, index, given))
    return Fold(call.shape, x.kind, [x, weight], loops, body, "sum", call.name, rereads=True)


def cut(node, index):
    return ["0" if is_one(e) else i for i, e in zip(index, node.shape)]


def transposed(call, x, weight, windows, groups):
    stride, pad, dilation = windows
    rank = len(stride)
    sources = tuple(c // g for c, g in zip(x.shape[1], groups))  # input channels of a group

    def source_of(kernel, index, channel):
        """The input channel and the output channel within its group."""
        if all(g == 1 for g in groups):
            return channel, index[1]
        width = kernel.extent(weight.shape[1])
        of_group = kernel.place(index[1] if is_one(weight.shape[1]) else "%s / %s" % (index[1], width))
        within = "0" if is_one(weight.shape[1]) else kernel.place("%s %% %s" % (index[1], width))
        return kernel.place(of_group if is_one(sources) else
                            "%s * %s + %s" % (of_group, kernel.extent(sources), channel)), within

    def left(kernel, index, loops):
        source, within = source_of(kernel, index, loops(0))
        taps = ["0" if is_one(weight.shape[2 + a]) else loops(1 + a) for a in range(rank)]
        return kernel.value(weight, cut(weight, [source, within] + taps))

    def right(kernel, index, loops):
        channel = loops(0)
        places = []
        for a in range(rank):
            k = "0" if is_one(weight.shape[2 + a]) else loops(1 + a)
            tap = "0" if k == "0" else grouped(k) if all(d == 1 for d in dilation[a]) else \
                "%s * %s" % (grouped(k), kernel.extent(dilation[a]))
            reach = kernel.place("%s%s" % (shift(kernel, index[2 + a], pad[a]), "" if tap == "0" else " - " + tap))
            at = reach
            condition = [reach + " >= 0"]
            if not all(s == 1 for s in stride[a]):
                condition.append("%s %% %s == 0" % (reach, kernel.extent(stride[a])))
                at = kernel.place("%s / %s" % (reach, kernel.extent(stride[a])))
            kernel.guard(" && ".join(condition + ["%s < %s" % (at, kernel.extent(x.shape[2 + a]))]))
            places.append(at)
        source, _ = source_of(kernel, index, channel)
        return kernel.value(x, cut(x, [index[0], source] + places))
    return window_product(call, x, weight, [sources] + list(weight.shape[2:]), left, right, groups)


def windows_of(call, rank):
    size = call.extents("kernel_size", rank)
    stride = call.extents("stride", rank) or size
    pad = call.extents("padding", rank)
    dilation = call.extents("dilation", rank) if call["dilation"] else [call.all(1)] * rank
    return size, stride, pad, dilation


def pool_rank(call):
    return int(call.name[call.name.index("pool") + 4])


@operator("max_pool1d_with_indices.default", "max_pool2d_with_indices.default", "max_pool3d_with_indices.default",
          "max_pool1d.default", "max_pool2d.default", "max_pool3d.default", "mkldnn_max_pool2d.default",
          "mkldnn_max_pool3d.default")
def max_pool(call):
    rank = pool_rank(call)
    node = windowed(call, call.node("self"), windows_of(call, rank), "max")
    return (node, None) if len(call.outs) > 1 else node


def windowed(call, x, windows, fold):
    size, stride, pad, dilation = windows
    rank = len(size)
    lead = len(call.shape) - rank

    def body(kernel, index, loops):
        places = []
        for a in range(rank):
            at = window_place(kernel, index[lead + a], loops(a), stride[a], pad[a], dilation[a])
            kernel.guard(inside(kernel, at, x.shape[lead + a]))
            places.append(at)
        return kernel.value(x, cut(x, index[:lead] + places))
    overlaps = any(s > t for size_a, stride_a in zip(size, stride) for s, t in zip(size_a, stride_a))
    return Fold(call.shape, x.kind, [x], size, body, fold, call.name, rereads=overlaps)


@operator("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def avg_pool(call):
    x, rank = call.node("self"), pool_rank(call)
    size, stride, pad, dilation = windows_of(call, rank)
    total = windowed(call, x, (size, stride, pad, dilation), "sum")
    lead, kind = len(call.shape) - rank, call.kind
    counts_pad = call["count_include_pad"] in (None, True)
    if call["divisor_override"]:
        number = call.number(call["divisor_override"], kind)
        return pointwise([total, number], lambda a, b: "%s / %s" % (a, b), call.name, kind, 4)
    if not call["ceil_mode"] and (counts_pad or all(p == 0 for axis in pad for p in axis)):
        count = product(size, call.variants)
        number = Generated([], kind, lambda k, i: number_text(k, count if len(set(count)) > 1 else count[0], kind), "")
        return pointwise([total, number], lambda a, b: "%s / %s" % (a, b), call.name, kind, 4)

    def share(kernel, index):
        """How many elements of the window count."""
        terms = []
        for a in range(rank):
            first = window_place(kernel, index[lead + a], "0", stride[a], pad[a], dilation[a])
            extent = kernel.extent(x.shape[lead + a])
            end = kernel.place(shift(kernel, first, size[a]))
            limit = extent if not counts_pad else kernel.place(shift(kernel, extent, pad[a]))
            low = first if counts_pad else "(%s < 0 ? 0 : %s)" % (first, first)
            terms.append("((%s < %s ? %s : %s) - %s)" % (end, limit, end, limit, low))
        return "(%s)(%s)" % (kind, " * ".join(terms))
    count = Generated(call.shape, kind, share, "")
    return pointwise([total, count], lambda a, b: "%s / %s" % (a, b), call.name, kind, 5)


@operator("_adaptive_avg_pool2d.default", "_adaptive_avg_pool3d.default", "adaptive_avg_pool1d.default",
          "adaptive_avg_pool2d.default", "adaptive_avg_pool3d.default", "adaptive_max_pool2d.default",
          "adaptive_max_pool3d.default", "adaptive_max_pool1d.default")
def adaptive_pool(call):
    """Where the windows do not overlap: the input's extents are multiples of the output's."""
    x, rank = call.node("self"), pool_rank(call)
    lead = len(call.shape) - rank
    size = []
    for have, want in zip(x.shape[lead:], call.shape[lead:]):
        if any(h % w for h, w in zip(have, want)):
            raise Unsupported(call.op + " with windows of several sizes")
        size.append(tuple(h // w for h, w in zip(have, want)))
    zero, one = [call.all(0)] * rank, [call.all(1)] * rank
    is_max = "max" in call.name
    node = windowed(call, x, (size, size, zero, one), "max" if is_max else "sum")
    if is_max:
        return (node, None) if len(call.outs) > 1 else node
    count, kind = product(size, call.variants), call.kind
    number = Generated([], kind, lambda k, i: "(%s)%s" % (kind, k.extent(count)), "")
    return pointwise([node, number], lambda a, b: "%s / %s" % (a, b), call.name, kind, 4)


# ---- norms ----

def normalised(call, x, axes, scale, shift_by, eps, op):
    """(x - mean) / sqrt(variance + eps), then times scale plus shift where there are any (already of x's rank)."""
    kind = x.kind
    mean_node, squares = centred_squares(x, axes, op)
    spread = divided_by(squares, axes, x, op + " variance")
    return affine(x, mean_node, spread, scale, shift_by, eps, op, kind)


def affine(x, mean_node, spread, scale, shift_by, eps, op, kind):
    inputs = [x, mean_node, spread] + [n for n in (scale, shift_by) if n is not None]
    limit = literal(float(eps), kind)

    def text(v, m, s, *rest):
        result = fill("({v} - {m}) / sqrt{f}({s} + {e})", kind, v=v, m=m, s=s, e=limit)
        rest = list(rest)
        if scale is not None:
            result = "%s * %s" % (result, rest.pop(0))
        if shift_by is not None:
            result = "%s + %s" % (result, rest.pop(0))
        return result
    return pointwise(inputs, text, op, kind, 8)


def per_channel(call, node, rank):
    return None if node is None else view(node, [node.shape[0]] + [call.all(1)] * (rank - 2))


@operator("native_batch_norm.default", "_native_batch_norm_legit.default", "_native_batch_norm_legit.no_stats",
          "_native_batch_norm_legit_functional.default", "cudnn_batch_norm.default", "_native_batch_norm_legit_no_training.default",
          "_batch_norm_with_update.default", "batch_norm.default", "_batch_norm_no_update.default")
def batch_norm(call):
    x = call.node("input")
    rank = len(x.shape)
    scale, bias = (per_channel(call, call.node(n), rank) for n in ("weight", "bias"))
    eps = call["eps"] if call["eps"] is not None else call["epsilon"]
    training = call["training"]
    if call.op.endswith("no_training.default") or "no_update" in call.op:
        training = False
    if "with_update" in call.op:
        training = True
    if training:
        node = normalised(call, x, [a for a in range(rank) if a != 1], scale, bias, eps, "batch_norm")
    else:
        mean_node, spread = (per_channel(call, call.node(n), rank) for n in ("running_mean", "running_var"))
        node = affine(x, mean_node, spread, scale, bias, eps, "batch_norm", x.kind)
    return (node,) + (None,) * (len(call.outs) - 1)


@operator("native_layer_norm.default", "layer_norm.default")
def layer_norm(call):
    x = call.node("input")
    axes = list(range(len(x.shape) - len(call["normalized_shape"]), len(x.shape)))
    node = normalised(call, x, axes, call.node("weight"), call.node("bias"), call["eps"], "layer_norm")
    return (node,) + (None,) * (len(call.outs) - 1)


@operator("native_group_norm.default", "group_norm.default")
def group_norm(call):
    x = call.node("input")
    groups = call["group"] if call["group"] is not None else call["num_groups"]
    groups = groups if isinstance(groups, tuple) else call.all(groups)
    channels = tuple(c // g for c, g in zip(x.shape[1], groups))
    parts = view(x, [x.shape[0], groups, channels, product(x.shape[2:], call.variants)])
    one = call.all(1)
    scale, bias = (None if call.node(n) is None else view(call.node(n), [groups, channels, one]) for n in ("weight", "bias"))
    node = normalised(call, parts, [2, 3], scale, bias, call["eps"], "group_norm")
    return (view(node, x.shape),) + (None,) * (len(call.outs) - 1)


@operator("_fused_rms_norm.default", "rms_norm.default")
def rms_norm(call):
    x, kind = call.node("input"), call.kind
    axes = list(range(len(x.shape) - len(call["normalized_shape"]), len(x.shape)))
    total = divided_by(reduce(x, axes, "sum", True, "rms_norm", lambda v: "%s * %s" % (v, v)), axes, x, "rms_norm")
    limit = literal(float(call["eps"] if call["eps"] is not None else 1.1920928955078125e-07), kind)
    node = pointwise([x, total], lambda v, s: fill("{v} / sqrt{f}({s} + {e})", kind, v=v, s=s, e=limit), "rms_norm", kind, 8)
    weight = call.node("weight")
    if weight is not None:
        node = pointwise([node, weight], lambda a, b: "%s * %s" % (a, b), "rms_norm", kind)
    return (node,) + (None,) * (len(call.outs) - 1)
