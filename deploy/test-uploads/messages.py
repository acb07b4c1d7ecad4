"""Finds the messages of HTTP/1.1 in the bytes of one direction of a connection."""

from collections import deque


class Head:
    """The first line and the fields of a message."""

    def __init__(self, raw):
        lines = raw.decode("latin-1").split("\r\n")
        self.first = lines[0].split(" ", 2)
        self.fields = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                self.fields.setdefault(name.strip().lower(), value.strip())

    @property
    def method(self):
        return self.first[0]

    @property
    def target(self):
        return self.first[1]

    @property
    def status(self):
        return int(self.first[1])

    def number(self, name):
        """The value of a field as a whole number; None where it is absent or something else."""
        value = self.fields.get(name, "")
        return int(value) if value.isdigit() else None


class Segment:
    """Bytes that belong together: a head with the empty line after it, or a piece of a body."""

    def __init__(self, raw, head=None, data=0, is_last=False):
        self.raw, self.head, self.data, self.is_last = raw, head, data, is_last


class Reader:
    """Cuts a stream into segments. `data` of a segment counts the bytes of the body without the framing of chunks."""

    def __init__(self, is_request):
        self.is_request = is_request
        self.buffer = b""
        self.rest = None  # Bytes of the body that are still to come.
        self.mode = "head"
        # Of the requests whose final responses are still to come.
        self.methods = deque()

    def feed(self, data):
        self.buffer += data
        while self.buffer:
            segment = getattr(self, "read_" + self.mode)()
            if segment is None:
                return
            yield segment

    def take(self, count):
        raw, self.buffer = self.buffer[:count], self.buffer[count:]
        return raw

    def read_head(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        raw = self.take(end + 4)
        head = Head(raw[:-4])
        self.mode = self.body_mode(head)
        return Segment(raw, head=head, is_last=self.mode == "head")

    def body_mode(self, head):
        if not self.is_request:
            if 100 <= head.status < 200:
                return "head"
            method = self.methods.popleft() if self.methods else ""
            if method == "HEAD" or head.status in (204, 304):
                return "head"
        if head.fields.get("transfer-encoding", "").lower() == "chunked":
            return "size"
        self.rest = head.number("content-length")
        if self.rest is None:
            return "head" if self.is_request else "close"
        return "body" if self.rest else "head"

    def read_body(self):
        raw = self.take(self.rest)
        self.rest -= len(raw)
        if self.rest == 0:
            self.mode = "head"
        return Segment(raw, data=len(raw), is_last=self.rest == 0)

    def read_close(self):
        """The body ends with the connection."""
        raw = self.take(len(self.buffer))
        return Segment(raw, data=len(raw))

    def read_size(self):
        line = self.line()
        if line is None:
            return None
        self.rest = int(line.split(b";")[0], 16)
        self.mode = "chunk" if self.rest else "trailer"
        return Segment(line)

    def read_chunk(self):
        raw = self.take(self.rest)
        self.rest -= len(raw)
        if self.rest == 0:
            self.mode = "gap"
        return Segment(raw, data=len(raw))

    def read_gap(self):
        line = self.line()
        if line is not None:
            self.mode = "size"
        return None if line is None else Segment(line)

    def read_trailer(self):
        line = self.line()
        if line == b"\r\n":
            self.mode = "head"
        return None if line is None else Segment(line, is_last=line == b"\r\n")

    def line(self):
        end = self.buffer.find(b"\n")
        return None if end < 0 else self.take(end + 1)
