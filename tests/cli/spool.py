"""What lies in a spool, for scripts that play a model: folders are listed when something has changed in them (inotify).  Who lists
them a hundred times a second takes half a processor from the runs that it watches."""
import ctypes
import os
import pathlib
import select
import time

CHANGES = 0x40 | 0x80 | 0x100 | 0x200 | 0x400  # moved from, moved to, created, deleted, the folder deleted
libc = ctypes.CDLL(None, use_errno=True)


class Requests:
    """Of one spool, which may come later; one thread at a time."""

    def __init__(self, spool):
        self.spool, self.found, self.is_watched, self.is_changed = pathlib.Path(spool), [], False, True
        self.events = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self.events >= 0, os.strerror(ctypes.get_errno())

    def _watch(self, folder):
        return libc.inotify_add_watch(self.events, os.fsencode(folder), CHANGES) >= 0  # once more is the same watch

    def _take_events(self):
        try:
            while os.read(self.events, 1 << 16):
                self.is_changed = True
        except BlockingIOError:
            pass

    @staticmethod
    def _names(folder):
        try:
            return sorted(os.listdir(folder))
        except (FileNotFoundError, NotADirectoryError):  # it went meanwhile, or is none
            return []

    def _list(self):
        self.is_watched, self.is_changed = self._watch(self.spool), False
        self.found = []
        for folder in self._names(self.spool) if self.is_watched else []:
            if self._watch(self.spool / folder):
                self.found += [self.spool / folder / name for name in self._names(self.spool / folder) if name.endswith(".request")]

    def paths(self):
        """Sorted.  What one names may be gone, or answered, when it is opened."""
        self._take_events()
        if self.is_changed or not self.is_watched:
            self._list()
        return self.found

    def wait(self, seconds):
        """Until something changes, at most so long."""
        if self.is_changed or not self.is_watched:
            time.sleep(seconds)
            return
        select.select([self.events], [], [], seconds)
        self._take_events()
