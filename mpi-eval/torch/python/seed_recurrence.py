"""Recurrent layers (recurrence.py): a product for what comes in, then a kernel that walks over the steps, a block per sequence."""
from atoll.aten_graph import Unsupported
from atoll.seed_aten import cut, fill, grouped, operator, shift
from atoll.seed_move import joined
from atoll.seed_node import LOOP_MANY, Moved, Node, permute, pointwise, product, view
from atoll.seed_product import matmul


class Recurrence(Node):
    """The states of one layer in one direction, [steps + 1, sequences, states * features]: row 0 is the first, row s + 1 what step s
    leaves.  incoming: [steps, sequences, gates * features]; weight and bias (or None): of the state; states: the first ones."""

    cost = 100

    def __init__(self, cell, incoming, weight, bias, states, is_backward):
        steps, sequences, _ = incoming.shape
        self.features = states[0].shape[-1]
        shape = [tuple(s + 1 for s in steps), sequences, tuple(f * len(states) for f in self.features)]
        inputs = [incoming, weight] + states + ([bias] if bias else [])
        super().__init__(shape, incoming.kind, [(i, LOOP_MANY) for i in inputs], cell)
        self.incoming, self.weight, self.bias, self.states, self.is_backward = incoming, weight, bias, states, is_backward

    def column(self, kernel, part, at):
        return shift(kernel, at, tuple(part * f for f in self.features))

    def write(self, kernel):
        kernel.ops.append(self.op)
        self.each_feature(kernel, lambda at: self.put(kernel, "0", at, [
            kernel.value(s, cut(s, [kernel.coordinates[1], at])) for s in self.states]))
        steps = kernel.extent(self.incoming.shape[0])
        step = kernel.fresh("k")
        kernel.open("for (long long %s = 0; %s < %s; %s++) {" % (step, step, steps, step))
        self.each_feature(kernel, lambda at: self.step(kernel, step, steps, at))
        kernel.close()

    def each_feature(self, kernel, body):
        """The threads of the block share the features, and wait for each other behind them."""
        is_shared, at = kernel.target.language == "cuda", kernel.fresh("k")
        first, move = ("threadIdx.x", "%s += %s" % (at, kernel.target.block)) if is_shared else ("0", at + "++")
        kernel.open("for (long long %s = %s; %s < %s; %s) {" % (at, first, at, kernel.extent(self.features), move))
        body(at)
        kernel.close()
        if is_shared:
            kernel.line("__syncthreads();")

    def state(self, kernel, step, part, at):
        return "%s[%s]" % (self.buffer.c_name, kernel.flat([step, kernel.coordinates[1], self.column(kernel, part, at)], self.shape))

    def put(self, kernel, step, at, values):
        for part, value in enumerate(values):
            kernel.line("%s = %s;" % (self.state(kernel, step, part, at), kernel.target.store(value, self.buffer.dtype)))

    def step(self, kernel, step, steps, at):
        kind, gates = kernel.target.accumulator(self.kind), GATES[self.op]
        sums = [kernel.variable(kind, kernel.value(self.bias, [self.column(kernel, g, at)]) if self.bias else "0", "", "sum")
                for g in range(gates)]
        other = kernel.fresh("k")
        kernel.open("for (long long %s = 0; %s < %s; %s++) {" % (other, other, kernel.extent(self.features), other))
        before = kernel.put_let(kind, self.state(kernel, step, 0, other), "", "v", False)
        for g, name in enumerate(sums):
            weight = kernel.value(self.weight, cut(self.weight, [self.column(kernel, g, at), other]))
            kernel.line("%s += %s * %s;" % (name, weight, before))
        kernel.close()
        time = "%s - 1 - %s" % (steps, step) if self.is_backward else step
        incoming = [kernel.value(self.incoming, cut(self.incoming, [time, kernel.coordinates[1], self.column(kernel, g, at)]))
                    for g in range(gates)]

        def let(form, **given):
            return kernel.put_let(kind, fill(form, kind, **given), "", "v", False)
        old = [kernel.put_let(kind, self.state(kernel, step, part, at), "", "v", False) for part in range(len(self.states))]
        self.put(kernel, step + " + 1", at, CELLS[self.op](let, incoming, sums, old))


