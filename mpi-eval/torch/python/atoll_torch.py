"""What a Python with torch runs for Atoll: atoll_torch.py ROLE, started by mpi-eval/torch/process.c in a sandbox.

Roles: oracle (true values), rival (PyTorch's times), inspect (what a problem is like), probe (which torch this is).
Python 3.9 to 3.13, torch 1.13 to 2.11."""
import os
import sys
import types

# The modules of this folder are the package "atoll": one of them is named like one of the standard library's.
package = types.ModuleType("atoll")
package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
sys.modules["atoll"] = package

from atoll import host  # noqa: E402

host.main()
