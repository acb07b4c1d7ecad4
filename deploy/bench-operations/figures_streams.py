"""Dispatch beside streams of events: 500 pages and 10 full logs.

One run alternates phases without and with readers. The readers are a process that only takes bytes off its sockets, so that it costs
little on the cores that are measured.
"""

import multiprocessing
import os
import select
import sqlite3
import statistics
import time

from door import Door
from result import percentile
from rig import until

PAGES, LOGS = 500, 10
# Four of each command: new, queued, sent and success.
TRANSITIONS = 4


def streams(rig):
    paced(rig)
    full(rig)


def paced(rig):
    """5,000 transitions a second, submitted four times a second."""
    seconds, rate = max(rig.count(10), 2), 5000 // TRANSITIONS
    door = Door(rig)
    rig.start(rig.sluice_path, "up", "--workers", "2", "--data", rig.data_directory)
    until("the workers", lambda: len(rig.workers()) == 2)
    phase(rig, door, rate, 2, 0, 0)
    found = {kind: [] for kind in ("alone", "pages", "logs", "both")}
    for _ in range(rig.runs):
        found["alone"].append(phase(rig, door, rate, seconds, 0, 0))
        found["pages"].append(phase(rig, door, rate, seconds, PAGES, 0))
        found["logs"].append(phase(rig, door, rate, seconds, 0, LOGS))
        found["both"].append(phase(rig, door, rate, seconds, PAGES, LOGS))
    rig.stop()

    def values(kind, member):
        return [phase[member] for phase in found[kind]]

    def above(kind):
        return [a - b for a, b in zip(values(kind, "cores"), values("alone", "cores"))]

    text = f"at {rate * TRANSITIONS:,} transitions/s"
    for kind, name in (("alone", "without streams"), ("both", f"beside {PAGES} pages and {LOGS} logs")):
        rig.add(f"no-ops {text}, {name}", values(kind, "rate"), "/s")
        rig.add(f"  until their success, mean, {name}", values(kind, "mean"), "ms")
        rig.add(f"  until their success, p99, {name}", values(kind, "p99"), "ms")
    rig.add("no-ops with streams, of without", ratios(values("both", "rate"), values("alone", "rate")), "%", at_least=95)
    rig.add("their mean latency, of without", ratios(values("both", "mean"), values("alone", "mean")), "%", at_most=105)
    rig.add(f"processor of the door for {PAGES} pages {text}", above("pages"), "cores", at_most=0.3)
    rig.add(f"processor of the door for {LOGS} logs {text}", above("logs"), "cores")
    rig.add("of the readers of both", values("both", "readers"), "cores", note="on the same cores")
    rig.add("bytes of a log", [v / LOGS / seconds / 1e6 for v in values("logs", "bytes")], "MB/s")


