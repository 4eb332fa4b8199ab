"""A kernel of a seed for a product of large factors: blocks of TILE x TILE threads keep slabs of both in shared memory, and each
thread computes PER x PER elements.  A plain way to do it, with what is worth tuning as parameters.  STAGED: the next slab is on its way to
registers while this one is multiplied, and a thread's elements lie in fours, which it reads at once."""

from atoll import seed_kernel
from atoll.seed_node import Pointwise, Product, product

PARAMS = {"TILE": [16, 8, 32], "PER": [4, 8, 2, 1], "DEPTH": [16, 8, 32], "STAGED": [0, 1]}
REQUIRE = ["TILE * PER <= 128", "DEPTH * TILE * PER <= 4096", "STAGED == 0 || PER % 4 == 0"]
LEAST = 32            # rows and columns from which it is worth it ...
LEAST_SIDE = 8        # ... or may be, which TILED says ...
LEAST_DEPTH = 32      # ... and terms
GRID_LIMIT = 65535    # of the axes that rows and the rest lie on
LEAST_SPAN = 8        # of a block: TILE * PER at its least
PIECE = 16            # slabs that are summed on their own where the sums are long


def fits(root, fold, target, bench, least_side):
    """Whether the kernel of root may share this fold: the root's elements are the fold's, one by one."""
    if not isinstance(fold, Product) or target.language != "cuda" or fold.kind != "float":
        return False
    if target.names & set(PARAMS):
        return False
    rows, columns, depth = (product(e, target.variants) for e in extents(fold))
    rest = product([e for a, e in enumerate(fold.shape) if a not in fold.rows + fold.columns], target.variants)
    if min(rows[bench], columns[bench]) < least_side or depth[bench] < LEAST_DEPTH or max(rest) > GRID_LIMIT or \
            max(rows) > GRID_LIMIT * LEAST_SPAN:
        return False
    return are_one_by_one(root, fold)


def are_one_by_one(root, fold):
    """Whether the root's elements are the fold's, and computed of them alone and of what is not on the way to it."""
    pending, seen = [root], {fold.number}
    while pending:
        node = pending.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        inner = [n for n, _ in node.edges if n.buffer is None and holds(n, fold)]
        if not isinstance(node, Pointwise) or any(n.shape != root.shape for n in inner):
            return False
        pending += inner
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


def is_long(fold, variants):
    """Whether the sums are made of pieces."""
    return max(product(fold.loops, variants)) > seed_kernel.PIECE


def launch_bounds(fold, target):
    """With pieces an element takes two registers.  So many blocks have room as without: what then has no register is the totals.  STAGED needs
    fewer blocks beside each other, and has registers for both."""
    return "TILE * TILE" + (", (STAGED ? (PER > 4 ? 256 : 512) : PER > 4 ? 512 : 1024) / (TILE * TILE)" if is_long(fold, target.variants) else "")


def either(fold, target, count):
    """Of a launch that has threads for `count` elements or, TILED, tiles: its grid and its block."""
    tiles = grid(fold, target)
    plain = ["cdiv(%s, %s)" % (count, target.block), "1", "1"]
    return ["TILED * (%s) + (1 - TILED) * %s" % pair for pair in zip(tiles, plain)], \
        ["TILED * TILE * TILE + (1 - TILED) * %s" % target.block]


def write(kernel, root, fold):
    """The statements of the kernel."""
    variants = kernel.target.variants
    rows, columns, loops = extents(fold)
    height, width, depth = (kernel.extent(product(e, variants)) for e in (rows, columns, loops))
    kernel.coordinates = [None] * len(root.shape)
    rest = [a for a in range(len(fold.shape)) if a not in fold.rows + fold.columns]
    index = ["0"] * len(fold.shape)
    if any(e != (1,) * variants for e in (fold.shape[a] for a in rest)):
        kernel.line("const index_t z = blockIdx.z;")
        put(kernel, index, rest, "z", fold)
    kernel.line("const index_t first_row = (index_t)blockIdx.y * (TILE * PER);")
    kernel.line("const index_t first_column = (index_t)blockIdx.x * (TILE * PER);")
    kernel.line("float sums[PER][PER] = {{0.0f}};")
    kernel.line("#if STAGED")
    staged(kernel, fold, index, (height, width, depth))
    kernel.line("#else")
    plain(kernel, fold, index, (height, width, depth))
    kernel.line("#endif")
    finish(kernel, root, fold, index, height, width)


def plain(kernel, fold, index, extent):
    """Slab after slab: fetched, multiplied."""
    height, width, depth = extent
    for side in ("left", "right"):
        kernel.line("__shared__ float %s[DEPTH][TILE * PER + 1];" % side)
    in_pieces = is_long(fold, kernel.target.variants)
    if in_pieces:
        kernel.open("for (index_t start = 0; start < %s; start += %d * DEPTH) {" % (depth, PIECE))
        kernel.line("float parts[PER][PER] = {{0.0f}};")
        kernel.open("for (index_t k0 = start; k0 < %s && k0 < start + %d * DEPTH; k0 += DEPTH) {" % (depth, PIECE))
    else:
        kernel.open("for (index_t k0 = 0; k0 < %s; k0 += DEPTH) {" % depth)
    for side, word, across in (("left", "row", height), ("right", "column", width)):
        fast, slow = places(fold, side)
        kernel.open("for (int e = threadIdx.x; e < DEPTH * TILE * PER; e += TILE * TILE) {")
        load(kernel, fold, index, side, word, (across, depth), "k0", "%s[%s][%s]" % (side, fast, slow))
    kernel.line("__syncthreads();")
    kernel.open("for (int k = 0; k < DEPTH; k++) {")
    open_own(kernel)
    kernel.line("%s[p][q] += left[k][threadIdx.x / TILE + p * TILE] * right[k][threadIdx.x %% TILE + q * TILE];" %
                ("parts" if in_pieces else "sums"))
    for _ in range(3):
        kernel.close()
    kernel.line("__syncthreads();")
    kernel.close()
    if in_pieces:
        add_parts(kernel)
        kernel.close()