def sigmoid(let, x, y):
    return let("1.0{f} / (1.0{f} + exp{f}(-({x} + {y})))", x=x, y=y)


def lstm(let, x, sums, old):
    gate = [sigmoid(let, x[g], sums[g]) for g in (0, 1, 3)]
    cell = let("{forget} * {old} + {into} * tanh{f}({x} + {y})", forget=gate[1], old=old[1], into=gate[0], x=x[2], y=sums[2])
    return [let("{out} * tanh{f}({cell})", out=gate[2], cell=cell), cell]


def gru(let, x, sums, old):
    reset, update = (sigmoid(let, x[g], sums[g]) for g in range(2))
    new = let("tanh{f}({x} + {reset} * {y})", x=x[2], reset=reset, y=sums[2])
    return [let("(1.0{f} - {update}) * {new} + {update} * {old}", update=update, new=new, old=old[0])]


def rnn_tanh(let, x, sums, old):
    return [let("tanh{f}({x} + {y})", x=x[0], y=sums[0])]


def rnn_relu(let, x, sums, old):
    return [let("fmax{f}({x} + {y}, 0.0{f})", x=x[0], y=sums[0])]


CELLS = {"lstm": lstm, "gru": gru, "rnn_tanh": rnn_tanh, "rnn_relu": rnn_relu}
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


@operator("lstm.default", "gru.default", "rnn_tanh.default", "rnn_relu.default")
def recurrent(call):
    layers, directions = call.integer("num_layers"), 2 if call.integer("bidirectional") else 1
    if call["dropout"] and call["train"] and layers > 1:
        raise Unsupported("a recurrence with dropout")
    weights, x = call.nodes("params"), call.node("input")
    per = 4 if call["has_biases"] else 2
    if len(weights) != layers * directions * per:
        raise Unsupported("a recurrence with projections")
    states = call.nodes("hx") if call.name == "lstm" else [call.node("hx")]
    x = permute(x, [1, 0, 2]) if call["batch_first"] else x
    last = [[] for _ in states]
    for layer in range(layers):
        outs = []
        for direction in range(directions):
            number = layer * directions + direction
            own = weights[number * per:(number + 1) * per] + [None, None]
            node = Recurrence(call.name, incoming_of(x, own[0], own[2], call), own[1], own[3] if per == 4 else None,
                              [part(s, number) for s in states], direction == 1)
            outs.append(outputs_of(node))
            for position, found in enumerate(last):
                found.append(last_of(node, position))
        x = outs[0] if len(outs) == 1 else joined(list(x.shape[:-1]) + [tuple(2 * f for f in outs[0].shape[-1])], x.kind, outs, 2, "cat")
    x = permute(x, [1, 0, 2]) if call["batch_first"] else x
    return (x,) + tuple(joined(shape, x.kind, [view(n, [call.all(1)] + list(n.shape)) for n in found], 0, "stack")
                        for (shape, _), found in zip(call.outs[1:], last))


def incoming_of(x, weight, bias, call):
    """What comes of the inputs of all steps, [steps, sequences, gates * features]."""
    steps, sequences, depth = x.shape
    flat = view(x, [product([steps, sequences], call.variants), depth])
    total = matmul(flat, permute(weight, [1, 0]), call, call.name + " inputs")
    if bias is not None:
        total = pointwise([total, bias], lambda a, b: "%s + %s" % (a, b), "bias")
    return view(total, [steps, sequences, total.shape[-1]])


def part(state, number):
    return Moved(state.shape[1:], state, lambda kernel, index: [str(number)] + index, "select")


def outputs_of(node):
    """[steps, sequences, features], in the order of the inputs."""
    steps = node.incoming.shape[0]

    def index(kernel, given):
        at = "%s - %s" % (kernel.extent(steps), grouped(given[0])) if node.is_backward else shift(kernel, given[0], (1,) * len(steps))
        return [at] + given[1:]
    return Moved([steps, node.shape[1], node.features], node, index, "slice")


def last_of(node, position):
    return Moved([node.shape[1], node.features], node, lambda kernel, index: [
        kernel.extent(node.incoming.shape[0]), index[0], node.column(kernel, position, index[1])], "select")
