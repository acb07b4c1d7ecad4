"""The planned misfortunes of each file: the door is killed, or a connection is cut, at a byte that the seed decides."""

import threading
import time


class Event:
    """`at` is a number of body bytes that all requests for the file have sent, or of heads, or of responses."""

    def __init__(self, kind, at, is_kill, delay):
        self.kind, self.at, self.is_kill, self.delay = kind, at, is_kill, delay


def events(source, size, kills):
    """The events of one file, in three queues."""
    queues = {"body": [], "head": [], "response": []}
    for number in range(kills + source.randint(0, 2)):
        is_kill = number < kills
        kind = source.choices(["body", "head", "response"], [6, 1, 2])[0] if size else source.choice(["head", "response"])
        # A delayed one lets the door make the bytes durable that it has.
        delay = source.choice([0, 0, 0.02, 0.3, 1.2])
        at = source.randint(1, size) if kind == "body" else source.randint(1, 3)
        queues[kind].append(Event(kind, at, is_kill, delay))
    for kind, queue in queues.items():
        queue.sort(key=lambda event: event.at)
        if kind == "body":
            # Later ones count from the one before: a file that begins again still meets them.
            for before, event in zip(queue, queue[1:]):
                event.at = before.at + source.randint(1, max(size // 2, 1))
        else:
            for before, event in zip(queue, queue[1:]):
                event.at = max(event.at, before.at + 1)
    return queues


class Plan:
    def __init__(self, door):
        self.door = door
        self.lock = threading.Lock()
        self.queues = {}  # By the name of the file.
        self.rates = {}  # Bytes a second, by the name; None for as fast as it goes.
        self.counts = {}

    def add(self, name, queues, rate):
        self.queues[name], self.rates[name] = queues, rate
        self.counts[name] = {"head": 0, "response": 0}

    def queue(self, exchange, kind):
        return self.queues[exchange.transfer.name][kind] if exchange.transfer else []

    def counted(self, exchange, kind):
        queue = self.queue(exchange, kind)
        if not exchange.transfer:
            return False
        with self.lock:
            self.counts[exchange.transfer.name][kind] += 1
            if not queue or self.counts[exchange.transfer.name][kind] < queue[0].at:
                return False
            exchange.event = queue.pop(0)
            return True

    def head(self, exchange):
        return self.counted(exchange, "head")

    def response(self, exchange):
        return self.counted(exchange, "response")

    def body(self, exchange, available):
        queue = self.queue(exchange, "body")
        with self.lock:
            return min(available, max(queue[0].at - exchange.transfer.sent, 0)) if queue else available

    def is_due(self, exchange):
        queue = self.queue(exchange, "body")
        with self.lock:
            if not queue or exchange.transfer.sent < queue[0].at:
                return False
            exchange.event = queue.pop(0)
            return True

    def pace(self, exchange, count):
        rate = self.rates.get(exchange.transfer.name) if exchange.transfer else None
        if rate:
            time.sleep(count / rate)

    def strike(self, exchange):
        event = exchange.event
        time.sleep(event.delay)
        if event.is_kill:
            exchange.transfer.kills += 1
            self.door.kill_and_restart()
        else:
            exchange.transfer.cuts += 1
