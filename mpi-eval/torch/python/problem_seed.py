"""Plain seeds of an inspected problem: its operators at every variant, and where the task has each tensor."""
import torch

from atoll.problem_survey import OnDevice


def seeds_of(inspection):
    """Texts of plain seeds, or why there is none."""
    try:
        from atoll import aten_graph, seed
    except ImportError:
        return {}, "this installation writes no seeds"
    if inspection.is_backward:
        return {}, "no plain seed is written for a backward pass"
    try:
        graphs = [graph_of(inspection, aten_graph, s) for _, _, s in inspection.chosen]
    except aten_graph.Unsupported as reason:
        return {}, str(reason)
    except Exception as error:
        return {}, "the operators could not be recorded: %s" % str(error).split("\n")[0]
    places = {name: None for name in inspection.silent}
    names = {t["parameter"]: t["name"] for t in inspection.tensors if t.get("parameter")}
    for (argument, _), t in zip(inspection.bench.inputs, [t for t in inspection.tensors if t["role"] == "in"]):
        places[argument] = (t["name"], 0)
    offset = {}
    for w in inspection.weights:
        if w["parameter"] in names:
            places[w["parameter"]] = (names[w["parameter"]], 0)
            continue
        holder = next(t["name"] for t in inspection.tensors if t.get("init", {}).get("segments")
                      and any(s["parameter"] == w["parameter"] for s in t["init"]["segments"]))
        at = offset.setdefault(holder, [0] * len(inspection.chosen))
        places[w["parameter"]] = (holder, list(at))
        offset[holder] = [a + t.numel() for a, t in zip(at, w["each"])]
    outputs = [t["name"] for t in inspection.tensors if t["role"] == "out"]
    written, reason = {}, None
    for language, name in (("cuda", "naive.cu"), ("c", "naive.c")):
        try:
            text, why = seed.seed_text(graphs, places, outputs, inspection.dims, len(inspection.chosen) - 1, language=language)
        except Exception as error:
            text, why = None, "the seed writer failed: %s: %s" % (type(error).__name__, str(error).split("\n")[0])
        if text:
            written[name] = text
        else:
            reason = reason or why
    return written, None if "naive.cu" in written else reason


def graph_of(inspection, aten_graph, s):
    leave_out_silent(inspection, s)
    named = list(s.inputs) + list(s.parameters.items()) + list(s.buffers.items())

    def run():
        with torch.no_grad(), OnDevice("meta"):
            return s.target(*s.given)

    return aten_graph.record(run, named)


def leave_out_silent(inspection, s):
    """A seed cannot read what is no tensor of the task; a bias or a number without influence it does not need."""
    known = {w["parameter"] for w in inspection.weights}
    for name in [n for n in s.parameters if n not in known]:
        owner, leaf = s.target, name.split(".")[-1]
        for part in name.split(".")[:-1]:
            owner = getattr(owner, part)
        if leaf == "bias" and isinstance(owner, (torch.nn.modules.conv._ConvNd, torch.nn.Linear)):
            owner.bias = None
        elif s.parameters[name].numel() == 1:
            del owner._parameters[leaf]
            setattr(owner, leaf, 0.0)
        else:
            continue
        del s.parameters[name]
