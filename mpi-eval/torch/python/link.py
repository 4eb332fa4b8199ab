"""The link to Atoll: frames of a length and JSON over one stream socket, each with at most one descriptor
(a fork server's: three).

Frame: u32 length, little-endian, then as many bytes of JSON, at most LIMIT.  Descriptors come with the first byte of
a frame.  Answers are written with write(2): the sandbox has no call that sends to a socket."""
import json
import os
import socket
import struct

from atoll.refusal import Refusal

LIMIT = 16 << 20


class Link:
    def __init__(self, fd):
        self.fd = fd
        self.socket = socket.socket(fileno=fd)

    def receive(self):
        """(request, descriptor or -1); (None, -1) when the other end is closed.  The descriptor is the caller's."""
        request, fds = self.receive_with(1)
        return request, fds[0] if fds else -1

    def receive_with(self, most):
        """(request, descriptors, at most so many); (None, []) when the other end is closed.  They are the caller's."""
        head, fds, _, _ = socket.recv_fds(self.socket, 4, most)
        head += self._rest(4 - len(head)) if head else b""
        if len(head) < 4:
            return None, []
        length, = struct.unpack("<I", head)
        if length > LIMIT:
            raise ValueError("a frame of %d bytes" % length)
        body = self._rest(length)
        if len(body) < length:
            return None, []
        return json.loads(body), fds

    def send(self, message):
        body = json.dumps(message).encode()
        if len(body) > LIMIT:
            body = json.dumps(Refusal("internal", "an answer of %d bytes is more than %d" % (len(body), LIMIT)).reply()).encode()
        data = memoryview(struct.pack("<I", len(body)) + body)
        while data:
            data = data[os.write(self.fd, data):]

    def _rest(self, count):
        parts = []
        while count > 0:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                break
            parts.append(part)
            count -= len(part)
        return b"".join(parts)