def staged(kernel, fold, index, extent):
    """A step puts the slab that is in registers into shared memory, fetches the next one, and multiplies; the first step only fetches."""
    height, width, depth = extent
    in_pieces = is_long(fold, kernel.target.variants)
    kernel.line("constexpr int count = (DEPTH * PER + TILE - 1) / TILE; // of a slab, for a thread")
    for side in ("left", "right"):
        kernel.line("alignas(16) __shared__ float %s[DEPTH][TILE * PER + 4];" % side)
        kernel.line("float next_%s[count];" % side)
    if in_pieces:
        kernel.line("float parts[PER][PER] = {{0.0f}};")
        kernel.line("int slab = 0;")
    kernel.open("for (index_t k0 = -DEPTH; k0 < %s; k0 += DEPTH) {" % depth)
    kernel.open("if (k0 >= 0) {")
    for side in ("left", "right"):
        fast, slow = places(fold, side)
        open_count(kernel)
        kernel.line("%s[%s][%s] = next_%s[i];" % (side, fast, slow, side))
        kernel.close()
        kernel.close()
    kernel.line("__syncthreads();")
    kernel.close()
    for side, word, across in (("left", "row", height), ("right", "column", width)):
        open_count(kernel)
        load(kernel, fold, index, side, word, (across, depth), "k0 + DEPTH", "next_%s[i]" % side)
        kernel.close()
    kernel.open("if (k0 >= 0) {")
    kernel.open("for (int k = 0; k < DEPTH; k++) {")
    kernel.line("float of_row[PER], of_column[PER];")
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < PER; p++) {")
    kernel.line("of_row[p] = left[k][%s];" % own_place("threadIdx.x / TILE", "p"))
    kernel.line("of_column[p] = right[k][%s];" % own_place("threadIdx.x % TILE", "p"))
    kernel.close()
    open_own(kernel)
    kernel.line("%s[p][q] += of_row[p] * of_column[q];" % ("parts" if in_pieces else "sums"))
    for _ in range(3):
        kernel.close()
    kernel.line("__syncthreads();")
    if in_pieces:
        kernel.open("if (++slab %% %d == 0 || k0 + DEPTH >= %s) {" % (PIECE, depth))
        add_parts(kernel, "parts[p][q] = 0.0f;")
        kernel.close()
    kernel.close()
    kernel.close()


def own_place(thread, number):
    """Of a thread's elements along a side, in fours."""
    return "%s / 4 * (4 * TILE) + %s * 4 + %s %% 4" % (number, thread, number)


def open_count(kernel):
    """A loop over a thread's elements of a slab; two are opened."""
    kernel.line("#pragma unroll")
    kernel.open("for (int i = 0; i < count; i++) {")
    kernel.line("const int e = threadIdx.x + i * (TILE * TILE);")
    kernel.open("if (e < DEPTH * TILE * PER) {")


def add_parts(kernel, then=None):
    open_own(kernel)
    kernel.line("sums[p][q] += parts[p][q];")
    if then:
        kernel.line(then)
    kernel.close()
    kernel.close()


def open_own(kernel):
    """Loops over the elements of a thread."""
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < PER; p++) {")
    kernel.line("#pragma unroll")
    kernel.open("for (int q = 0; q < PER; q++) {")


def put(kernel, index, axes, flat, fold):
    """Sets the index along these axes from a flat one."""
    for axis, text in zip(axes, kernel.split(flat, [fold.shape[a] for a in axes])):
        index[axis] = text


def places(fold, side):
    """Of element e of a slab: its term and its place across, neighbours in memory by neighbouring threads."""
    along = fold.left_along if side == "left" else fold.right_along
    return ("e % DEPTH", "e / DEPTH") if along == "depth" else ("e / (TILE * PER)", "e % (TILE * PER)")


def load(kernel, fold, index, side, word, extent, begin, target):
    """Element e of a slab of one factor, zero where there is none, into target; closes the loop that it stands in."""
    axes, value = (fold.rows, fold.left) if side == "left" else (fold.columns, fold.right)
    fast, slow = places(fold, side)
    start = kernel.depth - 1
    kernel.line("const index_t k = %s + %s, %s = first_%s + %s;" % (begin, fast, word, word, slow))
    kernel.line("%s = 0.0f;" % target)
    kernel.guard("k < %s && %s < %s" % (extent[1], word, extent[0]))
    own = list(index)
    put(kernel, own, axes, word, fold)
    terms = kernel.split("k", fold.loops)
    text = value(kernel, own, lambda position: terms[position])
    kernel.line("%s = %s;" % (target, text))
    while kernel.depth > start:
        kernel.close()


def finish(kernel, root, fold, index, height, width):
    """What follows the product, element by element."""
    start = kernel.depth
    open_own(kernel)
    for word, thread, number in (("row", "threadIdx.x / TILE", "p"), ("column", "threadIdx.x % TILE", "q")):
        kernel.line("const index_t %s = first_%s + (STAGED ? %s : %s + %s * TILE);" % (word, word, own_place(thread, number), thread, number))
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
