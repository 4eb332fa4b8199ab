"""Kernels of a seed for running sums and products along an axis: a thread a line, or, where a line's neighbours are neighbours in
memory, a block a line whose threads have RUN elements of it at a time."""

from atoll.seed_kernel import Kernel
from atoll.seed_node import is_one

RUN_VALUES = [0, 8, 4, 16]  # elements of a thread; 0: a thread has a line
LEAST = 64                  # elements of a line from which a block is worth it
PIECE_BYTES = 16384         # of a line that a block keeps in shared memory


def lines(root, variants):
    """The kernel's elements: the lines."""
    return tuple((1,) * variants if a == root.axis else e for a, e in enumerate(root.shape))


def running(root):
    """What a scan runs in: its type, operator and first value."""
    kind = "double" if root.kind == "float" else root.kind
    return (kind, "+", "0") if root.fold == "sum" else (kind, "*", "1")


def element(kernel, root, at):
    """The index of the line's element `at`."""
    index = list(kernel.coordinates)
    index[root.axis] = at
    return ["0" if is_one(e) else i for i, e in zip(index, root.shape)]


def store(kernel, root, index, value):
    kernel.line("%s[%s] = %s;" % (root.buffer.c_name, kernel.flat(index, root.shape),
                                  kernel.target.store(value, root.buffer.dtype)))


def by_thread(kernel, root):
    """The statements of a thread that has a line."""
    kernel.reshape(lines(root, kernel.target.variants))
    kind, sign, first = running(root)
    name, at = kernel.variable(kind, first, root.op, root.fold), kernel.fresh("k")
    kernel.open("for (index_t %s = 0; %s < %s; %s++) {" % (at, at, kernel.extent(root.shape[root.axis]), at))
    index = element(kernel, root, at)
    kernel.line("%s %s= %s;" % (name, sign, kernel.value(root.edges[0][0], index)))
    store(kernel, root, index, "(%s)%s" % (root.kind, name) if kind != root.kind else name)
    kernel.close()


def fits(root, target, bench):
    """Whether a block may have a line."""
    return target.language == "cuda" and target.offers("RUN") and root.shape[root.axis][bench] >= LEAST and \
        all(is_one(e) for e in root.shape[root.axis + 1:])


def require(root, target):
    return "RUN * %s <= %d" % (target.block, PIECE_BYTES // (4 if root.kind == "float" else 8))


def grid(root, target):
    count = target.count(lines(root, target.variants))
    return "(RUN == 0) * cdiv(%s, %s) + (RUN > 0) * %s" % (count, target.block, count)


def by_block(root, target):
    """The kernel of a block that has a line.  It walks over pieces of RUN elements a thread.  Of a piece the threads load neighbours side by
    side and keep them in `row`; then each runs over RUN that follow each other, the last values of these runs are run over by all
    threads in turns (`ends`, twice, so that a turn reads what the one before wrote), each runs again with what comes before its own,
    and the threads store neighbours side by side.  Rows have a gap after each RUN, so that runs begin in different banks."""
    kernel = Kernel("", root, target)
    kernel.reshape(lines(root, target.variants))
    kernel.condition, kernel.block_fold = "RUN > 0", root
    kind, sign, first = running(root)
    block, length = target.block, kernel.extent(root.shape[root.axis])
    kernel.line("__shared__ %s row[%s * (RUN + 1)];" % (root.kind, block))
    kernel.line("__shared__ %s ends[2][%s];" % (kind, block))
    kernel.line("%s carry = %s; /* %s */" % (kind, first, root.op))
    kernel.open("for (index_t start = 0; start < %s; start += RUN * %s) {" % (length, block))

    index = open_side_by_side(kernel, root, block)
    kernel.line("row[own + own / RUN] = %s;" % first)
    kernel.guard("at < %s" % length)
    kernel.line("row[own + own / RUN] = %s;" % kernel.value(root.edges[0][0], index))
    kernel.close()
    kernel.close()
    kernel.line("__syncthreads();")

    kernel.line("%s %s = %s;" % (kind, root.fold, first))
    open_run(kernel)
    kernel.line("%s %s= row[threadIdx.x * (RUN + 1) + e];" % (root.fold, sign))
    kernel.close()
    kernel.line("int side = 0;")
    kernel.line("ends[0][threadIdx.x] = %s;" % root.fold)
    kernel.line("__syncthreads();")
    kernel.open("for (unsigned half = 1; half < %s; half *= 2) {" % block)
    kernel.line("ends[1 - side][threadIdx.x] = threadIdx.x < half ? ends[side][threadIdx.x] :")
    kernel.line("    ends[side][threadIdx.x - half] %s ends[side][threadIdx.x];" % sign)
    kernel.line("side = 1 - side;")
    kernel.line("__syncthreads();")
    kernel.close()
    kernel.line("%s = threadIdx.x > 0 ? carry %s ends[side][threadIdx.x - 1] : carry;" % (root.fold, sign))
    open_run(kernel)
    kernel.line("%s %s= row[threadIdx.x * (RUN + 1) + e];" % (root.fold, sign))
    kernel.line("row[threadIdx.x * (RUN + 1) + e] = (%s)%s;" % (root.kind, root.fold))
    kernel.close()
    kernel.line("carry %s= ends[side][%s - 1];" % (sign, block))
    kernel.line("__syncthreads();")

    index = open_side_by_side(kernel, root, block)
    kernel.guard("at < %s" % length)
    store(kernel, root, index, "row[own + own / RUN]")
    kernel.close()
    kernel.close()
    kernel.close()
    return kernel


def open_run(kernel):
    """A loop over a thread's elements."""
    kernel.line("#pragma unroll")
    kernel.open("for (int e = 0; e < RUN; e++) {")


def open_side_by_side(kernel, root, block):
    """A loop over a thread's elements whose neighbours other threads have; the index of one of them."""
    open_run(kernel)
    kernel.line("const int own = e * %s + threadIdx.x;" % block)
    kernel.line("const index_t at = start + own;")
    return element(kernel, root, "at")
