"""The form of a seed's elementwise kernel that loads and stores WIDE neighbours at once, where an element is read at its own place."""

import re

from atoll.seed_kernel import C_TYPES, WORD

VALUES = [1, 4, 2]


def read_at_own_place(kernel, body):
    """The buffers of which an element's own one is read, in their order."""
    return [b for b in kernel.pointers.values() if any(re.search(r"\b%s\[i\]" % b.c_name, line) for line in body)]


def type_of(buffer):
    return "wide_" + C_TYPES[buffer.dtype].replace(" ", "_")


def types(buffers):
    """Definitions of the types that they are moved in."""
    return ["struct alignas(WIDE * sizeof(%s)) wide_%s {\n    %s of[WIDE];\n};" % (t, t.replace(" ", "_"), t)
            for t in sorted({C_TYPES[b.dtype] for b in buffers})]


def lines(kernel, body, count, own, out):
    """What a kernel does with the elements of a block, WIDE > 1: all of them by vectors where the block is full and every pointer is
    aligned, else one by one.  body: the lines of the element i, which reads the buffers `own` at [i] and writes `out` there."""
    target = kernel.target
    span = "%s * %s * WIDE" % (target.each, target.block)
    aligned = ["(unsigned long long)%s %% sizeof(%s) == 0" % (b.c_name, type_of(b)) for b in own + [out]]
    vectors = {b.c_name: kernel.fresh("all") for b in own}
    text = ["    const index_t end = %s, start = (index_t)blockIdx.x * (%s);" % (count, span),
            "    if (start + %s <= end && %s) {" % (span, " &&\n        ".join(aligned)),
            "#pragma unroll",
            "        for (int e = 0; e < %s; e++) {" % target.each,
            "            const index_t at = start + (e * %s + threadIdx.x) * WIDE;" % target.block]
    text += ["            const %s %s = *(const %s *)(%s + at);" % (type_of(b), vectors[b.c_name], type_of(b), b.c_name) for b in own]
    text += ["            %s all;" % type_of(out), "#pragma unroll", "            for (int p = 0; p < WIDE; p++) {"]
    vectors[out.c_name] = "all"
    place = re.compile(r"\b(%s)\[i\]" % "|".join(vectors))
    moved = [place.sub(lambda m: vectors[m.group(1)] + ".of[p]", line) for line in body]
    text += ["                const index_t i = at + p;"] if any("i" in WORD.findall(line) for line in moved) else []
    text += ["            " + line for line in moved]
    text += ["            }", "            *(%s *)(%s + at) = all;" % (type_of(out), out.c_name), "        }", "        return;", "    }",
             "    for (index_t i = start + threadIdx.x; i < end && i < start + %s; i += %s) {" % (span, target.block)]
    return text + ["    " + line for line in body] + ["    }"]
