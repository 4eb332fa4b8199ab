"""Operators whose results are the same elements elsewhere."""
from atoll.aten_graph import Unsupported
from atoll.seed_aten import grouped, inside, literal, operator, shift
from atoll.seed_node import Chosen, Gathered, Generated, Moved, expand, is_one, permute, pointwise, view

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
    return joined(call.shape, call.kind, nodes, axis, call.name)


def joined(shape, kind, nodes, axis, op):
    cases, start = [], (0,) * len(shape[axis])
    for node in nodes:
        end = tuple(s + e for s, e in zip(start, node.shape[axis]))

        def condition(kernel, index, end=end):
            return "%s < %s" % (index[axis], kernel.extent(end))

        def moved(kernel, index, start=start):
            return index[:axis] + [shift(kernel, index[axis], start, "-")] + index[axis + 1:]
        cases.append((condition, node, moved))
        start = end
    return Chosen(shape, kind, cases, "0", op)


@operator("stack.default")
def stacked(call):
    axis = call.axis("dim", len(call.shape)) if call["dim"] is not None else 0
    one = call.all(1)
    nodes = [view(n, list(n.shape[:axis]) + [one] + list(n.shape[axis:])) for n in call.nodes("tensors")]
    return joined(call.shape, call.kind, nodes, axis, call.name)


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
