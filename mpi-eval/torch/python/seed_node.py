"""The values of a seed while it is made: nodes with a shape, and how an element of each is computed from its index.

An extent is a tuple with one integer per variant.  A node is computed where it is read, or once into memory, as seed.py
decides; `emit(kernel, index)` writes what computes one element into a kernel (seed_kernel.py) and returns the C expression.
An index is a list of C expressions, one per axis.
"""

from atoll.aten_graph import Unsupported

SAME, BROADCAST, MOVED, LOOP, LOOP_MANY = "same", "broadcast", "moved", "loop", "loop many"
CHEAP = 4  # operations that are rather done again than stored

KINDS = {"float32": "float", "float16": "float", "bfloat16": "float", "float64": "double", "bool": "bool",
         "int64": "long long", "int32": "long long", "int16": "long long", "int8": "long long", "uint8": "long long"}


def kind_of(dtype):
    if dtype not in KINDS:
        raise Unsupported("values of type %s" % dtype)
    return KINDS[dtype]


def product(extents, variants):
    result = [1] * variants
    for extent in extents:
        result = [r * e for r, e in zip(result, extent)]
    return tuple(result)


def is_one(extent):
    return all(e == 1 for e in extent)


class Node:
    """edges: (node, how this one reads it)."""

    cost = 0
    serial = 0

    def __init__(self, shape, kind, edges, op):
        self.shape, self.kind, self.edges, self.op = tuple(tuple(e) for e in shape), kind, edges, op
        Node.serial += 1
        self.number = Node.serial
        self.buffer = None  # where it is kept, when it is

    def emit(self, kernel, index):
        raise NotImplementedError


class Source(Node):
    """A tensor of the task, or a part of one from `offset` on."""

    def __init__(self, shape, dtype, tensor, offset):
        super().__init__(shape, kind_of(dtype), [], "")
        self.tensor, self.dtype, self.offset = tensor, dtype, offset


class Generated(Node):
    """Computed from the index alone: numbers, ranges, masks."""

    def __init__(self, shape, kind, text, op):
        super().__init__(shape, kind, [], op)
        self.text = text

    def emit(self, kernel, index):
        return self.text(kernel, index)


class Pointwise(Node):
    """text: of the inputs' C expressions makes one; with `guards`, of kernel and them."""

    def __init__(self, shape, kind, inputs, text, op, cost=1):
        edges = []
        for i in inputs:
            same = len(i.shape) == len(shape) and all(a == tuple(b) for a, b in zip(i.shape, shape))
            edges.append((i, SAME if same else BROADCAST))
        super().__init__(shape, kind, edges, op)
        self.text, self.cost = text, cost

    def emit(self, kernel, index):
        values = []
        for node, _ in self.edges:
            own = index[len(index) - len(node.shape):] if node.shape else []
            values.append(kernel.value(node, ["0" if is_one(e) else i for i, e in zip(own, node.shape)]))
        return kernel.let(self.kind, self.text(*values), self.op)


class Moved(Node):
    """The same elements elsewhere: permuted, sliced, expanded, turned."""

    def __init__(self, shape, source, index, op, is_many=False):
        super().__init__(shape, source.kind, [(source, BROADCAST if is_many else MOVED)], op)
        self.index = index

    def emit(self, kernel, index):
        source = self.edges[0][0]
        moved = self.index(kernel, index)
        return kernel.value(source, ["0" if is_one(e) else i for i, e in zip(moved, source.shape)])


class Viewed(Node):
    """The same elements in the same order, in another shape."""

    def __init__(self, shape, source):
        while isinstance(source, Viewed):
            source = source.edges[0][0]
        super().__init__(shape, source.kind, [(source, MOVED)], "view")

    def emit(self, kernel, index):
        source = self.edges[0][0]
        if source.buffer is not None:
            return kernel.load(source, kernel.flat(index, self.shape))
        return kernel.value(source, kernel.reshape_index(index, self.shape, source.shape))


class Spread(Node):
    """The elements of a source in which an axis is two, of elements that lie steps[axis] apart and of where they begin, for each axis that
    has a step.  The last ones of the source may lie beyond the axis."""

    def __init__(self, shape, source, steps):
        super().__init__(shape, source.kind, [(source, MOVED)], "view")
        self.steps = steps

    def emit(self, kernel, index):
        found, source = [], self.edges[0][0]
        for i, step in zip(index, self.steps):
            found += kernel.split(i, source.shape[len(found):len(found) + 2]) if step else [i]
        return kernel.value(source, found)

    def place_of(self, kernel, found):
        """The index here of the source's element, and on what conditions there is one."""
        index, conditions, shape = [], [], self.edges[0][0].shape
        for extent, step in zip(self.shape, self.steps):
            width = 2 if step else 1
            index.append(kernel.place(kernel.flat(found[:width], shape[:width], False)))
            found, shape = found[width:], shape[width:]
            if step and any(e % step for e in extent):
                conditions.append("%s < %s" % (index[-1], kernel.extent(extent)))
        return index, conditions


class Chosen(Node):
    """cases: (condition(kernel, index), node, index(kernel, index)); `otherwise` where none holds."""

    cost = 1

    def __init__(self, shape, kind, cases, otherwise, op):
        super().__init__(shape, kind, [(node, MOVED) for _, node, _ in cases], op)
        self.cases, self.otherwise = cases, otherwise

    def emit(self, kernel, index):
        name = kernel.variable(self.kind, self.otherwise, self.op)
        for position, (condition, node, moved) in enumerate(self.cases):
            kernel.open("%sif (%s) {" % ("} else " if position else "", condition(kernel, index)))
            inner = ["0" if is_one(e) else i for i, e in zip(moved(kernel, index), node.shape)]
            kernel.line("%s = %s;" % (name, kernel.value(node, inner)))
            kernel.leave()
        kernel.line("}")
        return name


