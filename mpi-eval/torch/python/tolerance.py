"""How much an answer may be off where nobody says it: by the error of PyTorch's own answer in the task's types."""
import math

import torch

from atoll.admission import largest_share, root_mean_square

# KernelBench, src/kernelbench/eval.py, get_tolerance_for_precision: 1e-4 for float32, 1e-2 for float16 and bfloat16
BENCHMARK_TOLERANCE = {"f64": 1e-4, "f32": 1e-4, "f16": 1e-2, "bf16": 1e-2}
SAFETY = 4.0  # times eager's worst error against float64


def benchmark_tolerance(dtypes):
    return max(BENCHMARK_TOLERANCE.get(dtype, 0.0) for dtype in dtypes)


class Spread:
    """Eager's errors over draws."""

    def __init__(self):
        self.worst, self.scale, self.off, self.draws = 0.0, None, 0.0, 0

    def add(self, right, eager):
        """The outputs of one draw, as doubles: the true ones, and those of the task's types."""
        self.draws += 1
        for r, e in zip(right, eager):
            size = root_mean_square(r, is_of_finite=True)
            self.scale = size if self.scale is None else min(self.scale, size)
            share = relative_error(e, r, size)
            self.worst = max(self.worst, share)
            self.off = max(self.off, share * size)  # what the smallest outputs of a draw may be off by

    def bounds(self, dtypes, precision, device):
        """A task's tolerance for outputs of these types, and what it is from; integers are exact.  precision: of the true answers,
        "f64" or that of the task's types, which then are eager's own."""
        if all(dtype[0] in "iu" for dtype in dtypes):
            return {"rtol": 0, "from": "the outputs are integers"}
        least = benchmark_tolerance(dtypes)
        share = rounded(max(least, SAFETY * self.worst if math.isfinite(self.worst) else 0.0))
        place = "torch %s on %s" % (torch.__version__, "the host" if device.type == "cpu" else "a GPU")
        told = "%g times eager's worst error against %s (%.3g in %d draws, %s), at least KernelBench's %g" % (
            SAFETY, precision, self.worst, self.draws, place, least) if precision == "f64" else \
            "KernelBench's %g: eager's error is not known, as the module does not run in double precision (%s)" % (least, place)
        off = SAFETY * self.off if math.isfinite(self.off) else 0.0
        return {"rtol": share, "atol": rounded(max(share * min(1.0, self.scale or 1.0), off)) or 1e-12, "norm": rounded(2 * share), "from": told}


def rounded(value):
    return float("%.4g" % value)


def relative_error(answer, right, size):
    """Largest |answer - right| over |right| + the root mean square."""
    return largest_share(answer, right, lambda r: r.abs() + size + 1e-300)
