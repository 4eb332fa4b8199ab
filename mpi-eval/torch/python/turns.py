"""One process at a time on a GPU that several share: a lock on a descriptor that all of them were given.

The lock goes with its process. Who has once waited WAIT_S goes on without it: a process that hangs while it has the lock
fails alone, at its own deadline."""
import fcntl
import time

WAIT_S, LOOK_S = 120.0, 0.005


class Turns:
    """with turns: on the GPU.  Not nested.  fd: -1 when nobody else is there."""

    def __init__(self, fd, torch):
        self.fd, self.torch = fd, torch

    def __enter__(self):
        end = time.monotonic() + WAIT_S
        while self.fd >= 0 and not self._take():
            if time.monotonic() > end:
                self.fd = -1
            time.sleep(LOOK_S)

    def __exit__(self, error, *_):
        if self.fd < 0:
            return
        if error is None:
            self.torch.cuda.empty_cache()  # what was freed is the next one's
        fcntl.lockf(self.fd, fcntl.LOCK_UN)

    def _take(self):
        try:
            fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            return False