class Gathered(Node):
    """Elements of source whose index along `axis` is a value of `chosen`."""

    cost = 2

    def __init__(self, shape, source, chosen, chosen_index, source_index, op):
        super().__init__(shape, source.kind, [(chosen, MOVED), (source, BROADCAST)], op)
        self.chosen_index, self.source_index = chosen_index, source_index

    def emit(self, kernel, index):
        (chosen, _), (source, _) = self.edges
        at = kernel.value(chosen, ["0" if is_one(e) else i for i, e in zip(self.chosen_index(index), chosen.shape)])
        inner = self.source_index(kernel, index, at)
        return kernel.value(source, ["0" if is_one(e) else i for i, e in zip(inner, source.shape)])


class Fold(Node):
    """Sums, products, extremes over loops.  loops: extents; body(kernel, index, loops) gives the term, having opened what
    guards it; loops(i) is the index of loop i.  rereads: every element of an input is read by several elements of this."""

    cost = 100
    NEUTRAL = {"sum": "0", "product": "1", "max": "-INFINITE", "min": "INFINITE", "argmax": "-INFINITE",
               "argmin": "INFINITE", "any": "0", "all": "1"}

    def __init__(self, shape, kind, inputs, loops, body, fold, op, rereads=False, value_kind=None, is_ragged=False):
        super().__init__(shape, kind, [(i, LOOP_MANY if rereads else LOOP) for i in inputs], op)
        self.loops, self.body, self.fold, self.is_ragged = [tuple(x) for x in loops], body, fold, is_ragged
        self.value_kind = value_kind or kind
        self.parts = None  # (number) blocks share the loops, and this is what each of them found
        self.spread = None  # the Spread that alone reads it, where there is one

    def emit(self, kernel, index):
        return kernel.fold(self, index)


class Product(Fold):
    """A sum of products whose factors depend on different axes of the result, so that blocks can share them: `left` on rows,
    `right` on columns (lists of axes), both on the other axes; left and right as body.  left_along, right_along: "depth" where
    the factor's neighbours in memory are terms, else "width"."""

    def __init__(self, shape, kind, inputs, loops, left, right, rows, columns, along, op):
        def body(kernel, index, given):
            second = right(kernel, index, given)
            return "%s * %s" % (left(kernel, index, given), second)
        super().__init__(shape, kind, inputs, loops, body, "sum", op, rereads=True)
        self.left, self.right, self.rows, self.columns = left, right, rows, columns
        self.left_along, self.right_along = along


class Scan(Node):
    """Running sums or products along an axis; always kept in memory (seed_scan.py)."""

    cost = 100

    def __init__(self, source, axis, fold, op):
        super().__init__(source.shape, source.kind, [(source, LOOP)], op)
        self.axis, self.fold = axis, fold


# ---- what operators are composed of ----

def broadcast_shape(nodes):
    rank = max(len(n.shape) for n in nodes)
    shape = []
    for axis in range(rank):
        extents = [n.shape[axis - rank + len(n.shape)] for n in nodes if axis - rank + len(n.shape) >= 0]
        shape.append(next((e for e in extents if not is_one(e)), extents[0]))
    return shape


def pointwise(inputs, text, op, kind=None, cost=1):
    kind = kind or ("double" if any(i.kind == "double" for i in inputs) else
                    "float" if any(i.kind == "float" for i in inputs) else inputs[0].kind)
    return Pointwise(broadcast_shape(inputs), kind, inputs, text, op, cost)


def permute(node, axes, op="permute"):
    if list(axes) == list(range(len(axes))):
        return node
    back = [axes.index(a) for a in range(len(axes))]
    return Moved([node.shape[a] for a in axes], node, lambda k, index: [index[b] for b in back], op)


def view(node, shape):
    shape = tuple(tuple(e) for e in shape)
    return node if shape == node.shape else Viewed(shape, node)


def expand(node, shape):
    shape = tuple(tuple(e) for e in shape)
    if shape == node.shape:
        return node
    lead = len(shape) - len(node.shape)
    return Moved(shape, node, lambda k, index: index[lead:], "expand", is_many=True)


def reduce(node, axes, fold, keep, op, term=None, kind=None, value_kind=None):
    """Over axes; term: of the C expression of an element makes what is folded."""
    axes = sorted(axes)
    kept = [a for a in range(len(node.shape)) if a not in axes]
    shape = [((1,) * len(node.shape[0]) if a in axes else node.shape[a])
             for a in range(len(node.shape)) if keep or a in kept] if node.shape else []

    def body(kernel, index, loops):
        places = iter(range(len(axes)))
        outer = iter(index)
        inner = []
        for a in range(len(node.shape)):
            if a in axes:
                inner.append(loops(next(places)))
                if keep:
                    next(outer)
            else:
                inner.append(next(outer))
        value = kernel.value(node, ["0" if is_one(e) else i for i, e in zip(inner, node.shape)])
        return term(value) if term else value

    if not axes:
        return pointwise([node], term or (lambda v: v), op, kind)
    return Fold(shape, kind or node.kind, [node], [node.shape[a] for a in axes], body, fold, op,
                value_kind=value_kind or node.kind)
