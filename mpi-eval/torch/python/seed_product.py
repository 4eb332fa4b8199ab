"""Products, convolutions and what looks through windows."""
from atoll.aten_graph import Unsupported
from atoll.seed_aten import cut, grouped, inside, number_text, operator, shift
from atoll.seed_node import Fold, Generated, Moved, Product, Spread, is_one, permute, pointwise, product, reduce, view
from atoll.seed_reduce import softmax_of

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
    columns = [0] + list(range(2, len(call.shape)))
    return window_product(call, x, weight, call.shape, columns, [weight.shape[1]] + list(weight.shape[2:]), left, right, groups)


def window_product(call, x, weight, shape, columns, loops, left, right, groups):
    """Output channels are rows, places in the batch columns."""
    if all(g == 1 for g in groups):
        return Product(shape, x.kind, [x, weight], loops, left, right, [1], columns, ("depth", "width"), call.name)

    def body(kernel, index, given):
        second = right(kernel, index, given)
        return "%s * %s" % (second, left(kernel, index, given))
    return Fold(shape, x.kind, [x, weight], loops, body, "sum", call.name, rereads=True)


class Transposed:
    """The factors of a transposed convolution.  Outputs that lie a stride apart have the same taps, every stride-th one, and none of these
    falls between two inputs: they make an axis of their own, which blocks do not share.  Of each axis of the windows: phases, the
    stride where that is so, or None; axes, where its places stand in an index; taps, how many a loop goes over."""

    def __init__(self, call, x, weight, windows, groups):
        self.x, self.weight, self.groups, (self.stride, self.pad, self.dilation) = x, weight, groups, windows
        self.sources = tuple(c // g for c, g in zip(x.shape[1], groups))  # input channels of a group
        self.phases = [s[0] if s[0] > 1 and len(set(s)) == 1 and all(each == 1 for each in d) else None
                       for s, d in zip(self.stride, self.dilation)]
        self.shape, self.axes, self.taps = list(call.shape[:2]), [], []
        for out, size, phase in zip(call.shape[2:], weight.shape[2:], self.phases):
            self.axes.append(len(self.shape))
            self.shape += [tuple(-(-e // phase) for e in out), call.all(phase)] if phase else [out]
            self.taps.append(tuple(-(-e // phase) for e in size) if phase else size)

    def channels(self, kernel, index, channel):
        """The input channel and the output channel within its group."""
        if all(g == 1 for g in self.groups):
            return channel, index[1]
        of_each = self.weight.shape[1]
        of_group = kernel.place(index[1] if is_one(of_each) else "%s / %s" % (index[1], kernel.extent(of_each)))
        within = "0" if is_one(of_each) else kernel.place("%s %% %s" % (index[1], kernel.extent(of_each)))
        return kernel.place(of_group if is_one(self.sources) else
                            "%s * %s + %s" % (of_group, kernel.extent(self.sources), channel)), within

    def tap_of(self, loops, a):
        return "0" if is_one(self.taps[a]) else loops(1 + a)

    def phased(self, kernel, index, k, a):
        """Tap and input of the k-th tap of a phase, and on what condition that is a tap."""
        step, size, at = self.phases[a], self.weight.shape[2 + a], self.axes[a]
        up = grouped(kernel.place(shift(kernel, index[at + 1], self.pad[a])))
        tap = kernel.place("%s %% %d%s" % (up, step, "" if k == "0" else " + %s * %d" % (grouped(k), step)))
        place = kernel.place("%s + %s / %d%s" % (index[at], up, step, "" if k == "0" else " - " + grouped(k)))
        return tap, place, ["%s < %s" % (tap, kernel.extent(size))] if any(e % step for e in size) else []

    def strided(self, kernel, index, k, a):
        """The input of tap k, and on what conditions it does not fall between two."""
        stride, dilation = self.stride[a], self.dilation[a]
        tap = k if k == "0" else grouped(k) if all(d == 1 for d in dilation) else "%s * %s" % (grouped(k), kernel.extent(dilation))
        at = kernel.place("%s%s" % (shift(kernel, index[self.axes[a]], self.pad[a]), "" if tap == "0" else " - " + tap))
        if all(s == 1 for s in stride):
            return at, [at + " >= 0"]
        return kernel.place("%s / %s" % (at, kernel.extent(stride))), [at + " >= 0", "%s %% %s == 0" % (at, kernel.extent(stride))]

    def left(self, kernel, index, loops):
        source, within = self.channels(kernel, index, loops(0))
        found, conditions = [self.tap_of(loops, a) for a in range(len(self.taps))], []
        for a, phase in enumerate(self.phases):
            if phase:
                found[a], _, condition = self.phased(kernel, index, found[a], a)
                conditions += condition
        if conditions:
            kernel.guard(" && ".join(conditions))
        return kernel.value(self.weight, cut(self.weight, [source, within] + found))

    def right(self, kernel, index, loops):
        channel = loops(0)
        places = []
        for a, phase in enumerate(self.phases):
            k = self.tap_of(loops, a)
            if phase:
                _, at, conditions = self.phased(kernel, index, k, a)
                conditions.append(at + " >= 0")
            else:
                at, conditions = self.strided(kernel, index, k, a)
            kernel.guard(" && ".join(conditions + ["%s < %s" % (at, kernel.extent(self.x.shape[2 + a]))]))
            places.append(at)
        source, _ = self.channels(kernel, index, channel)
        return kernel.value(self.x, cut(self.x, [index[0], source] + places))


def transposed(call, x, weight, windows, groups):
    of = Transposed(call, x, weight, windows, groups)
    node = window_product(call, x, weight, of.shape, [0] + of.axes, [of.sources] + of.taps, of.left, of.right, groups)
    if any(of.phases):
        node.spread = Spread(call.shape, node, [None, None] + of.phases)
    return node.spread or node


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
