"""What a Python with Triton runs for Atoll: started by mpi-eval/backend/cuda/triton/zygote.c in a sandbox.

Triton 3.6, Python 3.9 to 3.13; torch is not needed."""
import os
import sys
import types

# The modules of this folder are the package "atoll": one of them is named like one of the standard library's.
package = types.ModuleType("atoll")
package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
sys.modules["atoll"] = package

from atoll import triton_zygote  # noqa: E402

triton_zygote.main()
