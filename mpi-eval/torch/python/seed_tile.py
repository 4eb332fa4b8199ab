"""A kernel of a seed for a product of large factors: blocks of TILE x TILE threads keep slabs of both in shared memory, and each
thread computes PER x PER elements.  A plain way to do it, with what is worth tuning as parameters.  STAGED: the next slab is on its way to
registers while this one is multiplied, and a thread's elements lie in fours, which it reads at once."""

from atoll.seed_node import Pointwise, Product, is_one, product

PARAMS = {"TILE": [16, 8, 32], "PER": [8, 4, 2, 1], "DEPTH": [8, 16, 32], "STAGED": [1, 0]}  # the first of each: fastest on an H200
REQUIRE = ["TILE * PER <= 128", "DEPTH * TILE * PER <= 4096",
           "STAGED == 0 || (PER % 4 == 0 && TILE % PER == 0 && TILE * TILE % DEPTH == 0 && DEPTH * PER % TILE == 0)"]
LEAST = 32            # rows and columns from which it is worth it ...
LEAST_SIDE = 8        # ... or may be, which TILED says ...
LEAST_DEPTH = 32      # ... and terms
GRID_LIMIT = 65535    # of the axes that rows and the rest lie on
LEAST_SPAN = 8        # of a block: TILE * PER at its least
# So many blocks of a multiprocessor leave registers to what a thread keeps: PER x PER sums and its share of a slab.
BOUNDS = "TILE * TILE, (PER > 4 ? 512 : 1024) / (STAGED && DEPTH > TILE ? 2 : 1) / (TILE * TILE)"
PIECE = 16            # slabs that are summed on their own
ONE_LEVEL = 1024      # terms up to which staged sums do without: 8192 were 1.2 times beyond the tolerance below a softmax or a batch norm


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
    """Whether the root's elements are the fold's, or where that is spread, and computed of them alone and of what is not on the way to it."""
    pending, seen = [root], {fold.number}
    while pending:
        node = pending.pop()
        if node.number in seen:
            continue
        seen.add(node.number)
        if node is fold.spread and node.shape == root.shape:
            continue
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
    kernel.coordinates, kernel.own = [None] * len(root.shape), None
    rest = [a for a in range(len(fold.shape)) if a not in fold.rows + fold.columns]
    index = ["0"] * len(fold.shape)
    if any(e != (1,) * variants for e in (fold.shape[a] for a in rest)):
        kernel.line("const index_t z = blockIdx.z;")
        put(kernel, index, rest, "z", fold)
    kernel.line("const index_t first_row = (index_t)blockIdx.y * (TILE * PER);")
    kernel.line("const index_t first_column = (index_t)blockIdx.x * (TILE * PER);")
    kernel.line("float sums[PER][PER] = {{0.0f}};")
    for condition, form in (("#if STAGED", staged), ("#else", plain)):
        kernel.line(condition)
        kernel.scopes.append({})  # what one form has named, the other one has not
        form(kernel, fold, index, (height, width, depth))
        kernel.scopes.pop()
        kernel.own = None
    kernel.line("#endif")
    finish(kernel, root, fold, index, height, width)


def plain(kernel, fold, index, extent):
    """Slab after slab: fetched, multiplied."""
    height, width, depth = extent
    kernel.line("const int own_row = threadIdx.x / TILE, own_column = threadIdx.x % TILE;")
    for side in ("left", "right"):
        kernel.line("__shared__ float %s[DEPTH][TILE * PER + 1];" % side)
    outer = kernel.depth
    kernel.open("for (index_t start = 0; start < %s; start += %d * DEPTH) {" % (depth, PIECE))
    kernel.line("float parts[PER][PER] = {{0.0f}};")
    kernel.open("for (index_t k0 = start; k0 < %s && k0 < start + %d * DEPTH; k0 += DEPTH) {" % (depth, PIECE))
    inner = kernel.depth
    for side, word, across in (("left", "row", height), ("right", "column", width)):
        (term, place), start = in_slab(fold, side), kernel.depth
        kernel.open("for (int e = threadIdx.x; e < DEPTH * TILE * PER; e += TILE * TILE) {")
        kernel.line("const index_t k = k0 + %s, %s = first_%s + %s;" % (term, word, word, place))
        load(kernel, fold, index, side, ("k", word), (depth, across), "%s[%s][%s]" % (side, term, place))
        kernel.close_to(start)
    kernel.line("__syncthreads();")
    kernel.open("for (int k = 0; k < DEPTH; k++) {")
    open_own(kernel)
    kernel.line("parts[p][q] += left[k][own_row + p * TILE] * right[k][own_column + q * TILE];")
    kernel.close_to(inner)
    kernel.line("__syncthreads();")
    kernel.close()
    open_own(kernel)
    kernel.line("sums[p][q] += parts[p][q];")
    kernel.close_to(outer)


