"""Writes a number that differs between the variants of a task as an expression over its dims.

The expressions are those of tasks and plans (docs/spec/task.md): integers, + - * / %, comparisons.  What is found holds at
every variant given, which is all a plan is ever evaluated at; short forms are tried first.
"""
import ast

NUMBER_LIMIT = 64  # of what is tried as kernel size, stride or padding
FACTOR_LIMIT = 6   # dims of one product

ATOM, PRODUCT, SUM, COMPARISON = 3, 2, 1, 0


def fit(values, dims, names=False):
    """An expression over `dims` ({name: one integer per variant}) that has these values, one per variant; None where
    two variants with the same dims ask for different values.  names: a constant equal to a dim of every variant is
    written as that dim, otherwise as a number."""
    values = tuple(values)
    if len(set(values)) == 1:
        return _named(values, dims) if names and values[0] > 1 else str(values[0])
    by_dims = dict(zip(zip(*dims.values()), values)) if dims else {}
    if len(by_dims) < len(set(zip(values, *dims.values()))):
        return None
    varying = {name: v for name, v in zip(dims, zip(*by_dims)) if len(set(v)) > 1}
    values = tuple(by_dims.values())
    found = _search(values, varying)
    return found[0] if found else _by_case(values, varying)


def _named(values, dims):
    for name, of_dim in dims.items():
        if tuple(of_dim) == values:
            return name
    return str(values[0])


def _wrap(term, least):
    text, level = term
    return text if level >= least else "(%s)" % text


def _search(values, dims):
    for pattern in (_one_dim, _product, _two_dims, _quotient):
        found = pattern(values, dims)
        if found:
            return found
    return None


def _one_dim(values, dims):
    for name, of_dim in dims.items():
        if of_dim == values:
            return name, ATOM
    for name, of_dim in dims.items():
        found = _affine(values, of_dim, (name, ATOM))
        if found:
            return found
    for name, of_dim in dims.items():
        found = _floored(values, of_dim, (name, ATOM))
        if found:
            return found
    return None


def _plus(term, offset):
    if offset == 0:
        return term
    return "%s %s %d" % (_wrap(term, SUM), "+" if offset > 0 else "-", abs(offset)), SUM


def _times(factor, term):
    return term if factor == 1 else ("%d * %s" % (factor, _wrap(term, ATOM)), PRODUCT)


def _affine(values, of, term):
    """factor * term + offset, factor at least 1."""
    low = min(range(len(of)), key=lambda i: of[i])
    high = max(range(len(of)), key=lambda i: of[i])
    if of[high] == of[low]:
        return None
    factor, rest = divmod(values[high] - values[low], of[high] - of[low])
    offset = values[low] - factor * of[low]
    if rest or factor < 1 or any(factor * o + offset != v for o, v in zip(of, values)):
        return None
    return _plus(_times(factor, term), offset)


def _floored(values, of, term):
    """(term + shift) / divisor + offset: what strided windows leave of an extent.  The first divisor that serves, with its nearest
    shift to 0.  A shift serves where divisor * (value - offset) <= of + shift < divisor * (value - offset + 1) for all variants."""
    low, high = of.index(min(of)), of.index(max(of))
    apart, rise = of[high] - of[low], values[high] - values[low]
    if rise < 0:
        return None
    first = max(2, apart // (rise + 1) + 1)  # a quotient rises by less than apart / divisor + 1, and by more than that - 1
    last = min(NUMBER_LIMIT, of[high], (apart - 1) // (rise - 1) if rise > 1 else NUMBER_LIMIT)
    for divisor in range(first, last + 1):
        starts = [divisor * v - o for v, o in zip(values, of)]
        found = []
        for offset in (-1, 0, 1):
            least = max(max(starts) - divisor * offset, -of[low], -NUMBER_LIMIT)
            most = min(min(starts) - divisor * offset + divisor - 1, NUMBER_LIMIT)
            if least <= most:
                found.append((least if least > 0 else min(most, 0), offset))
        if found:
            shift, offset = min(found, key=lambda f: (abs(f[0]), f[0]))
            return _plus(("%s / %d" % (_wrap(_plus(term, shift), PRODUCT), divisor), PRODUCT), offset)
    return None


def _product(values, dims, depth=FACTOR_LIMIT):
    """Dims and forms of one dim, multiplied."""
    if depth == 0 or any(v == 0 for v in values):
        return None
    for name, of_dim in dims.items():
        if any(v % o for v, o in zip(values, of_dim)):
            continue
        rest = tuple(v // o for v, o in zip(values, of_dim))
        if len(set(rest)) == 1:
            return _times(rest[0], (name, ATOM))
        found = _one_dim(rest, dims) or _product(rest, dims, depth - 1)
        if found:
            return "%s * %s" % (name, _wrap(found, ATOM if "/" in found[0] else PRODUCT)), PRODUCT
    return None


def _pairs(dims):
    items = list(dims.items())
    for i, (first, of_first) in enumerate(items):
        for second, of_second in items[i + 1:]:
            yield first, of_first, second, of_second


def _two_dims(values, dims):
    """A form of the sum, difference or product of two dims."""
    combined = []
    for first, a, second, b in _pairs(dims):
        combined.append((tuple(x + y for x, y in zip(a, b)), ("%s + %s" % (first, second), SUM)))
        combined.append((tuple(x - y for x, y in zip(a, b)), ("%s - %s" % (first, second), SUM)))
        combined.append((tuple(y - x for x, y in zip(a, b)), ("%s - %s" % (second, first), SUM)))
        combined.append((tuple(x * y for x, y in zip(a, b)), ("%s * %s" % (first, second), PRODUCT)))
    for form in (_affine, _floored):
        for of, term in combined:
            found = form(values, of, term)
            if found:
                return found
    for name, of_dim in dims.items():
        for factor in range(1, NUMBER_LIMIT + 1):
            rest = tuple(v - factor * o for v, o in zip(values, of_dim))
            if len(set(rest)) == 1:
                return _plus(_times(factor, (name, ATOM)), rest[0])
            found = all(r > 0 for r in rest) and (_one_dim(rest, dims) or _product(rest, dims))
            if found:
                return "%s + %s" % (_times(factor, (name, ATOM))[0], found[0]), SUM
    return None


def _quotient(values, dims):
    """A product of dims over a dim, exactly."""
    for name, of_dim in dims.items():
        found = _product(tuple(v * o for v, o in zip(values, of_dim)), dims)
        if found:
            return "%s / %s" % (_wrap(found, PRODUCT), name), PRODUCT
    return None


def _by_case(values, dims):
    """A sum of cases, (N == 5) * 17 + (N == 64) * 33: always there, as dims tell the variants apart."""
    usual = max(values, key=values.count)
    text = str(usual)
    for i, value in enumerate(values):
        if value != usual:
            sign = "+" if value > usual else "-"
            text += " %s (%s) * %d" % (sign, _case(i, dims), abs(value - usual))
    return text


def _case(variant, dims):
    """A condition true at this variant alone."""
    others = set(range(len(next(iter(dims.values()))))) - {variant}
    terms = []
    for name, of_dim in dims.items():
        told = {i for i in others if of_dim[i] != of_dim[variant]}
        if told:
            terms.append("%s == %d" % (name, of_dim[variant]))
            others -= told
    return " && ".join(terms)


def evaluate(text, values):
    """The number of an expression, whose / is that of C on positive numbers."""
    tree = ast.parse(text.replace("&&", " and ").replace("/", "//"), mode="eval")
    return int(eval(compile(tree, "expression", "eval"), {"__builtins__": {}}, dict(values)))
