"""Operators of one element at a time, and those that make numbers from nothing."""
from atoll.aten_graph import Unsupported
from atoll.seed_aten import OPERATORS, fill, literal, number_text, operator
from atoll.seed_node import Generated, expand, pointwise

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
