"""Draws of a task's inputs as the referee's are, in kind: the same inits and distributions (docs/spec/task.md, Draws), but
torch's own random numbers, because only figures are taken from them here."""
import zlib

import torch

from atoll.shape_fit import evaluate

DISTRIBUTIONS = ("base", "scaled", "ties", "sparse", "signed")


class Draws:
    """Of every tensor for itself: one can be drawn without the others."""

    def __init__(self, seed, distribution="base"):
        self.seed, self.distribution = seed, distribution

    def fill(self, number, shape, dtype, init, values):
        """number: of the tensor, or of its segment.  values: of the dims, for bounds that are expressions."""
        # a generator of the host's takes 32 bits of what it is given
        self.generator = torch.Generator().manual_seed(zlib.crc32(b"%d of %d" % (number, self.seed)))
        self.wide = torch.float64 if dtype == torch.float64 else torch.float32
        (kind, given), = init.items()
        count = 1
        for extent in shape:
            count *= extent
        flat = self._flat(kind, given, count, shape, values)
        return flat.reshape(shape).to(dtype)

    def _flat(self, kind, given, count, shape, values):
        last = shape[-1] if shape else 1
        if kind == "normal":
            return self._normal(count, last, given.get("mean", 0) == 0).mul_(given.get("std", 1)).add_(given.get("mean", 0))
        if kind == "uniform":
            return self._uniform(count, last, given["low"], given["high"])
        if kind == "integer":
            high = given["high"]
            high = evaluate(high, values) if isinstance(high, str) else int(high)
            return torch.randint(int(given.get("low", 0)), high, (count,), generator=self.generator)
        if kind == "permutation":
            rows = [torch.randperm(last, generator=self.generator) for _ in range(max(1, count // max(1, last)))]
            return torch.cat(rows)
        if kind == "constant":
            return torch.full((count,), float(given), dtype=self.wide)
        raise ValueError(kind)

    def _unit(self, count):
        return torch.rand(count, generator=self.generator, dtype=self.wide)

    def _factor(self):
        return (2.0 ** -4, 2.0 ** -2, 0.5, 2.0, 4.0)[int(torch.randint(0, 5, (1,), generator=self.generator))]

    def _rows(self, count, last):
        signs = torch.randint(0, 2, (max(1, -(-count // max(1, last))),), generator=self.generator) * 2.0 - 1
        return signs.repeat_interleave(max(1, last))[:count]

    def _normal(self, count, last, is_symmetric):
        z = torch.randn(count, generator=self.generator, dtype=self.wide).clamp_(-4.9, 4.9)
        if self.distribution == "scaled":
            return z * self._factor()
        if self.distribution == "ties":
            return (2 * z).round() / 2
        if self.distribution == "sparse":
            return torch.where(self._unit(count) < 0.5, torch.zeros_like(z), z)
        if self.distribution == "signed" and is_symmetric:
            return z.abs() * self._rows(count, last)
        return z

    def _uniform(self, count, last, low, high):
        u = self._unit(count).mul_(high - low).add_(low)
        if self.distribution == "scaled" and low <= 0 <= high:
            return u * min(1.0, self._factor())
        if self.distribution == "ties":
            return low + (high - low) * (8 * self._unit(count)).floor().clamp(0, 7) / 8
        if self.distribution == "sparse":
            nearest = min(max(0.0, low), high)
            return torch.where(self._unit(count) < 0.5, torch.full_like(u, nearest), u)
        if self.distribution == "signed" and low == -high:
            return u.abs() * self._rows(count, last)
        return u
