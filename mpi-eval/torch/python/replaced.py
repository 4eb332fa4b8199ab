"""What a problem's text must not replace: other problems are answered by the same torch."""
import os


def is_late_import(torch, place, name, old, new):
    """torch._dynamo, which torch imports when something needs it, wraps one function."""
    code = getattr(new, "__code__", None)
    return (place is torch and name == "manual_seed" and getattr(new, "__wrapped__", None) is old and code is not None
            and code.co_filename.startswith(os.path.dirname(torch.__file__) + os.sep))


class Functions:
    """torch's public functions and classes as they are now."""

    def __init__(self, torch):
        self.torch = torch
        places = [torch, torch.Tensor, torch.nn.functional, torch.nn.init, torch.linalg, torch.special, torch.autograd]
        places += [value for value in vars(torch.nn).values() if isinstance(value, type)]
        self.seen = [(place, name, value) for place in places for name, value in list(vars(place).items()) if callable(value)]

    def put_back(self):
        """All that was replaced since; a sentence about the first of it, None: nothing was."""
        first = None
        for number, (place, name, value) in enumerate(self.seen):
            new = vars(place).get(name)
            if new is value:
                continue
            if is_late_import(self.torch, place, name, value, new):
                self.seen[number] = (place, name, new)
                continue
            setattr(place, name, value)
            first = first or "the module replaces %s.%s, which other problems use, too" % (getattr(place, "__name__", place), name)
        return first
