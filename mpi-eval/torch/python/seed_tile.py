"""A kernel of a seed for a product of large factors: blocks of TILE x TILE threads keep slabs of both in shared memory, and each
thread computes PER x PER elements.  A plain way to do it, with what is worth tuning as parameters."""

from atoll.seed_node import Pointwise, Product, product

PARAMS = {"TILE": [16, 8, 32], "PER": [4, 8, 2, 1], "DEPTH": [16, 8, 32]}
REQUIRE = ["TILE * PER <= 128", "DEPTH * TILE * PER <= 4096"]
LEAST = 32            # extents from which it is worth it
GRID_LIMIT = 65535    # of the axes that rows and the rest lie on
LEAST_SPAN = 8        # of a block: TILE * PER at its least


def fits(root, fold, target, bench):
    """Whether the kernel of root may share this fold: the root's elements are the fold's, one by one."""
    if not isinstance(fold, Product) or target.language != "cuda" or fold.kind != "float":
        return False
    if target.names & set(PARAMS):
        return False
    rows, columns, depth = (product(e, target.variants) for e in extents(fold))
    rest = product([e for a, e in enumerate(fold.shape) if a not in fold.rows + fold.columns], target.variants)
    if min(rows[bench], columns[bench], depth[bench]) < LEAST or max(rest) > GRID_LIMIT or \
            max(rows) > GRID_LIMIT * LEAST_SPAN:
        return False
    node = root
    while node is not fold:
        inner = [n for n, _ in node.edges if n.buffer is None and holds(n, fold)]
        if not isinstance(node, Pointwise) or len(inner) != 1 or inner[0].shape != root.shape:
            return False
        node = inner[0]
    return True


def holds(node, fold):
    pending = [node]
    while pending:
        one = pending.pop()
        if one is fold:
            return True
        pending += [n for n, _ in one.edges if n.buffer is None]
    return False


def extents(fold):
    return [fold.shape[a] for a in fold.rows], [fold.shape[a] for a in fold.columns], fold.loops


def grid(fold, target):
    """Columns, rows, and what is left, as expressions of the plan."""
    rows, columns, _ = extents(fold)
    rest = [e for a, e in enumerate(fold.shape) if a not in fold.rows + fold.columns]
    return ["cdiv(%s, TILE * PER)" % target.count(columns), "cdiv(%s, TILE * PER)" % target.count(rows), target.count(rest)]


def write(kernel, root, fold):
    """The statements of the kernel."""
    variants = kernel.target.variants
    rows, columns, loops = extents(fold)
    height, width, depth = (kernel.extent(product(e, variants)) for e in (rows, columns, loops))
    kernel.coordinates = [None] * len(root.shape)
    rest = [a for a in range(len(fold.shape)) if a not in fold.rows + fold.columns]
    index = ["0"] * len(fold.shape)
    if any(e != (1,) * variants for e in (fold.shape[a] for a in rest)):
        kernel.line("const long long z = blockIdx.z;")
        put(kernel, index, rest, "z", fold)
    for side in ("left", "right"):
        kernel.line("__shared__ float %s[DEPTH][TILE * PER + 1];" % side)
    kernel.line("const long long first_row = (long long)blockIdx.y * (TILE * PER);")
    kernel.line("const long long first_column = (long long)blockIdx.x * (TILE * PER);")
    kernel.line("float sums[PER][PER] = {{0.0f}};")
    kernel.open("for (long long k0 = 0; k0 < %s; k0 += DEPTH) {" % depth)
    load(kernel, fold, index, "left", "row", height, depth)
    load(kernel, fold, index, "right", "column", width, depth)
    kernel.line("__syncthreads();")
    kernel.open("for (int k = 0; k < DEPTH; k++) {")
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < PER; p++) {")
    kernel.line("#pragma unroll")
    kernel.open("for (int q = 0; q < PER; q++) {")
    kernel.line("sums[p][q] += left[k][threadIdx.x / TILE + p * TILE] * right[k][threadIdx.x % TILE + q * TILE];")
    for _ in range(3):
        kernel.close()
    kernel.line("__syncthreads();")
    kernel.close()
    finish(kernel, root, fold, index, height, width)


def put(kernel, index, axes, flat, fold):
    """Sets the index along these axes from a flat one."""
    for axis, text in zip(axes, kernel.split(flat, [fold.shape[a] for a in axes])):
        index[axis] = text


def load(kernel, fold, index, side, word, width, depth):
    """A slab of one factor into shared memory, zeros where there is none; neighbours in memory by neighbouring threads."""
    along, axes, value = (fold.left_along, fold.rows, fold.left) if side == "left" else \
        (fold.right_along, fold.columns, fold.right)
    fast, slow = ("e % DEPTH", "e / DEPTH") if along == "depth" else ("e / (TILE * PER)", "e % (TILE * PER)")
    start = kernel.depth
    kernel.open("for (int e = threadIdx.x; e < DEPTH * TILE * PER; e += TILE * TILE) {")
    kernel.line("const long long k = k0 + %s, %s = first_%s + %s;" % (fast, word, word, slow))
    kernel.line("%s[%s][%s] = 0.0f;" % (side, fast, slow))
    kernel.guard("k < %s && %s < %s" % (depth, word, width))
    own = list(index)
    put(kernel, own, axes, word, fold)
    places = kernel.split("k", fold.loops)
    text = value(kernel, own, lambda position: places[position])
    kernel.line("%s[%s][%s] = %s;" % (side, fast, slow, text))
    while kernel.depth > start:
        kernel.close()


def finish(kernel, root, fold, index, height, width):
    """What follows the product, element by element."""
    start = kernel.depth
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < PER; p++) {")
    kernel.line("#pragma unroll")
    kernel.open("for (int q = 0; q < PER; q++) {")
    kernel.line("const long long row = first_row + threadIdx.x / TILE + p * TILE;")
    kernel.line("const long long column = first_column + threadIdx.x % TILE + q * TILE;")
    kernel.guard("row < %s && column < %s" % (height, width))
    own = list(index)
    put(kernel, own, fold.rows, "row", fold)
    put(kernel, own, fold.columns, "column", fold)
    if fold.op and fold.op not in kernel.ops:
        kernel.ops.append(fold.op)
    kernel.scopes[-1][(fold.number, tuple(own))] = "sums[p][q]"
    value = kernel.value(root, own)
    buffer = root.buffer
    kernel.line("%s[%s] = %s;" % (buffer.c_name, kernel.flat(own, root.shape), kernel.target.store(value, buffer.dtype)))
    while kernel.depth > start:
        kernel.close()