def phase(rig, door, rate, seconds, pages, logs):
    """Submits at a rate, and waits for the end of all."""
    readers = Readers(door, pages, logs) if pages + logs else None
    begin, used = time.time(), processor_time(door.process.pid)
    reading = readers.processor_time() if readers else 0
    start = time.monotonic()
    interval, count = 0.25, 0
    while (elapsed := time.monotonic() - start) < seconds:
        due = int(rate * min(elapsed + interval, seconds)) - count
        # Twice: a batch of commands lies in one shard.
        for part in (due - due // 2, due // 2):
            rig.sluice("submit", "noop", "--payload", "-", input=b'{"payload":{}}\n' * part, stdin=None)
        count += due
        time.sleep(max(start + elapsed + interval - time.monotonic(), 0))
    until("the commands", lambda: len(latencies(rig, begin)) >= count, 60, 0.05)
    total = time.monotonic() - start
    waits = latencies(rig, begin)
    result = {
        "rate": count / total, "mean": statistics.mean(waits), "p99": percentile(0.99, waits),
        "cores": (processor_time(door.process.pid) - used) / total, "readers": 0, "bytes": 0,
    }
    if readers:
        result["readers"] = (readers.processor_time() - reading) / total
        result["bytes"] = readers.stop()
    return result


def latencies(rig, since):
    """Milliseconds from the submit to the success of each command since a time."""
    waits = []
    for name in sorted(os.listdir(rig.data_directory)):
        if name.endswith(".sqlite"):
            shard = sqlite3.connect(f"file:{rig.data_directory}/{name}?mode=ro", uri=True)
            rows = shard.execute(
                "SELECT updated_at - created_at FROM command WHERE status = 4 AND created_at >= ?", (int(since * 1000),))
            waits += [row[0] for row in rows]
            shard.close()
    return waits


def full(rig):
    """As fast as workers can, where logs fall behind."""
    count = rig.count(400_000, 2000)
    alone, beside, used, idle, behind = [], [], [], [], []
    for _ in range(rig.runs):
        for has_readers in (False, True):
            door = Door(rig)
            readers = Readers(door, PAGES, LOGS) if has_readers else None
            rig.sluice("submit", "noop", "--payload", "-", input=b'{"payload":{}}\n' * count, stdin=None)
            if readers:
                readers.wait_until_quiet()
            begin, before = time.monotonic(), processor_time(door.process.pid)
            rig.start(rig.sluice_path, "up", "--workers", "2", "--data", rig.data_directory)
            rig.until_ended(count)
            seconds = time.monotonic() - begin
            (beside if readers else alone).append(count / seconds)
            (used if readers else idle).append((processor_time(door.process.pid) - before) / seconds)
            if readers:
                readers.wait_until_quiet()
                behind.append(time.monotonic() - begin - seconds)
                readers.stop()
            rig.stop()
    rig.add("no-ops at full speed with an idle door", alone, "/s")
    rig.add(f"beside {PAGES} pages and {LOGS} logs", beside, "/s")
    rig.add("with them, of without", ratios(beside, alone), "%", at_least=95)
    rig.add("processor of the idle door", idle, "cores", note="it reads the store once a second")
    rig.add("processor of the door with streams", used, "cores")
    rig.add("until the logs have all transitions", behind, "s")


def ratios(values, others):
    return [100 * a / b for a, b in zip(values, others)]


def processor_time(pid):
    """Seconds of user and system time."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Readers:
    """Open streams, read by a process of their own."""

    def __init__(self, door, pages, logs):
        self.bytes = multiprocessing.Value("q", 0)
        self.opened = multiprocessing.Value("q", 0)
        self.process = multiprocessing.Process(target=self.read, args=(door, pages, logs), daemon=True)
        self.process.start()
        until("the streams", lambda: self.opened.value == pages + logs)

    def read(self, door, pages, logs):
        poll, sockets, buffer = select.epoll(), {}, bytearray(1 << 20)
        for number in range(pages + logs):
            query = "?stream=log" if number < logs else ""
            socket = door.open_stream(query)
            sockets[socket.fileno()] = (socket, number < logs)
            poll.register(socket.fileno(), select.EPOLLIN)
            self.opened.value += 1
        while True:
            # Frames of one moment are taken together.
            time.sleep(0.01)
            count = 0
            for number, _ in poll.poll():
                socket, is_log = sockets[number]
                size = socket.recv_into(buffer)
                if size == 0:
                    poll.unregister(number)
                elif is_log:
                    count += size
            if count:
                self.bytes.value += count

    def processor_time(self):
        return processor_time(self.process.pid)

    def wait_until_quiet(self):
        """Waits until no log has got more than its comments for a second."""
        last, since = -1, time.monotonic()
        while time.monotonic() - since < 1:
            if self.bytes.value > last + 10_000:
                last, since = self.bytes.value, time.monotonic()
            time.sleep(0.05)

    def stop(self):
        """Ends the streams. Returns the bytes that logs got."""
        self.process.kill()
        self.process.join()
        return self.bytes.value
