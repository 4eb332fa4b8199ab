"""Writes a plain seed for an imported task: one CUDA (or C) source with its launch plan (docs/spec/plan.md), an element per
thread, from the ATen graphs of its variants.

seed_aten.py makes nodes of operators, this file decides which of them are kept in memory, and seed_kernel.py writes a
kernel for each of those.  What an operator needs and is not there is said by name: no seed is better than a wrong one.
"""

import json
import re

from atoll import seed_aten, seed_rows, seed_scan, seed_tile, seed_wide, shape_fit
from atoll import seed_move, seed_pointwise, seed_product, seed_recurrence, seed_reduce  # noqa: F401 - they fill seed_aten.OPERATORS
from atoll.aten_graph import Unsupported, unify
from atoll.seed_half import HELPERS
from atoll.seed_kernel import C_TYPES, EXTENT, LOCAL, RESERVED, WORD, Kernel, wrap
from atoll.seed_recurrence import Recurrence
from atoll.seed_node import (BROADCAST, CHEAP, LOOP, LOOP_MANY, MOVED, SAME, Chosen, Fold, Generated, Pointwise, Scan,
                             Source, Viewed, expand, is_one, pointwise, product)

# Of a plan (core/plan/plan.h).
LAUNCH_LIMIT = 64
ARG_LIMIT = 64
SCRATCH_LIMIT = 16
NAME_LIMIT = 31
SOURCE_LIMIT = 240 << 10
PLAN_LIMIT = 30 << 10

BLOCK_VALUES = [256, 128, 512, 1024, 64]
SPLIT_VALUES = [1, 4, 2, 8]  # threads that share an element's fold
UNROLL_VALUES = [0, 4, 8, 16]  # terms of a loop's round; 0: as the compiler likes
EACH_VALUES = [4, 1, 2, 8]  # elements of a thread, whose loads are on their way at the same time
DEAR = 30            # operations that are stored rather than done in two kernels
LONG_LOOPS = 64      # terms from which a fold's loop may be unrolled, or split among the threads of a block
BLOCK_LOOPS = 256    # terms from which a block shares a fold ...
BLOCK_RESULTS = 65536  # ... when there are no more results than this
PARTS = 512          # blocks that share one fold ...
PARTS_LOOPS = 65536  # ... of at least so many terms ...
PARTS_RESULTS = 2048  # ... when there are fewer results than this
NARROW_LIMIT = 1 << 30  # elements whose indices and places may be of 32 bits


def seed_text(graphs, places, outputs, dims, bench, language="cuda"):
    """The source, None; or None, why there is none.
    graphs: aten_graph.record() of every variant.  places: for every key of the record the task's tensor that holds it, and
    its offset there in elements, one per variant or 0; None for what changes no result.  outputs: the task's out tensors, in order.  dims: {name: values of
    the variants}.  bench: the variant whose sizes say what is worth a kernel of its own."""
    try:
        return Seed(unify(graphs), places, outputs, dims, bench, language).text(), None
    except Unsupported as reason:
        return None, str(reason)


class Target:
    """The language that kernels are written in."""

    def __init__(self, language, dims, taken, variants):
        self.language, self.dims, self.variants = language, dims, variants
        self.names = set(taken) | set(dims)
        self.taken = self.names | RESERVED
        self.depth = 1 if language == "cuda" else 2
        self.block = "BLOCK" if "BLOCK" not in taken and "BLOCK" not in dims else "BLOCK_SIZE"
        self.each = "EACH" if "EACH" not in taken and "EACH" not in dims else "EACH_THREAD"
        self.texts, self.helpers = {}, set()
        self.renamed = {name: self.safe(name) for name in dims}

    def offers(self, name):
        """Whether a parameter of the plan may have this name."""
        return self.language == "cuda" and name not in self.names

    def safe(self, name):
        """A parameter's name: no word of the language, no name of its library, none that kernels use inside."""
        if name in RESERVED or LOCAL.fullmatch(name):
            name += "_"
            while name in self.names:
                name += "_"
        return name

    def dim_name(self, name):
        return self.renamed[name]

    def given_name(self, name):
        """A dim's name as a kernel's parameter, where the dim itself is of another type."""
        name = "given_" + self.renamed[name]
        while name in self.taken or name in self.renamed.values():
            name += "_"
        return name

    def expression(self, values):
        values = tuple(values)
        if values not in self.texts:
            text = shape_fit.fit(values, self.dims)
            if text is None:
                raise Unsupported("an extent that the dims do not determine")
            self.texts[values] = text
        return self.texts[values]

    def count(self, extents):
        """Their product as an expression over dims."""
        number, words = 1, []
        for extent in extents:
            if len(set(extent)) == 1:
                number *= extent[0]
            else:
                words.append(wrap(self.expression(extent)))
        return " * ".join(([str(number)] if number != 1 or not words else []) + words)

    def accumulator(self, kind):
        return "double" if kind == "float" and self.language == "c" else "int" if kind == "bool" else kind

    def load(self, text, dtype):
        if dtype in ("bfloat16", "float16"):
            name = "from_bf16" if dtype == "bfloat16" else "from_f16"
            self.helpers.add(name)
            return "%s(%s)" % (name, text)
        return "%s != 0" % text if dtype == "bool" else text

    def store(self, text, dtype):
        if dtype in ("bfloat16", "float16"):
            name = "to_bf16" if dtype == "bfloat16" else "to_f16"
            self.helpers.add(name)
            return "%s(%s)" % (name, text)
        return text


