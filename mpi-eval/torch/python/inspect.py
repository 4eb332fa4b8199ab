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
            inspection = inspect_problem.Inspection(problem_form.request_of(request), self.host.device,
                                                     Turns(fd, self.host.torch))
            answer = inspection.inspect()
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else problem.blame(error)
            if "not implemented for 'Half'" in refusal.text or "not implemented for 'BFloat16'" in refusal.text:
                refusal = Refusal("unsupported", refusal.text + "; PyTorch has it on a GPU: --gpu")
            answer = {"refused": refusal.text, "kind": refusal.kind, "trace": refusal.trace}
        answer["reached"] = sorted(inspection.reached) if inspection else []
        return answer
