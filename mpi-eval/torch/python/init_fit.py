"""Inits of tensors: fitted to values that a module made, and asked about."""
import torch

from atoll.tolerance import rounded


def fit_values(values):
    values = values.reshape(-1)
    if values.dtype == torch.bool:
        return {"integer": {"low": 0, "high": 2}}
    wide = values.double()
    wide = wide[torch.isfinite(wide)]
    if wide.numel() == 0:
        return {"constant": 0}
    low, high, mean = float(wide.min()), float(wide.max()), float(wide.mean())
    if low == high:
        return {"constant": rounded(low)}
    if not values.is_floating_point():
        return {"integer": {"low": int(low), "high": int(high) + 1}}
    std = float(wide.std()) if wide.numel() > 1 else abs(high)
    if wide.numel() > 8 and (high - low) / std > 4.6:
        return {"normal": {"mean": rounded(mean), "std": rounded(std)}}
    return {"uniform": {"low": rounded(low), "high": rounded(high)}}


def inits_of(init):
    if not init:
        return []
    if "segments" in init:
        return [k for s in init["segments"] for k in s["init"]]
    return list(init)


def is_symmetric(init):
    """An init about 0, which the distribution `signed` wants."""
    of = (init or {}).get("normal"), (init or {}).get("uniform")
    return bool(of[0] and of[0].get("mean", 0) == 0 or of[1] and of[1]["low"] == -of[1]["high"])
