"""Recurrent layers as one operator on the meta device.

PyTorch unrolls them there: a look at 512 steps of 6 layers is tens of thousands of operators.  Where only shapes are asked for, this
answers with the shapes alone, as an operator of Atoll's own that modes below see like any other."""
import torch

STATE = {"lstm": "Tensor[]", "gru": "Tensor", "rnn_tanh": "Tensor", "rnn_relu": "Tensor"}
NAMES = {getattr(torch, name): name for name in STATE}
SCHEMA = ("%s(Tensor input, %s hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, "
          "bool batch_first) -> (Tensor, Tensor%s)")


def shapes(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
    """Outputs of all steps, then the last states."""
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    features = states[0].shape[-1] * (2 if bidirectional else 1)
    return (x.new_empty(list(x.shape[:-1]) + [features]),) + tuple(torch.empty_like(s) for s in states)


def below_autograd(name):
    def answer(*args):
        guard = torch._C._AutoDispatchBelowAutograd()  # while it lives
        result = getattr(torch.ops.atoll, name)(*args)
        del guard
        return result
    return answer


def define():
    library = torch.library.Library("atoll", "DEF")
    for name, state in STATE.items():
        library.define(SCHEMA % (name, state, ", Tensor" * (name == "lstm")))
        library.impl(name, shapes, "Meta")
        if not hasattr(torch._C._AutoDispatchBelowAutograd, "__enter__"):
            library.impl(name, below_autograd(name), "Autograd")  # torch 1.13 lets nothing pass that has no gradient
    return library


LIBRARY = define()


def is_whole(function, args, kwargs):
    """Whether the call is a recurrence over whole sequences on the meta device."""
    name = NAMES.get(function)
    return name is not None and not kwargs and len(args) == 9 and args[0].is_meta and \
        isinstance(args[1], torch.Tensor) != (name == "lstm") and not isinstance(args[2], torch.Tensor)  # else lengths: it is packed


def call(function, args):
    return getattr(torch.ops.atoll, NAMES[function])(*args)


def products_of(args):
    """Factors of the operations of each of its matrices: every step multiplies with every matrix once."""
    return [[2] + list(args[0].shape[:-1]) + list(matrix.shape) for matrix in args[2] if matrix.dim() == 2]


def gates_bytes(args):
    """What the products of one layer take, which PyTorch keeps for all steps."""
    steps = args[0].numel() // max(1, args[0].shape[-1])
    return max([steps * matrix.shape[0] * args[0].element_size() for matrix in args[2]] + [0])