class Buffer:
    """Where a node's elements lie: a tensor of the task or scratch of the plan."""

    def __init__(self, name, c_name, dtype, offset=None, is_constant=False, is_scratch=False):
        self.name, self.c_name, self.dtype, self.offset = name, c_name, dtype, offset
        self.is_constant, self.is_scratch = is_constant, is_scratch
        self.key = name  # stays when the name becomes that of shared scratch

    def offset_text(self, kernel):
        return kernel.extent(self.offset) if self.offset and any(self.offset) else ""


class Lowering:
    """Nodes for the values of a graph that the outputs need."""

    def __init__(self, graph, places, variants):
        self.graph, self.variants, self.nodes = graph, variants, {}
        self.known = {}
        for key, value in graph.inputs.items():
            self.known[value] = key
        self.places = places

    def outputs(self):
        producer = {}
        for position, (_, _, outs, written) in enumerate(self.graph.nodes):
            for value in list(outs) + list(written):
                if value is not None:
                    producer[value] = position
        needed, pending = set(), list(self.graph.outputs)
        while pending:
            position = producer.get(pending.pop())
            if position is not None and position not in needed:
                needed.add(position)
                _, args, _, _ = self.graph.nodes[position]
                pending += list(_values(args))
        for position in sorted(needed):
            self.lower(position)
        return [self.value(v) for v in self.graph.outputs]

    def lower(self, position):
        op, args, outs, _ = self.graph.nodes[position]
        shapes = [None if v is None else self.graph.values[v] for v in outs]
        name, _, form = op.partition(".")[2].partition(".")
        function = seed_aten.OPERATORS.get("aten.%s.%s" % (name if name.startswith("_") else name.rstrip("_"), form)) or \
            seed_aten.OPERATORS.get("aten.%s.%s" % (name.rstrip("_"), form))
        if function is None or not op.startswith(("aten.", "atoll.")):
            raise Unsupported(op)
        if any(s and any(e == 0 for axis in s[0] for e in axis) for s in shapes[:1]):
            raise Unsupported("%s of nothing" % op)
        result = function(seed_aten.Call(op, args, shapes, self))
        results = result if isinstance(result, tuple) else (result,)
        for value, node in zip(outs, results):
            if value is None or node is None:
                continue
            wanted = tuple(tuple(e) for e in self.graph.values[value][0])
            if node.shape != wanted:
                node = expand(node, wanted) if len(node.shape) <= len(wanted) else Viewed(wanted, node)
            self.nodes[value] = node

    def value(self, value):
        if value in self.nodes:
            return self.nodes[value]
        if value in self.known and self.known[value] in self.places:
            shape, dtype = self.graph.values[value]
            place = self.places[self.known[value]]
            if place is None:
                self.nodes[value] = Generated(shape, seed_aten.kind_of(dtype), lambda k, i: "0", "")
                return self.nodes[value]
            tensor, offset = place
            offset = (offset,) * self.variants if isinstance(offset, int) else tuple(offset)
            self.nodes[value] = Source(shape, dtype, tensor, offset)
        elif value in self.graph.constants:
            self.nodes[value] = self.constant(value)
        else:
            raise Unsupported("a result that has no seed, or a tensor that is none of the task's")
        return self.nodes[value]

    def constant(self, value):
        numbers, (shape, dtype) = self.graph.constants[value], self.graph.values[value]
        kind = seed_aten.kind_of(dtype)

        def text(kernel, index):
            flat = kernel.flat(index, shape, False)
            result = seed_aten.number_text(kernel, numbers[-1], kind)
            for position in reversed(range(len(numbers) - 1)):
                result = "%s == %d ? %s : %s" % (wrap(flat), position, seed_aten.number_text(kernel, numbers[position], kind),
                                                 result)
            return wrap(result)
        return Generated(shape, kind, text, "")


