"""Smaller shapes of a problem: its top-level constants scaled, each step proved to run on the meta device.

A constant is a size when a change of it changes an extent of an input or of a parameter and nothing else of the module's
form; kernel sizes, strides, groups and heads stay (by name, as they change extents, too)."""
import re
import time

from atoll.problem_survey import extents_of, form_of, work_of
from atoll.refusal import Refusal

FIXED = re.compile(r"kernel|stride|pad|dilat|group|head|pool|window|patch|block_len|factor|ratio|rate|expan|reduc|ksize|"
                   r"num_layers|repeats|^dim$|^axis$", re.I)
LEAST = 2
LESS = 0.9  # of the work: what saves not so much is not worth a proof
MULTIPLES = (1, 2, 3, 4, 6, 8, 16, 32, 64, 128)


def is_prime(n):
    return n > 1 and all(n % k for k in range(2, int(n ** 0.5) + 1))


def primes_down(limit):
    return [n for n in range(min(limit, 5000), 2, -1) if is_prime(n)]


class Sizes:
    """The search for smaller dims of one problem.  look(dims): a Survey without memory; prove(dims, is_strict): a run for real; both
    raise Refusal.  budget_s: of processor time, whatever works beside it."""

    def __init__(self, look, prove, values, budget_s):
        self.look, self.prove, self.values = look, prove, dict(values)
        self.end = time.process_time() + budget_s
        self.looked, self.proven = {}, {}  # by dims: each is tried once
        self.bench = look({})
        self.form = form_of(self.bench)
        self.tries = 0
        self.sizes = [name for name in self.values if self._is_size(name)]

    def _try(self, dims):
        """A survey of the same form, or None."""
        key = frozenset(dims.items())
        if key not in self.looked and time.process_time() <= self.end:
            self.looked[key] = self._look(dims)
        return self.looked.get(key)

    def _look(self, dims):
        self.tries += 1
        try:
            s = self.look(dims)
        except Refusal:
            return None
        return None if form_of(s) != self.form or any(0 in t.shape for t in s.outputs) else s

    def same_form(self, dims):
        """A survey at somebody else's dims, or None where the module is another there."""
        return self._try(dims)

    def _same(self, name):
        """Constants with the same value, which may have to change together."""
        return [other for other in self.values if self.values[other] == self.values[name] and not FIXED.search(other)]

    def _changes(self, name, together):
        value = self.values[name]
        for other in (value * 2, value // 2, value - 1, value + 1, value // 4):
            if other < 1 or other == value:
                continue
            s = self._try({n: other for n in together})
            if s is not None:
                before, after = extents_of(self.bench), extents_of(s)
                return before[:2] != after[:2]
        return None

    def _is_size(self, name):
        if self.values[name] < LEAST or FIXED.search(name):
            # `dim` is an axis where it is small, a size where it is not
            if not (name == "dim" and self.values[name] > 8):
                return False
        alone = self._changes(name, [name])
        if alone is not None:
            return alone
        group = self._same(name)
        return len(group) > 1 and bool(self._changes(name, group))

    def candidates(self, value, target, used):
        """Values to try, the oddest first: a prime near the target, then multiples of small numbers.  Extents that differ find
        more than equal ones: what is used comes later."""
        if value <= 4:
            return [3] if value == 4 else []
        found, last = [], []
        for multiple in MULTIPLES:
            if multiple > value // 2 and multiple > 1:
                break
            primes = primes_down(min(target, value) // multiple)
            base = next((p for p in primes if multiple * p not in used), primes[0]) if primes else 3
            if multiple * base < value:
                found.append(multiple * base)
            if 1 < multiple < value:
                last += [multiple] + [2 * multiple] * (2 * multiple < value)
        found += [value // divisor for divisor in (2, 4, 8, 16) if value % divisor == 0 and value // divisor > target]
        found = list(dict.fromkeys(found + last[::-1]))
        return [f for f in found if f not in used] + [f for f in found if f in used]

    def scaled(self, elements):
        """Dims whose largest tensor has about `elements` elements: {size constant: value}."""
        names = sorted(self.sizes, key=lambda n: -self.values[n])
        rank = max([sum(1 for e in t.shape if e > 1) for _, t in self.bench.inputs] + [1])
        target = max(3, int(elements ** (1.0 / rank)))
        if rank <= 1:
            target = min(target, elements)
        dims = {}
        for name in names:
            if name in dims:
                continue
            self._shrink(name, dims, target)
        return dims

    def _shrink(self, name, dims, target):
        for value in self.candidates(self.values[name], target, set(dims.values())):
            trial = dict(dims)
            trial[name] = value
            if self._try(trial) is not None:
                dims[name] = value
                return
        together = [n for n in self._same(name) if n not in dims]
        if len(together) < 2:
            return
        for value in self.candidates(self.values[name], target, set(dims.values())):
            trial = dict(dims)
            trial.update({n: value for n in together})
            if self._try(trial) is not None:
                dims.update({n: value for n in together})
                return

    def small(self, elements, work):
        """(dims, survey): scaled, with less until the products of a run are at most `work` operations, with more while it does
        not run for real, or does not agree in both precisions if there is a shape where it does; None: nothing smaller runs."""
        return self._small(elements, work, True) or self._small(elements, work, False)

    def _small(self, elements, work, is_strict):
        best = None
        for _ in range(5):
            dims = self.scaled(elements)
            s = self._try(dims) if dims else None
            if s is None or best and work_of(s) > LESS * work_of(best[1]):
                break
            if not self.runs(dims, is_strict):
                elements *= 6
                continue
            if best is None or work_of(s) < work_of(best[1]):
                best = (dims, s)
            if work_of(s) <= work or best[0] != dims:
                break
            elements = max(32, elements // 8)
        return best

    def runs(self, dims, is_strict):
        """Not all that is wrong with shapes is seen on the meta device."""
        key = (frozenset(dims.items()), is_strict)
        if key not in self.proven:
            try:
                self.prove(dims, is_strict)
                self.proven[key] = True
            except Refusal as refusal:
                if refusal.kind == "memory":
                    raise
                self.proven[key] = False
        return self.proven[key]