def staged(kernel, fold, index, extent):
    """A step puts the slab that is in registers into shared memory, fetches the next one, and multiplies; the first step only fetches.  A warp has
    4 x 8 threads, so that what it reads of a slab lies in few banks."""
    height, width, depth = extent
    sides = ("left", "row", height), ("right", "column", width)
    for text in ("constexpr int across = TILE < 8 ? TILE : 8, down = TILE < 8 ? 1 : 4; // threads of a warp, along rows and columns",
                 "const int group = threadIdx.x / (across * down), member = threadIdx.x % (across * down);",
                 "const int own_row = group / (TILE / across) * down + member / across;",
                 "const int own_column = group % (TILE / across) * across + member % across;",
                 "constexpr int count = DEPTH * PER / TILE; // of a slab, for a thread"):
        kernel.line(text)
    for side, word, _ in sides:
        kernel.line("alignas(16) __shared__ float %s[DEPTH][TILE * PER + 4];" % side)
        kernel.line("float next_%s[count];" % side)
        if not is_along_depth(fold, side):
            kernel.line("const index_t from_%s = first_%s + threadIdx.x %% (TILE * PER);" % (word, word))
    has_totals = max(product(fold.loops, kernel.target.variants)) > ONE_LEVEL
    if has_totals:  # at places that no compiler knows, so that they have no registers: they are seldom touched
        kernel.line("const int nought = %s < 0;" % depth)
        kernel.line("float totals[PER * PER + 1] = {0.0f};")
        kernel.line("int slab = 0;")
    kernel.own = {"from_row", "from_column"}, len(kernel.statements), len(kernel.scopes) - 1
    start = kernel.depth
    kernel.open("for (index_t k0 = -DEPTH; k0 < %s; k0 += DEPTH) {" % depth)
    kernel.open("if (k0 >= 0) {")
    keep_slab(kernel, fold, sides)
    kernel.close()
    fetch_slab(kernel, fold, index, sides, depth)
    kernel.open("if (k0 >= 0) {")
    multiply_slab(kernel)
    if has_totals:
        kernel.open("if (++slab %% %d == 0) {" % PIECE)
        open_own(kernel)
        kernel.line("totals[p * PER + q + nought] += sums[p][q];")
        kernel.line("sums[p][q] = 0.0f;")
    kernel.close_to(start)
    if has_totals:
        open_own(kernel)
        kernel.line("sums[p][q] += totals[p * PER + q + nought];")
        kernel.close_to(start)


def keep_slab(kernel, fold, sides):
    """Puts what a thread has fetched into shared memory."""
    for side, *_ in sides:
        open_count(kernel)
        kernel.line("const int e = threadIdx.x + i * (TILE * TILE);")
        kernel.line("%s[%s][%s] = next_%s[i];" % (side, *in_slab(fold, side), side))
        kernel.close()
    kernel.line("__syncthreads();")


def fetch_slab(kernel, fold, index, sides, depth):
    """The slab that follows, into registers.  Of a side a thread has `count` elements, all of one term or all of one row or column: that one is
    made an index once."""
    if any(is_along_depth(fold, side) for side, *_ in sides):
        kernel.line("const index_t term = k0 + DEPTH + threadIdx.x % DEPTH;")
        kernel.split("term", fold.loops)
    for side, word, across in sides:
        start, places = kernel.depth, ("term", word)
        open_count(kernel)
        if is_along_depth(fold, side):
            kernel.line("const index_t %s = first_%s + threadIdx.x / DEPTH + i * (TILE * TILE / DEPTH);" % (word, word))
        else:
            kernel.line("const index_t k = k0 + DEPTH + threadIdx.x / (TILE * PER) + i * (TILE / PER);")
            places = "k", "from_" + word
        load(kernel, fold, index, side, places, (depth, across), "next_%s[i]" % side)
        kernel.close_to(start)


