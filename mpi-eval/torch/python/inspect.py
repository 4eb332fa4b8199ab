"""The role of the import: reads a problem of one of the public forms and says what it is like as a task."""
from atoll import inspect_problem, problem, problem_form
from atoll.refusal import Refusal
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