def _values(args):
    if isinstance(args, dict):
        if "value" in args and isinstance(args["value"], int) and len(args) == 1:
            yield args["value"]
            return
        args = args.values()
    elif not isinstance(args, list):
        return
    for part in args:
        yield from _values(part)


class Seed:
    def __init__(self, graph, places, outputs, dims, bench, language):
        self.variants, self.bench = len(next(iter(dims.values()))), bench
        self.graph, self.outputs = graph, outputs
        tensors = {place[0] for place in places.values() if place} | set(outputs)
        self.target = Target(language, dims, tensors, self.variants)
        self.lowering = Lowering(graph, places, self.variants)
        self.kernels = []
        self.wide = []  # buffers that are read or written by vectors
        self.params, self.require = {}, []  # of the plan, beside those of all seeds

    # ---- which nodes are kept in memory ----

    def size(self, node):
        return product([(e[self.bench],) for e in node.shape], 1)[0]

    def roots(self):
        results = []
        for node, name in zip(self.lowering.outputs(), self.outputs):
            if isinstance(node, (Source, Generated)) or node.buffer is not None:
                node = pointwise([node], lambda v: v, "copy", node.kind)
            node.buffer = Buffer(name, self.target.safe(name), None)
            results.append(node)
        if len(results) != len(self.outputs) or len(results) != len(self.lowering.graph.outputs):
            raise Unsupported("%d results for %d out tensors" % (len(self.lowering.graph.outputs), len(self.outputs)))
        for node, value in zip(results, self.lowering.graph.outputs):
            node.buffer.dtype = self.graph.values[value][1]
        order = _topological(results)
        self.keep(order)
        return [n for n in _topological(results) if n.buffer is not None and not isinstance(n, Source)]

    def keep(self, order):
        """Gives a buffer to every node that is worth one: `sites` are the ways a node is read, by kernel and index."""
        sites = {node.number: set() for node in order}
        self.by_number = {node.number: node for node in order}
        self.readers = {node.number: 0 for node in order}
        for node in order:
            for source, _ in node.edges:
                self.readers[source.number] += 1
        folds = {}  # kernel: the fold that it computes on the way
        for node in reversed(order):
            own = sites[node.number]
            if isinstance(node, Source):
                node.buffer = Buffer(node.tensor, self.target.safe(node.tensor), node.dtype, node.offset, True)
                continue
            if node.buffer is None and self.is_kept(node, own, folds):
                node.buffer = Buffer(*self.scratch_names(node), _dtype(node), is_scratch=True)
            if node.buffer is not None:
                own = {(node.number, (), False, False)}
                if isinstance(node, Fold):
                    folds[node.number] = node
            elif isinstance(node, Fold):
                folds[next(iter(own))[0]] = node
            for position, (source, edge) in enumerate(node.edges):
                for root, path, loop, many in own:
                    if edge == MOVED:
                        path = path + ((node.number, position),)
                    elif edge in (BROADCAST, LOOP, LOOP_MANY):
                        path = path + ((node.number, edge),)
                    sites[source.number].add((root, path, loop or edge in (LOOP, LOOP_MANY),
                                              many or edge in (BROADCAST, LOOP_MANY)))

    def is_kept(self, node, sites, folds):
        if isinstance(node, (Scan, Recurrence)):
            return True
        loop, many = any(s[2] for s in sites), any(s[3] for s in sites)
        if isinstance(node, Fold):
            root = next(iter(sites))[0]
            return len(sites) > 1 or loop or many or root in folds or self.is_larger(root, node)
        if isinstance(node, Generated):
            return False
        if not (many or loop or len(sites) > 1):
            return False
        if isinstance(node, (Pointwise, Chosen)) and self.holds_fold(node):
            return True
        dear = _cost(node)
        return (many and dear > CHEAP) or (len(sites) > 1 and dear > DEAR)

    def holds_fold(self, node):
        """Whether a fold that nothing else reads feeds this node element by element: then this is what to keep of it."""
        pending = [node]
        while pending:
            for source, edge in pending.pop().edges:
                if edge not in (SAME, MOVED) or source.buffer is not None or self.readers[source.number] > 1:
                    continue
                if isinstance(source, (Fold, Scan, Recurrence)):
                    return True
                pending.append(source)
        return False

    def is_larger(self, root, node):
        """Whether the kernel has more elements than the fold, which would then be done again and again."""
        return product(self.by_number[root].shape, self.variants) != product((node.spread or node).shape, self.variants)

    def scratch_names(self, node):
        stem = re.sub(r"[^a-z0-9]+", "_", (node.op or "value").lower()).strip("_")[:20] or "value"
        number = 1
        while "%s_%d" % (stem, number) in self.target.taken:
            number += 1
        name = "%s_%d" % (stem, number)
        self.target.taken.add(name)
        return name, name

    # ---- kernels ----

    def share_out(self, node):
        """Folds of few results and many terms in two steps: many blocks, then one."""
        loops = product([(e[self.bench],) for e in node.loops], 1)[0]
        if node.fold in ("argmax", "argmin") or node.is_ragged or loops < PARTS_LOOPS or \
                self.size(node) >= PARTS_RESULTS:
            return None
        parts = Fold(list(node.shape) + [(PARTS,) * self.variants], node.kind, [n for n, _ in node.edges], node.loops, node.body,
                     node.fold, node.op + " parts", value_kind=node.value_kind)
        parts.parts = PARTS
        parts.buffer = Buffer(*self.scratch_names(parts), _dtype(parts), is_scratch=True)
        node.edges, node.loops = [(parts, LOOP)], [(PARTS,) * self.variants]
        node.body = lambda kernel, index, loops: kernel.value(parts, list(index) + [loops(0)])
        return parts

    def block_fold(self, root):
        """The fold of a kernel that a block shares: the root, or what it reads without choice."""
        fold = self.long_fold(root, BLOCK_LOOPS)
        return fold if self.size(root) <= BLOCK_RESULTS else None

    def long_fold(self, root, least):
        """The fold of at least so many terms that a kernel of CUDA has: the root, or what it reads without choice."""
        pending = [root] if self.target.language == "cuda" else []
        while pending:
            node = pending.pop()
            if isinstance(node, Fold):
                loops = product([(e[self.bench],) for e in node.loops], 1)[0]
                return node if loops >= least and not node.is_ragged else None
            if not isinstance(node, Chosen):
                pending += [n for n, _ in node.edges if n.buffer is None]
        return None

    def tiled_fold(self, root, least_side):
        """The product of at least so many rows and columns that a kernel computes on the way, where its blocks are to share it."""
        pending = [root]
        while pending:
            node = pending.pop()
            if isinstance(node, Fold):
                return node if seed_tile.fits(root, node, self.target, self.bench, least_side) else None
            pending += [n for n, _ in node.edges if n.buffer is None]
        return None

    def text(self):
        roots = self.roots()
        if len(roots) > LAUNCH_LIMIT:
            raise Unsupported("%d launches, %d are allowed" % (len(roots), LAUNCH_LIMIT))
        for root in roots:
            if isinstance(root, Recurrence):
                self.kernels.append(self.recurrence(root))
                continue
            tiled = self.tiled_fold(root, seed_tile.LEAST)
            if tiled:
                self.kernels.append(self.tiled_kernel(root, tiled))
                continue
            fold = self.block_fold(root)
            parts = self.share_out(fold) if fold else None
            if parts:
                self.kernels.append(self.kernel(parts, parts))
            self.kernels.append(self.kernel(root, fold))
        if len(self.kernels) > LAUNCH_LIMIT:
            raise Unsupported("%d launches, %d are allowed" % (len(self.kernels), LAUNCH_LIMIT))
        return self.source()

    def kernel(self, root, fold):
        if isinstance(root, Scan):
            kernel = Kernel("", root, self.target)
            self.scan(kernel, root)
        else:
            kernel = self.elements(root, fold, None)
            tiled = self.tiled_fold(root, seed_tile.LEAST_SIDE) if not fold and self.target.offers("TILED") else None
            if tiled:
                kernel.condition = "TILED == 0"
                kernel.others = [self.tiled_kernel(root, tiled)]
                kernel.others[0].condition = "TILED == 1"
                self.offer("TILED", [0, 1])
            elif kernel.long_fold and not fold and self.may_split(root, kernel.long_fold):
                kernel.condition = "SPLIT == 1"
                kernel.others = [self.elements(root, None, kernel.long_fold)]
                kernel.others[0].condition = "SPLIT > 1"
                self.offer("SPLIT", SPLIT_VALUES)
            if fold and self.target.offers("ROWS") and seed_rows.fits(root, fold, self.size(root)):
                kernel.condition = "ROWS == 1"
                kernel.others = [seed_rows.write(root, fold, self.target)]
                self.offer("ROWS", seed_rows.VALUES)
        kernel.is_written = root.buffer
        return kernel

    def elements(self, root, block_fold, split_fold):
        """A kernel that computes the root's elements, and shares one of these folds, if any."""
        kernel = Kernel("", root, self.target)
        kernel.block_fold, kernel.split_fold = block_fold, split_fold
        if self.target.offers("UNROLL"):
            kernel.long_fold = self.long_fold(root, LONG_LOOPS)
        if kernel.long_fold:
            self.offer("UNROLL", UNROLL_VALUES)
        value = root.emit(kernel, list(kernel.coordinates))
        kernel.line("%s[i] = %s;" % (root.buffer.c_name, self.target.store(value, root.buffer.dtype)))
        return kernel

    def may_split(self, root, fold):
        """Whether threads of a block may share the fold of several elements: its first loop is long enough, and every thread comes to it, as it
        stands in no choice."""
        if not self.target.offers("SPLIT") or fold.loops[0][self.bench] < max(SPLIT_VALUES):
            return False
        pending, seen = [root], set()
        while pending:
            node = pending.pop()
            if isinstance(node, Chosen) and seed_tile.holds(node, fold):
                return False
            if node.number not in seen:
                pending += [n for n, _ in node.edges if n.buffer is None]
            seen.add(node.number)
        return True

    def tiled_kernel(self, root, fold):
        kernel = Kernel("", root, self.target)
        kernel.tiled_fold, kernel.reach = fold, 0  # no element has a flat index
        seed_tile.write(kernel, root, fold)
        kernel.is_written = root.buffer
        return kernel

    def recurrence(self, root):
        kernel = Kernel("", root, self.target)
        one = (1,) * self.variants
        kernel.reshape((one, root.shape[1], one))
        kernel.block_fold = root if self.target.language == "cuda" else None
        root.write(kernel)
        kernel.is_written = root.buffer
        return kernel

    def scan(self, kernel, root):
        seed_scan.by_thread(kernel, root)
        if seed_scan.fits(root, self.target, self.bench):
            kernel.condition = "RUN == 0"
            kernel.others = [seed_scan.by_block(root, self.target)]
            self.offer("RUN", seed_scan.RUN_VALUES, seed_scan.require(root, self.target))

    def offer(self, name, values, *require):
        """A parameter of the plan, and what combinations with it have to keep to."""
        self.params[name] = values
        self.require += [r for r in require if r not in self.require]

    # ---- text ----

    def source(self):
        shared = self.share_scratch()
        launches, bodies = [], []
        for number, kernel in enumerate(self.kernels):
            words = "_".join(re.sub(r"[^a-z0-9]+", "_", op.lower()).strip("_") for op in kernel.ops) or "copy"
            kernel.name = ("step%d_%s" % (number + 1, words))[:NAME_LIMIT].rstrip("_")
            body, launch = self.function(kernel)
            bodies.append(body)
            launches.append(launch)
        scratch = self.scratch_lines(shared)
        plan = ['  "version": 1']
        if self.target.language == "cuda":
            params = {} if all(k.tiled_fold for k in self.kernels) else {self.target.block: BLOCK_VALUES}
            is_tiled = any(form.tiled_fold for k in self.kernels for form in [k] + k.others)
            params.update({self.target.each: EACH_VALUES} if any(self.target.each in body for body in bodies) else {})
            params.update(seed_tile.PARAMS if is_tiled else {})
            params.update(self.params)
            plan.append('  "params": %s' % json.dumps(params))
            require = (seed_tile.REQUIRE if is_tiled else []) + self.require
            if require:
                plan.append('  "require": %s' % json.dumps(require))
        if scratch:
            plan.append('  "scratch": {%s}' % ", ".join('"%s": "%s"' % pair for pair in scratch))
        plan.append('  "launch": [%s]' % (",\n" + " " * 13).join(launches))
        head = "/* atoll-plan {\n%s\n} */\n" % ",\n".join(plan)
        if len(head) > PLAN_LIMIT:
            raise Unsupported("a plan of %d bytes" % len(head))
        text = head + self.prelude() + "\n" + "\n".join(bodies)
        if len(text) > SOURCE_LIMIT:
            raise Unsupported("a source of %d bytes" % len(text))
        return text

    def prelude(self):
        ops = list(dict.fromkeys(op.split(".")[1] for op, _, _, _ in self.graph.nodes))
        lines = ["/* Written by `atoll task import`: plain kernels for", " *"]
        for word in ops:
            if len(lines[-1]) + len(word) > 110:
                lines.append(" *")
            lines[-1] += " " + word
        lines[-1] += ". */"
        if self.target.language == "c":
            lines += ["#include <math.h>", "#include <stdbool.h>", "", "#define INFINITE INFINITY"]
        else:
            if self.target.helpers & {"from_f16", "to_f16"}:
                lines.append("#include <cuda_fp16.h>")
            lines.append("#define INFINITE __int_as_float(0x7f800000)")
        lines += ["constexpr int rounds = UNROLL; // a pragma knows no macros"] if "UNROLL" in self.params else []
        lines += seed_wide.types(self.wide)
        text = "\n".join(lines) + "\n"
        for name in sorted(self.target.helpers):
            text += "\n" + HELPERS[self.target.language][name]
        return text

    def share_scratch(self):
        """Gives buffers their names in the plan: their own, or, where there are more of them than names, one for several
        that are not in use at the same time."""
        kept = [k.is_written for k in self.kernels if k.is_written.is_scratch]
        if len(kept) <= SCRATCH_LIMIT:
            return [(b, [b]) for b in kept]
        last = {}
        for number, kernel in enumerate(self.kernels):
            for buffer in kernel.pointers.values():
                last[buffer.key] = number
        slots, free_from = [], []  # buffers of a slot; the first kernel that may write to it anew
        for number, kernel in enumerate(self.kernels):
            buffer = kernel.is_written
            if not buffer.is_scratch:
                continue
            slot = next((i for i, at in enumerate(free_from) if at <= number), None)
            if slot is None:
                slot = len(slots)
                slots.append([])
                free_from.append(0)
            slots[slot].append(buffer)
            free_from[slot] = last.get(buffer.key, number) + 1
        if len(slots) > SCRATCH_LIMIT:
            raise Unsupported("%d intermediate results at a time, %d are allowed" % (len(slots), SCRATCH_LIMIT))
        result = []
        for number, buffers in enumerate(slots):
            name = "shared_%d" % (number + 1)
            while name in self.target.taken:
                name += "_"
            for buffer in buffers:
                buffer.name = name
            result.append((buffers[0], buffers))
        return result

    def scratch_lines(self, shared):
        shapes = {id(k.is_written): k.root.shape for k in self.kernels}
        result = []
        for first, buffers in shared:
            sizes = []
            for buffer in buffers:
                width = {"double": 8, "long long": 8, "float": 4, "unsigned char": 1}[C_TYPES[buffer.dtype]]
                size = self.target.count([(width,) * self.variants] + list(shapes[id(buffer)]))
                if size not in sizes:
                    sizes.append(size)
            text = sizes[0]
            for size in sizes[1:]:
                text = "max(%s, %s)" % (text, size)
            result.append((first.name, text))
        return result

    def function(self, kernel):
        """The text of a kernel in all of its forms, and its launch."""
        target, out = self.target, kernel.is_written
        forms = [kernel] + kernel.others
        texts = [self.form_lines(form) for form in forms]
        lines = texts[0]
        if kernel.others:
            lines = [line for form, text in zip(forms, texts)
                     for line in ["#%s %s" % ("if" if form is kernel else "elif", form.condition)] + text] + ["#endif"]
        read = {}
        for form in forms:
            read.update({key: b for key, b in form.pointers.items() if key not in read})
        pointers = [b for b in read.values() if b.key != out.key]
        if len(pointers) != len(read) or len({b.c_name for b in pointers}) != len(pointers):
            raise Unsupported("a kernel that reads what it writes")
        cuda = target.language == "cuda"
        alone = "__restrict__ " if cuda else ""
        params = ["const %s *%s%s" % (C_TYPES[b.dtype], alone, b.c_name) for b in pointers]
        params.append("%s *%s%s" % (C_TYPES[out.dtype], alone, out.c_name))
        used = {w for line in lines for w in re.findall(r"[A-Za-z_]\w*", line)}
        dims = [d for d in dict.fromkeys(d for form in forms for d in form.dims) if target.dim_name(d) in used]
        is_narrow = self.is_narrow(forms)
        if is_narrow:
            given = [target.given_name(d) for d in dims]
            lines = narrowed(lines, {target.dim_name(d): name for d, name in zip(dims, given)})
        else:
            given = [target.dim_name(d) for d in dims]
        index = "int" if is_narrow else "long long"
        place = "int" if is_narrow and all(form.place_reach <= NARROW_LIMIT for form in forms) else "long long"
        lines = [line.replace("(place_t)", "(%s)" % place if place != index else "") for line in lines]
        lines = [re.sub(r"\bplace_t\b", place, re.sub(r"\bindex_t\b", index, line)) for line in lines]
        params += ["long long %s" % name for name in given]
        args = [b.name for b in pointers] + [out.name] + ["i64:%s" % d for d in dims]
        if len(args) > ARG_LIMIT:
            raise Unsupported("a kernel of %d arguments" % len(args))
        whole = target.count(kernel.shape)
        title = "/* %s: %s. */" % (", ".join(kernel.ops) or "copy", self.way(kernel))
        if cuda:
            launch = {"kernel": kernel.name, "grid": [self.grid(kernel, whole)], "block": [target.block], "args": args}
            bounds = [" __launch_bounds__(%s)" % (seed_tile.BOUNDS if form.tiled_fold else target.block)
                      for form in forms]
            if kernel.tiled_fold:
                launch.update(grid=seed_tile.grid(kernel.tiled_fold, target), block=["TILE * TILE"])
            elif forms[-1].tiled_fold:
                launch["grid"], launch["block"] = seed_tile.either(forms[-1].tiled_fold, target, whole)
                bounds[0] = "\n#if %s\n   %s\n#else\n   %s\n#endif" % (kernel.condition, bounds[0], bounds[1])
            opening = 'extern "C" __global__ void%s\n    %s(' % (bounds[0], kernel.name)
        else:
            title = title.replace("thread", "unit")
            launch = {"function": kernel.name, "units": whole, "args": args}
            opening = "void %s(" % kernel.name
            params = ["long unit_begin", "long unit_end"] + params
        return title + "\n" + _signature(opening, params) + "\n{\n" + "\n".join(lines) + "\n}\n", json.dumps(launch)

    def is_narrow(self, forms):
        """Whether a kernel's indices may be of 32 bits: all variants have room in them, twice, as loops step beyond their ends; no value is an
        integer, which might be an index; and there are divisions or tiles, for whose sake it is worth it."""
        return self.target.language == "cuda" and any(form.divides or form.tiled_fold for form in forms) and \
            all(form.reach <= NARROW_LIMIT for form in forms) and not _has_integers(forms[0].root)

    def way(self, kernel):
        """In words, which threads compute what."""
        if kernel.block_fold is not None:
            return "a block per element"
        if kernel.tiled_fold is not None:
            return "TILE x TILE threads per block"
        if isinstance(kernel.root, Scan):
            return "a line per thread" + (", or per block" if kernel.others else "")
        return "%s elements per thread, the last one again where there are no more" % self.target.each if kernel.is_short \
            else "one thread per element"

    def grid(self, kernel, whole):
        if isinstance(kernel.root, Scan) and kernel.others:
            return seed_scan.grid(kernel.root, self.target)
        if kernel.block_fold is not None:
            return "cdiv(%s, ROWS)" % whole if kernel.others else whole
        if kernel.others:
            return "cdiv(%s, %s / SPLIT)" % (whole, self.target.block)
        return "cdiv(%s, %s)" % (whole, self.target.block + (" * " + self.target.each if kernel.is_short else "") +
                                 (" * WIDE" if kernel.is_wide else ""))

    def form_lines(self, kernel):
        """What stands between the brackets of a kernel."""
        target, body = self.target, kernel.body_lines()
        if target.language != "cuda":
            return kernel.extent_lines(body) + ["    for (long i = unit_begin; i < unit_end; i++) {"] + body + ["    }"]
        if kernel.tiled_fold is not None or kernel.rows_fold is not None:
            return kernel.extent_lines(body) + body
        if kernel.block_fold is not None:
            return kernel.extent_lines(body) + ["    const index_t i = blockIdx.x;"] + body
        count = kernel.times(kernel.shape)
        lines = kernel.extent_lines(body + [count])
        if kernel.split_fold is not None:
            per = "(%s / SPLIT)" % target.block
            return lines + ["    const index_t last = %s - 1, at = (index_t)blockIdx.x * %s + threadIdx.x %% %s;" % (count, per, per),
                            "    const index_t i = at < last ? at : last;", "    const int slice = threadIdx.x / %s;" % per] + body
        kernel.is_short = not isinstance(kernel.root, Scan) and not any("for (" in line for line in body)
        if not kernel.is_short:
            return lines + ["    const index_t i = (index_t)blockIdx.x * %s + threadIdx.x;" % target.block,
                            "    if (i >= %s)" % count, "        return;"] + body
        extents = lines
        lines = extents + ["    const index_t last = %s - 1;" % count, "#pragma unroll",
                  "    for (int e = 0; e < %s; e++) {" % target.each,
                  "        const index_t at = ((index_t)blockIdx.x * %s + e) * %s + threadIdx.x;" % (target.each, target.block),
                  "        const index_t i = at < last ? at : last;"]
        lines += ["    " + line for line in body] + ["    }"]
        own = seed_wide.read_at_own_place(kernel, body) if target.offers("WIDE") else []
        if not own:
            return lines
        kernel.is_wide = True
        self.offer("WIDE", seed_wide.VALUES)
        self.wide += own + [kernel.is_written]
        return ["#if WIDE == 1"] + lines + ["#elif WIDE > 1"] + extents + \
            seed_wide.lines(kernel, body, count, own, kernel.is_written) + ["#endif"]


