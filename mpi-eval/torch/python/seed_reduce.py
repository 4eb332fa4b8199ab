"""Operators that fold axes: reductions, norms, softmax, scans, losses."""
import math

from atoll.aten_graph import Unsupported
from atoll.seed_aten import fill, literal, operator
from atoll.seed_node import Gathered, Generated, Scan, pointwise, product, reduce, view

# ---- reductions ----

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
