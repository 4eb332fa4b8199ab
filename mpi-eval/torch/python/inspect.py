"""The role of the import: reads a problem of one of the public forms and says what it is like as a task."""
import math
import mmap

from atoll import fill, inspect_problem, problem, problem_form
from atoll.refusal import Refusal
from atoll.tolerance import Spread
from atoll.turns import Turns


class Role:
    def __init__(self, host):
        self.host = host
        host.torch.backends.cuda.matmul.allow_tf32 = False
        host.torch.backends.cudnn.allow_tf32 = False  # on by default: its errors would become the tolerance

    def op_inspect(self, request, fd):
        """{"format", "title", "level", "files": {label: text}} -> what inspect_problem.inspect gives, or {"refused": reason};
        both with how far it came: read, expressible, checked.  fd: the lock of all who share the GPU (turns)."""
        inspection = None
        try:
            asked, turns = problem_form.request_of(request), Turns(fd, self.host.torch)
            inspection = inspect_problem.Inspection(asked, self.host.device, turns)
            try:
                answer = inspection.inspect()
            except Refusal as refusal:
                if not asked.get("shapes") or refusal.kind != "unsupported":
                    raise
                inspection = inspect_problem.Inspection(dict(asked, shapes=[]), self.host.device, turns)
                answer = inspection.inspect()
                answer["notes"].append("of the benchmark's shapes only the first is kept: with all of them %s" % refusal.text)
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else problem.blame(error)
            refusal = settled(refusal)
            answer = {"refused": refusal.text, "kind": refusal.kind, "cause": refusal.cause, "trace": refusal.trace}
        answer["reached"] = sorted(inspection.reached) if inspection else []
        return answer

    def op_tolerance(self, request, fd):
        """{"draws": [{"description", "inputs": {tensor: {"offset", "bytes"}}}]}, the referee's values in the memory -> {"tolerance"}:
        how much an answer may be off, by what eager's is off.  All draws are of one task."""
        memory, spread, precision = mmap.mmap(fd, 0), Spread(), "f64"
        for draw in request["draws"]:
            description = draw["description"]
            eager, _ = self.answer(description, draw["inputs"], memory, None)
            right, precision = self.answer(description, draw["inputs"], memory, self.host.torch.float64 if precision == "f64" else None)
            spread.add(right, eager)
        if not math.isfinite(spread.worst):
            raise Refusal("problem", "answers are not finite in every draw; give a tolerance, or other inits")
        dtypes = [t["dtype"] for t in description["tensors"] if t["role"] in ("out", "inout")]
        return {"tolerance": spread.bounds(dtypes, precision, self.host.device)}

    def answer(self, description, inputs, memory, dtype):
        """The outputs as doubles, and what they were computed in: dtype, or the task's own types where the module does not run in it."""
        torch, values = self.host.torch, {}
        for t in description["tensors"]:
            if t["role"] != "out":
                values[t["name"]] = torch.empty(t["shape"], dtype=fill.dtype_of(t["dtype"]), device=self.host.device)
        fill.fill(values, inputs, memory, None)
        wide = {name: t.to(dtype) if dtype is not None and t.is_floating_point() else t for name, t in values.items()}
        try:
            found = problem.load(torch, description, self.host.device, dtype).call(wide)
        except Refusal as refusal:
            if refusal.kind != "problem" or dtype is None:
                raise
            return self.answer(description, inputs, memory, None)
        found = found + [wide[t["name"]] for t in description["tensors"] if t["role"] == "inout"]
        return [t.detach().double().cpu() for t in found], "f64" if dtype is not None else "its own types"


# What the meta device, which has no data, cannot do; and what PyTorch says where it cannot.
DATA = ("aten::nonzero", "aten::_local_scalar_dense", "aten::_unique", "aten::masked_select", "Cannot copy out of meta tensor",
        "Tensor.item() cannot be called on meta tensors", "DynamicOutputShape", "DataDependentOutput")
CAUSES = {"problem": "raises", "memory": "memory", "unsupported": "form", "internal": "process"}


def settled(refusal):
    """With the word that an import counts by."""
    if "not implemented for 'Half'" in refusal.text or "not implemented for 'BFloat16'" in refusal.text:
        return Refusal("unsupported", refusal.text + "; PyTorch has it on a GPU: --gpu", trace=refusal.trace, cause="dtype")
    if any(word in refusal.text for word in DATA):
        return Refusal("unsupported", "shapes or control flow that depend on data: " + refusal.text, trace=refusal.trace,
                       cause="data-dependent")
    if not refusal.cause:
        refusal.cause = ("package" if "No module named" in refusal.text else
                         "torch" if "module 'torch" in refusal.text and "has no attribute" in refusal.text else CAUSES[refusal.kind])
    return refusal
