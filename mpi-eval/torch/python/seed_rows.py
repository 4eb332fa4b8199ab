"""The form of a seed's kernel whose blocks share the folds of ROWS elements each: what the folds have in common, as the vector of a
matrix by vector, is loaded once for all of them, and more loads are under way."""

from atoll import seed_kernel
from atoll.seed_kernel import Kernel
from atoll.seed_node import product
from atoll.seed_tile import are_one_by_one

VALUES = [1, 2, 4, 8]
LEAST = 1024  # elements from which there are blocks enough


def fits(root, fold, size):
    """size: how many elements the root has where it is measured."""
    return size >= LEAST and not fold.parts and fold.fold not in ("argmax", "argmin") and are_one_by_one(root, fold)


def write(root, fold, target):
    """The kernel.  All threads of a block stay to its end, where they wait for each other once an element and half."""
    kernel = Kernel("", root, target)
    kernel.rows_fold, kernel.long_fold, kernel.condition = fold, fold, "ROWS > 1"
    kernel.coordinates, kernel.own = [None] * len(root.shape), None
    kind, total = target.accumulator(fold.value_kind), kernel.extent(product(fold.loops, target.variants))
    kernel.line("const index_t last = %s - 1, first_row = (index_t)blockIdx.x * ROWS;" % kernel.times(root.shape))
    start = kernel.depth
    put_neutral(kernel, kind, "sums", kernel.neutral(fold))
    first, end, found = "threadIdx.x", total, "sums[p]"
    in_pieces = kernel.piece_loop(fold)[1] and \
        max(product(fold.loops, target.variants)) > seed_kernel.PIECE * seed_kernel.LEAST_BLOCK
    if in_pieces:
        first, end = kernel.open_pieces(first, end, "%d * %s" % (seed_kernel.PIECE, target.block))
        put_neutral(kernel, kind, "parts", "0")
        found = "parts[p]"
    inner = kernel.depth
    kernel.unroll(fold)
    kernel.open("for (index_t r = %s; r < %s; r += %s) {" % (first, end, target.block))
    places = kernel.split("r", fold.loops)
    own = open_rows(kernel, root)
    kernel.accumulate(fold, [found], fold.body(kernel, own, lambda position: places[position]), None)
    kernel.close_to(inner)
    if in_pieces:
        open_rows(kernel)
        kernel.line("sums[p] += parts[p];")
    kernel.close_to(start)
    own = open_rows(kernel, root)
    kernel.share(fold, ["sums[p]"], "> 0", "threadIdx.x > 0 || first_row + p > last", "0", "continue")
    kernel.scopes[-1][(fold.number, tuple(own))] = "sums[p]"
    value = kernel.value(root, own)
    kernel.line("%s[i] = %s;" % (root.buffer.c_name, target.store(value, root.buffer.dtype)))
    kernel.close()
    return kernel


def put_neutral(kernel, kind, name, value):
    kernel.line("%s %s[ROWS];" % (kind, name))
    open_rows(kernel)
    kernel.line("%s[p] = %s;" % (name, value))
    kernel.close()


def open_rows(kernel, root=None):
    """A loop over a block's elements; with root, the index of the element, which is the last one where there are no more."""
    kernel.line("#pragma unroll")
    kernel.open("for (int p = 0; p < ROWS; p++) {")
    if root is None:
        return None
    kernel.line("const index_t i = first_row + p < last ? first_row + p : last;")
    return kernel.split("i", root.shape)
