"""The text of one kernel of a seed, written while its nodes compute an element (seed_node.py).

A statement is a line, or a `let` that a later pass puts where its name is used when that is once and in the same block.
Indices are of type index_t and places in a tensor of type place_t, which are what seed.py makes of them.
"""

import re

from atoll.aten_graph import Unsupported
from atoll.seed_node import is_one, product

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
EXTENT = re.compile(r" +const index_t n[0-9]+ = ")  # how the definition of an extent begins
PIECE = 256        # terms that are summed on their own before they are added to a total in f32, so that long sums stay exact
LEAST_BLOCK = 64   # threads of a block
# What no name of ours may be: C and C++, and what a source of a candidate may not say (docs/spec/rules.md).
RESERVED = frozenset("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto half if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true
    try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    abort accept alarm alloca bind calloc chrono clock clone close connect exit expf free kill link listen malloc mount open
    pipe poll printf puts raise random read realloc recv remove rename select send signal sleep socket stat stdin stdout
    stderr system time times truncate wait write environ
    abs acosf asinf atanf ceilf cosf erff exp exp2f expm1f fabs fabsf floor floorf fmaxf fminf fmod fmodf log log1pf log2f
    logf max min pow powf rint rintf rsqrtf sin sinf sqrt sqrtf tan tanf tanh tanhf truncf threadIdx blockIdx blockDim gridDim
    INFINITE NULL float4 BLOCK EACH TILE PER DEPTH RUN WIDE SPLIT UNROLL ROWS TILED index_t place_t last gamma index j0 j1 jn y0 y1 yn unit_begin unit_end from_bf16 to_bf16 from_f16 to_f16 linux unix
    """.split())
C_TYPES = {"float64": "double", "float32": "float", "float16": "unsigned short", "bfloat16": "unsigned short",
           "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char", "uint8": "unsigned char",
           "bool": "unsigned char"}
LOCAL = re.compile(r"[rzepq]|of|half|k0|(first_|own_|of_|from_)?(row|column)|(next_)?(left|right)|sums|parts|count|slab|term|across|down|group|member|values|places?|totals|nought|start|own|carry|ends|side|slice|rounds|wide_[a-z_]+|(i|v|k|n|at|part|end|sum|product|most|least|any|all)[0-9]*")
FOLD_NAMES = {"sum": "sum", "product": "product", "max": "most", "min": "least", "argmax": "most", "argmin": "least",
              "any": "any", "all": "all"}


def wrap(text):
    """text as an operand of anything."""
    if re.fullmatch(r"[\w.]+(\[[^\[\]]*\])*", text):
        return text
    if text.startswith("("):
        depth = 0
        for position, letter in enumerate(text):
            depth += (letter == "(") - (letter == ")")
            if depth == 0:
                if position == len(text) - 1:
                    return text
                break
    return "(%s)" % text


class Let:
    def __init__(self, depth, name, kind, text, op, soft):
        self.depth, self.name, self.kind, self.text, self.op, self.soft = depth, name, kind, text, op, soft

    def lines(self):
        note = " /* %s */" % self.op if self.op else ""
        return "%sconst %s %s = %s;%s" % ("    " * self.depth, self.kind, self.name, self.text, note)


class Line:
    def __init__(self, depth, text):
        self.depth, self.text = depth, text

    def lines(self):
        return "    " * self.depth + self.text


class Kernel:
    """root: the node whose elements it computes; target: a Target of seed.py."""

    def __init__(self, name, root, target):
        self.name, self.root, self.target = name, root, target
        self.statements, self.depth, self.scopes = [], target.depth, [{}]
        self.counts, self.pointers, self.dims, self.extents = {}, {}, [], {}
        self.ops = []
        self.reach = self.place_reach = 0  # the indices and the places in tensors that are computed ...
        self.divides = False               # ... and whether that takes divisions
        self.own = None                    # (names, statements before, scope): what follows from these names alone stands there
        self.reshape(root.shape)
        self.block_fold = self.tiled_fold = self.split_fold = self.rows_fold = None
        self.long_fold = None  # whose innermost loop may be unrolled
        self.is_short = self.is_wide = False  # a thread has several elements; it may have vectors of them
        self.condition, self.others = "", []  # of its parameters, under which this form is the kernel's; its other forms
        self.splits = []  # (index, extents, the flat index that they were made of)

    # ---- names ----

    def fresh(self, stem):
        """A name of ours, one of LOCAL."""
        self.counts[stem] = self.counts.get(stem, 0) + 1
        return "%s%d" % (stem, self.counts[stem])

    def dim_text(self, expression):
        """An expression over dims as C, the dims as this kernel's parameters."""
        def one(match):
            if match.group() not in self.dims:
                self.dims.append(match.group())
            return self.target.dim_name(match.group())
        return WORD.sub(one, expression)

    def extent(self, values):
        """C text of a number of the variants: a literal, a dim, or a name defined at the top."""
        text = self.target.expression(values)
        self.reaches([values])
        if re.fullmatch(r"\w+", text):
            return self.dim_text(text)
        if values not in self.extents:
            self.extents[values] = (self.fresh("n"), self.dim_text(text))
        return self.extents[values][0]

    def times(self, extents):
        """Their product, as an operand of a product."""
        number, words = 1, []
        for extent in extents:
            if len(set(extent)) == 1:
                number *= extent[0]
            else:
                words.append(self.extent(tuple(extent)))
        return " * ".join(([str(number)] if number != 1 or not words else []) + words)

    # ---- indices ----

    def reshape(self, shape):
        """Elements of this shape are the kernel's; before anything is written."""
        self.shape = tuple(shape)
        self.reaches(shape)
        self.coordinates = self.make_coordinates()
        self.own = {"i", *self.coordinates}, 0, 0

    def make_coordinates(self):
        """The element's own index, from the flat one."""
        axes = [a for a, e in enumerate(self.shape) if not is_one(e)]
        names = ["0"] * len(self.shape)
        for a in axes:
            names[a] = "i" if len(axes) == 1 else "i%d" % axes.index(a)
        return names

    def coordinate_lines(self, used):
        axes = [a for a, e in enumerate(self.shape) if not is_one(e)]
        lines = []
        for position, a in enumerate(axes):
            if self.coordinates[a] in (None, "i") or self.coordinates[a] not in used:
                continue
            inner = self.times([self.shape[b] for b in axes[position + 1:]])
            text = "i" if inner == "1" else "i / %s" % wrap(inner)
            if position:
                text = "%s %% %s" % (text, self.extent(self.shape[a]))
            self.divides = self.divides or len(axes) > 1
            lines.append("const index_t %s = %s;" % (self.coordinates[a], text))
        return lines

    def flat(self, index, shape, is_place=True):
        """The place of an element in a tensor, or a flat index."""
        if is_place:
            self.place_reach = max(self.place_reach, max(product(shape, self.target.variants)))
        else:
            self.reaches(shape)
        terms = [(i, e) for i, e in zip(index, shape) if not is_one(e)]
        terms = self.joined(terms)
        text = ""
        for i, e in terms:
            if text:
                cast = "(place_t)" if is_place and "place_t" not in text else ""
                text = "%s%s * %s" % (cast, wrap(text), self.extent(e)) if text != "0" else "0"
            text = i if text in ("", "0") else text if i == "0" else "%s + %s" % (text, i)
        return text or "0"

    def joined(self, terms):
        """Neighbouring axes whose index was split from a flat one have that one again, or its quotient or remainder where they are its first
        or its last axes alone."""
        own = [(i, e) for i, e in zip(self.coordinates, self.shape) if not is_one(e)]
        splits = [([i for i, _ in own], [e for _, e in own], "i")] if own and None not in self.coordinates else []
        for index, extents, flat in splits + self.splits:
            terms = self.joined_run(terms, index, extents, lambda: flat)
            for count in range(len(index) - 1, 1, -1):
                inner, outer = self.times(extents[count:]), self.times(extents[-count:])
                terms = self.joined_run(terms, index[-count:], extents[-count:], lambda: self.place("%s %% %s" % (wrap(flat), wrap(outer))))
                terms = self.joined_run(terms, index[:count], extents[:count], lambda: self.place("%s / %s" % (wrap(flat), wrap(inner))))
        return terms

    def joined_run(self, terms, index, extents, whole):
        for start in range(len(terms) - len(index) + 1):
            run = terms[start:start + len(index)]
            if [i for i, _ in run] == index and [e for _, e in run] == extents:
                return terms[:start] + [(whole(), product(extents, self.target.variants))] + terms[start + len(index):]
        return terms

    def place(self, text):
        """An index that is used more than once.  What divides a thread's own index alone stands before all loops: a compiler leaves a
        division below the condition that it finds it in."""
        if re.fullmatch(r"\w+", text):
            return text
        divides = re.search("[/%]", text) is not None
        self.divides = self.divides or divides
        if divides and self.own and self.depth > self.target.depth and self.own_names().issuperset(WORD.findall(text)):
            return self.remember(("place", text), lambda: self.put_first(text), self.own[2])
        return self.remember(("place", text), lambda: self.put_let("index_t", text, "", "at", True))

    def own_names(self):
        return self.own[0].union(self.target.renamed.values(), (name for name, _ in self.extents.values()))

    def put_first(self, text):
        names, count, scope = self.own
        name = self.fresh("at")
        self.statements.insert(count, Let(self.target.depth, name, "index_t", text, "", True))
        self.own = names, count + 1, scope
        return name

    def reaches(self, extents):
        """Indices of so many elements are computed."""
        self.reach = max(self.reach, max(product(extents, self.target.variants)))

    def split(self, flat, shape):
        """The index in shape of a flat one."""
        self.reaches(shape)
        axes = [a for a, e in enumerate(shape) if not is_one(e)]
        index = ["0"] * len(shape)
        for position, a in enumerate(axes):
            inner = self.times([shape[b] for b in axes[position + 1:]])
            text = flat if inner == "1" else "%s / %s" % (wrap(flat), wrap(inner))
            index[a] = "%s %% %s" % (text if inner != "1" else wrap(flat), self.extent(shape[a])) if position else text
            index[a] = self.place(index[a])
        if len(axes) > 1:
            self.splits.append(([index[a] for a in axes], [shape[a] for a in axes], flat))
        return index

    def reshape_index(self, index, shape, to):
        """The index in shape `to` of the element that has this one in `shape`: axes that stay stay."""
        variants = self.target.variants
        have = [(i, e) for i, e in zip(index, shape) if not is_one(e)]
        want = [a for a, e in enumerate(to) if not is_one(e)]
        result = ["0"] * len(to)
        while have and want:
            group, axes = [have.pop(0)], [want.pop(0)]
            while True:
                left = product([e for _, e in group], variants)
                right = product([to[a] for a in axes], variants)
                if left == right:
                    break
                if have and (not want or all(x <= y for x, y in zip(left, right))):
                    group.append(have.pop(0))
                elif want:
                    axes.append(want.pop(0))
                else:
                    raise Unsupported("a view that does not keep its elements")
            if len(group) == 1 and len(axes) == 1:
                result[axes[0]] = group[0][0]
                continue
            flat = self.place(self.flat([i for i, _ in group], [e for _, e in group], False))
            for a, text in zip(axes, self.split(flat, [to[a] for a in axes])):
                result[a] = text
        return result

    # ---- statements ----

    def line(self, text):
        self.statements.append(Line(self.depth, text))

    def open(self, text):
        self.line(text)
        self.depth += 1
        self.scopes.append({})

    def leave(self):
        """Ends a block without its bracket."""
        self.depth -= 1
        self.scopes.pop()

    def close(self):
        self.leave()
        self.line("}")

    def close_to(self, depth):
        while self.depth > depth:
            self.close()

    def guard(self, condition):
        """What follows, to the end of the loop, only where condition holds."""
        self.open("if (%s) {" % condition)

    def remember(self, key, make, depth=-1):
        for scope in self.scopes:
            if key in scope:
                return scope[key]
        result = make()
        self.scopes[depth][key] = result
        return result

    def put_let(self, kind, text, op, stem, soft):
        name = self.fresh(stem)
        self.statements.append(Let(self.depth, name, kind, text, op, soft))
        return name

    def let(self, kind, text, op):
        if op and op not in self.ops:
            self.ops.append(op)
        return self.put_let(kind, text, op, "v", not op)

    def variable(self, kind, value, op, stem="v"):
        if op and op not in self.ops:
            self.ops.append(op)
        name = self.fresh(stem)
        self.line("%s %s = %s;%s" % (kind, name, value, " /* %s */" % op if op else ""))
        return name

    # ---- values ----

    def value(self, node, index):
        """C expression of an element: a name, a literal or something short."""
        if node is not self.root and node.buffer is not None:
            return self.remember((node.number, tuple(index)),
                                 lambda: self.load(node, self.flat(index, node.shape)))
        return self.remember((node.number, tuple(index)), lambda: node.emit(self, index))

    def load(self, node, flat):
        pointer = self.pointer(node.buffer)
        offset = node.buffer.offset_text(self)
        at = flat if not offset else offset if flat == "0" else "%s + %s" % (offset, flat)
        text = self.target.load("%s[%s]" % (pointer, at), node.buffer.dtype)
        return self.put_let(node.kind, text, "", "v", True)

    def pointer(self, buffer):
        return self.pointers.setdefault(buffer.key, buffer).c_name

    # ---- folds ----

    def fold(self, node, index):
        if node.op and node.op not in self.ops:
            self.ops.append(node.op)
        if self.block_fold is node:
            return self.fold_by_block(node, index)
        start = self.depth
        names = self.accumulators(node)
        opened, part = [], []
        cut, step = self.piece_loop(node)

        def loops(position):
            nonlocal part
            while len(opened) <= position:
                at, first, bound = len(opened), "0", self.extent(node.loops[len(opened)])
                if at == cut and step > 1:
                    first, bound = self.open_pieces(first, bound, step)
                    part = [self.variable("float", "0", "", "part"), self.depth]
                name = self.fresh("k")
                opened.append(name)
                move = name + "++"
                if at == 0 and self.split_fold is node:
                    first, move = "slice" if first == "0" else first + " + slice", name + " += SPLIT"
                if len(opened) == len(node.loops):
                    self.unroll(node)
                self.open("for (index_t %s = %s; %s < %s; %s) {" % (name, first, name, bound, move))
                if at == cut and step == 1:
                    part = [self.variable("float", "0", "", "part"), self.depth]
            return opened[position]

        term = node.body(self, index, loops)
        self.accumulate(node, part or names, term, lambda: self.flat(opened, node.loops, False))
        self.close_pieces(start, names, part)
        if self.split_fold is node:
            self.share(node, names, ">= %s / SPLIT" % self.target.block, "slice > 0 || at > last", "threadIdx.x")
        return names[-1]

    def unroll(self, node):
        """What stands before the innermost loop of a fold."""
        if self.long_fold is node:
            for text in ("#if UNROLL > 0", "#pragma unroll rounds", "#endif"):
                self.line(text)

    def piece_loop(self, node):
        """Which of its loops a long sum in f32 is cut at, and how many rounds of it are a piece; (None, 0) where it is short."""
        if node.fold != "sum" or self.target.accumulator(node.value_kind) != "float":
            return None, 0
        inner = 1
        for position in reversed(range(len(node.loops))):
            terms = max(product(node.loops[position:], self.target.variants))
            if terms > PIECE:
                return position, PIECE // inner
            inner = terms
        return None, 0

    def open_pieces(self, first, bound, step):
        """Opens a loop over pieces; where the loop over the terms of one starts and ends."""
        name = self.fresh("k")
        self.open("for (index_t %s = %s; %s < %s; %s += %s) {" % (name, first, name, bound, name, step))
        end = self.put_let("index_t", "%s + %s < %s ? %s + %s : %s" % (name, step, bound, name, step, bound), "", "end",
                           False)
        return name, end

    def close_pieces(self, start, names, part):
        """Closes what a fold has opened.  part: nothing, or the sum of a piece and the depth of the block that it lives in."""
        while True:
            if part and self.depth == part[1]:
                self.line("%s += %s;" % (names[0], part[0]))
            if self.depth == start:
                return
            self.close()

    def accumulators(self, node):
        is_arg = node.fold in ("argmax", "argmin")
        kind = self.target.accumulator(node.value_kind)
        names = [self.variable(kind, self.neutral(node), "", FOLD_NAMES[node.fold])]
        if is_arg:
            names.append(self.variable("long long", "0", "", "at"))
        return names

    def neutral(self, node):
        value = node.NEUTRAL[node.fold]
        if node.value_kind == "long long" and "INFINITE" in value:
            return "-9223372036854775807LL - 1" if value.startswith("-") else "9223372036854775807LL"
        return value

    def accumulate(self, node, names, term, position):
        last = self.statements[-1] if self.statements else None
        if isinstance(last, Let) and last.name == term and last.depth == self.depth:
            last.soft = True
        name = names[0]
        if node.fold == "sum":
            self.line("%s += %s;" % (name, term))
        elif node.fold == "product":
            self.line("%s *= %s;" % (name, term))
        elif node.fold in ("any", "all"):
            self.line("%s = %s %s %s;" % (name, name, "||" if node.fold == "any" else "&&", term))
        elif node.fold in ("max", "min"):
            self.line("%s = %s;" % (name, self.extreme(node, name, term)))
        else:
            sign = ">" if node.fold == "argmax" else "<"
            self.open("if (%s %s %s) {" % (term, sign, name))
            self.line("%s = %s;" % (name, term))
            self.line("%s = %s;" % (names[1], position()))
            self.close()

    def extreme(self, node, a, b):
        if node.value_kind == "float" and self.target.accumulator("float") == "float":
            return "f%sf(%s, %s)" % (node.fold, a, b)
        if node.value_kind in ("float", "double"):
            return "f%s(%s, %s)" % (node.fold, a, b)
        return "%s %s %s ? %s : %s" % (wrap(b), ">" if node.fold == "max" else "<", a, b, a)

    def fold_by_block(self, node, index):
        """The threads of a block share the loops, then what they found."""
        start = self.depth
        names = self.accumulators(node)
        total, block = self.times(node.loops), self.target.block
        total = self.extent(product(node.loops, self.target.variants)) if "*" in total else total
        first, step = "threadIdx.x", block
        if node.parts:
            first = "(index_t)%s * %s + threadIdx.x" % (wrap(index[-1]), block)
            step = "%d * %s" % (node.parts, block)
            index = index[:-1]
        part, terms = [], max(product(node.loops, self.target.variants))
        if self.piece_loop(node)[1] and terms > PIECE * LEAST_BLOCK * (node.parts or 1):
            first, total = self.open_pieces(first, total, "%d * %s" % (PIECE, step))
            part = [self.variable("float", "0", "", "part"), self.depth]
        self.unroll(node)
        self.open("for (index_t r = %s; r < %s; r += %s) {" % (first, total, step))
        places = self.split("r", node.loops)
        self.accumulate(node, part or names, node.body(self, index, lambda position: places[position]), lambda: "r")
        self.close_pieces(start, names, part)
        self.share(node, names, "> 0", "threadIdx.x > 0", "0")
        return names[-1]

    def share(self, node, names, bound, others, place, leave="return"):
        """Makes one of what the threads of a block found, by halves as long as `bound` holds: then `others` leave, and the rest have theirs at
        `place`."""
        kinds = [self.target.accumulator(node.value_kind)] + ["long long"] * (len(names) - 1)
        shared = [self.fresh("part") for _ in names]
        for kind, name in zip(kinds, shared):
            self.line("__shared__ %s %s[%s];" % (kind, name, self.target.block))
        for name, own in zip(shared, names):
            self.line("%s[threadIdx.x] = %s;" % (name, own))
        self.line("__syncthreads();")
        self.open("for (unsigned half = %s / 2; half %s; half /= 2) {" % (self.target.block, bound))
        self.open("if (threadIdx.x < half) {")
        here, there = "%s[threadIdx.x]", "%s[threadIdx.x + half]"
        a, b = here % shared[0], there % shared[0]
        if node.fold == "sum":
            self.line("%s += %s;" % (a, b))
        elif node.fold == "product":
            self.line("%s *= %s;" % (a, b))
        elif node.fold in ("any", "all"):
            self.line("%s = %s %s %s;" % (a, a, "||" if node.fold == "any" else "&&", b))
        elif node.fold in ("max", "min"):
            self.line("%s = %s;" % (a, self.extreme(node, a, b)))
        else:
            sign = ">" if node.fold == "argmax" else "<"
            self.open("if (%s %s %s || (%s == %s && %s < %s)) {" % (b, sign, a, b, a, there % shared[1],
                                                                    here % shared[1]))
            self.line("%s = %s;" % (a, b))
            self.line("%s = %s;" % (here % shared[1], there % shared[1]))
            self.close()
        self.close()
        self.line("__syncthreads();")
        self.close()
        self.open("if (%s) {" % others)
        self.line(leave + ";")
        self.close()
        for name, own in zip(shared, names):
            self.line("%s = %s[%s];" % (own, name, place))

    # ---- text ----

    def body_lines(self):
        statements = inline(self.statements)
        used = {w for s in statements for w in WORD.findall(s.text if isinstance(s, Let) else s.text)}
        coordinates = self.coordinate_lines(used)
        pad = "    " * self.target.depth
        return [pad + line for line in coordinates] + [s.lines() for s in statements]

    def extent_lines(self, lines):
        """Definitions of the extents that the lines use; a later one may use none of the earlier."""
        used = {w for line in lines for w in WORD.findall(line)}
        return ["    const index_t %s = %s;" % (name, text)
                for name, text in self.extents.values() if name in used]


def inline(statements):
    """Puts every soft let that is used once, in its own block, where it is used; drops those never used."""
    changed = True
    while changed:
        changed = False
        counts = {}
        for s in statements:
            for word in WORD.findall(s.text):
                counts[word] = counts.get(word, 0) + 1
        for position, s in enumerate(statements):
            if not isinstance(s, Let):
                continue
            uses = counts.get(s.name, 0)
            if uses == 0:
                del statements[position]
                changed = True
                break
            if not s.soft or uses != 1:
                continue
            target = _user(statements, position)
            if target is None or len(target.text) + len(s.text) > 90:
                continue
            bare = re.search(r"(= |\+= )%s;?$" % s.name, target.text) or target.text == s.name
            text = s.text if bare else wrap(s.text)
            target.text = re.sub(r"\b%s\b" % s.name, lambda m: text, target.text)
            del statements[position]
            changed = True
            break
    return statements


def _user(statements, position):
    """The statement that uses a let, when it is in the same block."""
    let = statements[position]
    for s in statements[position + 1:]:
        if s.depth < let.depth:
            return None
        if let.name in WORD.findall(s.text):
            return s if s.depth == let.depth and not s.text.startswith("for (") else None
    return None