def multiply_slab(kernel):
    start = kernel.depth
    kernel.line("#pragma unroll 8")
    kernel.open("for (int k = 0; k < DEPTH; k++) {")
    kernel.line("float of_row[PER], of_column[PER];")
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < PER; p++) {")
    kernel.line("of_row[p] = left[k][%s];" % in_fours("own_row", "p"))
    kernel.line("of_column[p] = right[k][%s];" % in_fours("own_column", "p"))
    kernel.close()
    open_own(kernel)
    kernel.line("sums[p][q] += of_row[p] * of_column[q];")
    kernel.close_to(start)
    kernel.line("__syncthreads();")


def in_slab(fold, side):
    """Term and row or column of a slab's element e, such that neighbouring threads have neighbours in memory."""
    return ("e % DEPTH", "e / DEPTH") if is_along_depth(fold, side) else ("e / (TILE * PER)", "e % (TILE * PER)")


def in_fours(thread, number):
    """Of a thread's elements along a side, in fours."""
    return "%s / 4 * (4 * TILE) + %s * 4 + %s %% 4" % (number, thread, number)


def open_count(kernel):
    """A loop over a thread's elements of a slab."""
    kernel.line("#pragma unroll")
    kernel.open("for (int i = 0; i < count; i++) {")


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


def is_along_depth(fold, side):
    """Whether neighbouring terms of a factor are neighbours in memory; else its rows or columns are."""
    return (fold.left_along if side == "left" else fold.right_along) == "depth"


def load(kernel, fold, index, side, places, extent, target):
    """The element of a factor at these places, term and row or column, zero where there is none, into target; leaves blocks open."""
    axes, value = (fold.rows, fold.left) if side == "left" else (fold.columns, fold.right)
    kernel.line("%s = 0.0f;" % target)
    kernel.guard(" && ".join("%s < %s" % pair for pair in zip(places, extent)))
    own = list(index)
    put(kernel, own, axes, places[1], fold)
    terms = kernel.split(places[0], fold.loops)
    text = value(kernel, own, lambda position: terms[position])
    kernel.line("%s = %s;" % (target, text))


def finish(kernel, root, fold, index, height, width):
    """What follows the product, element by element; four neighbours are stored at once."""
    buffer, start = root.buffer, kernel.depth
    in_fours_too = buffer.dtype == "float32" and [a for a, e in enumerate(fold.shape) if not is_one(e)][-1] in fold.columns
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < PER; p++) {")
    if in_fours_too:
        kernel.line("float values[PER];")
        kernel.line("place_t places[PER];")
    kernel.line("#pragma unroll")
    kernel.open("for (int q = 0; q < PER; q++) {")
    for word, number in (("row", "p"), ("column", "q")):
        kernel.line("const index_t %s = first_%s + (STAGED ? %s : own_%s + %s * TILE);" % (word, word, in_fours("own_" + word, number), word, number))
    if in_fours_too:
        kernel.line("places[q] = -1;")
    kernel.guard("row < %s && column < %s" % (height, width))
    own = list(index)
    put(kernel, own, fold.rows, "row", fold)
    put(kernel, own, fold.columns, "column", fold)
    if fold.op and fold.op not in kernel.ops:
        kernel.ops.append(fold.op)
    source = fold if root is fold else fold.spread or fold
    if source is not fold:
        own, conditions = source.place_of(kernel, own)
        if conditions:
            kernel.guard(" && ".join(conditions))
    kernel.scopes[-1][(source.number, tuple(own))] = "sums[p][q]"
    value, place = kernel.target.store(kernel.value(root, own), buffer.dtype), kernel.flat(own, root.shape)
    if in_fours_too:
        kernel.line("places[q] = %s;" % place)
        kernel.line("values[q] = %s;" % value)
        kernel.close_to(start + 1)
        store_row(kernel, buffer.c_name)
    else:
        kernel.line("%s[%s] = %s;" % (buffer.c_name, place, value))
    kernel.close_to(start)


def store_row(kernel, name):
    """Stores a thread's values of a row where they have places."""
    kernel.line("#if STAGED")
    kernel.line("#pragma unroll")
    kernel.open("for (int q = 0; q < PER; q += 4) {")
    kernel.line("const place_t place = places[q];")
    kernel.open("if (place >= 0 && places[q + 1] == place + 1 && places[q + 2] == place + 2 && places[q + 3] == place + 3 &&\n%s"
                "(unsigned long long)(%s + place) %% 16 == 0) {" % ("    " * (kernel.depth + 1), name))
    kernel.line("*(float4 *)(%s + place) = float4{values[q], values[q + 1], values[q + 2], values[q + 3]};" % name)
    kernel.line("places[q] = places[q + 1] = places[q + 2] = places[q + 3] = -1; // stored")
    kernel.close()
    kernel.close()
    kernel.line("#endif")
    kernel.line("#pragma unroll")
    kernel.open("for (int q = 0; q < PER; q++) {")
    kernel.open("if (places[q] >= 0) {")
    kernel.line("%s[places[q]] = values[q];" % name)
    kernel.close()
    kernel.close()