def _signature(opening, params):
    indent = len(opening.split("\n")[-1])
    lines, line = [], opening
    for position, param in enumerate(params):
        piece = param + (")" if position == len(params) - 1 else ",")
        if len(line.split("\n")[-1]) + len(piece) + 1 > 118:
            lines.append(line.rstrip())
            line = " " * indent
        line += piece if line.endswith("(") or line.strip() == "" else " " + piece
    return "\n".join(lines + [line])


def _dtype(node):
    return {"float": "float32", "double": "float64", "long long": "int64", "bool": "bool"}[node.kind]


def _topological(results):
    order, state = [], {}
    pending = [(n, False) for n in reversed(results)]
    while pending:
        node, is_done = pending.pop()
        if is_done:
            order.append(node)
        elif node.number not in state:
            state[node.number] = True
            pending.append((node, True))
            pending += [(n, False) for n, _ in reversed(node.edges)]
    return order


def narrowed(lines, given):
    """A kernel's lines, with its dims as indices; extents, whose terms may be larger than they are, are taken from the dims that are given."""
    lines = [WORD.sub(lambda m: given.get(m.group(), m.group()), line) if EXTENT.match(line) else line for line in lines]
    used = {word for line in lines for word in WORD.findall(line)}
    return ["    const index_t %s = %s;" % pair for pair in given.items() if pair[0] in used] + lines


def _has_integers(root):
    """Whether an integer is read or computed on the way to root."""
    pending, seen = [root], set()
    while pending:
        node = pending.pop()
        if node.kind == "long long" or isinstance(node, Recurrence):
            return True
        if node.number not in seen and (node is root or node.buffer is None):
            pending += [n for n, _ in node.edges]
        seen.add(node.number)
    return False


def _cost(node):
    """Operations of one element, as far as no fold."""
    total, pending, seen = 0, [node], set()
    while pending:
        one = pending.pop()
        if one.number in seen or isinstance(one, (Fold, Scan, Recurrence, Source)):
            continue
        seen.add(one.number)
        total += one.cost
        pending += [n for n, _ in one.edges]
    return total
