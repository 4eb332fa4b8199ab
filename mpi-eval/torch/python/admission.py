"""Whether a problem is worth a search: what robust-kbench filters by (arXiv 2509.14279), told in units of the task's tolerance.

1 range: one number would pass for the whole output. 2 std: the answer to another draw would pass. 3 axis: one value along an
axis would pass. 4 impact: other values of an input give the same answer. 5 baseline: PyTorch's own form does more than it has
to (waste_in).  `public` holds the benchmark's own figures beside: everything within 0.01."""
import math

import torch

PUBLIC = 0.01
AXIS_LEAST = 2
PIECE = 1 << 17  # elements


class Tolerance:
    """rtol, atol, norm; exact: integers."""

    def __init__(self, rtol, atol, norm):
        self.rtol, self.atol, self.norm = rtol, atol, norm

    def passes(self, answer, right):
        off = size = 0.0
        for a, r in pieces(answer, right):
            difference = (a - r).abs()
            if bool((difference > self.atol + self.rtol * r.abs()).any()):
                return False
            off, size = off + float((difference ** 2).sum()), size + float((r ** 2).sum())
        return not self.norm or math.sqrt(off) <= self.norm * math.sqrt(size)

    def is_same(self, answer, right):
        """No element differs by more than what is allowed."""
        return largest_share(answer, right, lambda r: self.atol + self.rtol * r.abs() + 1e-15 * r.abs() + 1e-300, enough=1) <= 1


def judge(draws, tolerance, silent):
    """draws: per draw the list of outputs in float64.  silent: inputs that change nothing.  [{criterion, reason}]"""
    marks = []
    for k in range(len(draws[0])):
        name = "y" if len(draws[0]) == 1 else "y%d" % k
        each = [d[k] for d in draws]
        first = each[0]
        if not all(is_finite(y) for y in each):
            marks.append(("finite", "%s is not finite everywhere" % name))
        elif first.numel() > 1 and all(tolerance.passes((y.max() + y.min()) / 2, y) for y in each):
            marks.append(("range", "%s lies between %.4g and %.4g: one number passes for all of it"
                          % (name, float(first.min()), float(first.max()))))
        elif all(tolerance.passes(other, y) for y, other in zip(each, each[1:] + each[:1])):
            marks.append(("std", "the %s of another draw passes: it hardly depends on the inputs" % name))
        else:
            axis = flat_axis(each, tolerance)
            if axis is not None:
                marks.append(("axis", "%s is the same along axis %d" % (name, axis)))
    for name in silent:
        marks.append(("impact", "other values of %s give the same answer" % name))
    return [{"criterion": criterion, "reason": reason} for criterion, reason in marks]


def flat_axis(each, tolerance):
    """The first axis along which one value would pass in every draw; None."""
    shape = each[0].shape
    for axis in range(len(shape)):
        if shape[axis] >= AXIS_LEAST and each[0].numel() > shape[axis] and \
                all(tolerance.passes(y.mean(axis, keepdim=True).expand_as(y), y) for y in each):
            return axis
    return None


def public_figures(draws, inputs_only):
    """robust-kbench's criteria as it applies them, over these draws; inputs_only: draws of the inputs, weights kept."""
    caught = {"output_range": True, "output_std": True, "output_axes": False, "input_impact": True}
    for k in range(len(draws[0])):
        stacked = torch.stack([d[k].float() for d in draws])
        caught["output_range"] &= float(stacked.min()) > -PUBLIC and float(stacked.max()) < PUBLIC
        caught["output_std"] &= small(stacked, 0)
        caught["output_axes"] |= any(small(stacked, axis) for axis in range(stacked.dim()))
        caught["input_impact"] &= small(torch.stack([d[k].float() for d in inputs_only]), 0)
    return caught


def small(values, axis):
    if values.shape[axis] < 2:
        return False  # a deviation of one value is no number, and no number is smaller than another
    others = [a for a in range(values.dim()) if a != axis]
    along = max(others, key=lambda a: values.shape[a]) if others else axis
    step = max(1, PIECE * values.shape[along] // max(1, values.numel())) if others else values.shape[axis]
    return all(bool((deviation(part.double(), axis) < PUBLIC).all()) for part in values.split(step, along))


def deviation(values, axis):
    """torch.std, which takes thirty times as long on a host."""
    off = values - values.mean(axis, keepdim=True)
    return ((off ** 2).sum(axis) / (values.shape[axis] - 1)).sqrt()


REDUCTIONS = {"amax", "amin", "max", "min", "mean", "sum", "logsumexp"}


def waste_in(names, elements):
    """Operators that PyTorch's form need not run, read off the sequence of what ran at the check shapes: (name, elements in,
    elements out) each."""
    found = []
    for i, (name, before, after) in enumerate(elements):
        if name in REDUCTIONS and before == after and before > 0:
            found.append("%s over an axis of one element" % name)
        if i and name == elements[i - 1][0] and name.rstrip("_") in ("relu", "clamp", "hardtanh", "abs") and before == after:
            found.append("%s twice" % name)
    return sorted(set(found))


def pieces(*tensors):
    """Stretches of tensors with as many elements each, as doubles, one after the other: a benchmark's outputs are large, and what is
    made of a stretch stays in the cache.  Of one element: it stands for all of them."""
    flat = [t.reshape(-1) for t in tensors]
    for at in range(0, max(f.numel() for f in flat), PIECE):
        yield [f.double() if f.numel() == 1 else f[at:at + PIECE].double() for f in flat]


def is_finite(values):
    return all(bool(torch.isfinite(v).all()) for v, in pieces(values))


def largest_share(answer, right, bound_of, enough=math.inf):
    """Largest |answer - right| over bound_of(right); what is not finite in both alike is right.  A NaN is the largest of all; beyond
    `enough` it is not looked for further."""
    largest = 0.0
    for a, r in pieces(answer, right):
        bound = bound_of(r)
        same = (a == r) | (torch.isnan(a) & torch.isnan(r))
        share = float(torch.where(same, torch.zeros_like(bound), (a - r).abs() / bound).max())
        largest = share if math.isnan(share) else max(largest, share)
        if math.isnan(largest) or largest > enough:
            break
    return largest


def root_mean_square(values, is_of_finite=False):
    count, total = 0, 0.0
    for v, in pieces(values):
        v = v[torch.isfinite(v)] if is_of_finite else v
        count, total = count + v.numel(), total + float((v ** 2).sum())
    return math.sqrt(total / count) if count else 0.0
