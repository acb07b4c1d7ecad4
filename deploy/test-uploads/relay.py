"""A TCP relay between the clients and the door, which records their messages and cuts them at planned bytes."""

import socket
import struct
import threading
import time

from messages import Reader


class Relay:
    """Forwards each connection to the door.

    `plan` decides about the bytes of each file: `body(transfer, count)` returns how many of the next bytes go through before
    an event, `head` and `response` whether an event comes in the middle of a head.
    """

    def __init__(self, ledger, plan, door):
        self.ledger, self.plan, self.door = ledger, plan, door
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(client,), daemon=True).start()

    def connect(self, client):
        try:
            server = socket.create_connection(("127.0.0.1", self.door.port), timeout=10)
        except OSError:
            reset(client)
            return
        server.settimeout(None)
        for end in (client, server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(self, client, server).run()

    def close(self):
        self.listener.close()


class Cut(Exception):
    """The connection ends here."""


class Connection:
    def __init__(self, relay, client, server):
        self.relay, self.client, self.server = relay, client, server
        self.exchanges = []
        self.responses = Reader(is_request=False)

    def run(self):
        responses = threading.Thread(target=self.pump, args=(self.server, self.send_response), daemon=True)
        responses.start()
        self.pump(self.client, self.send_request)
        responses.join()
        for end in (self.client, self.server):
            end.close()
        for exchange in self.exchanges:
            self.relay.ledger.cut(exchange)

    def pump(self, source, send):
        reader = Reader(is_request=True) if source is self.client else self.responses
        try:
            while True:
                data = source.recv(256 << 10)
                if not data:
                    break
                for segment in reader.feed(data):
                    send(segment)
            (self.server if source is self.client else self.client).shutdown(socket.SHUT_WR)
        except (OSError, Cut):
            reset(self.client)
            reset(self.server)

    def send_request(self, segment):
        ledger, plan = self.relay.ledger, self.relay.plan
        if segment.head:
            exchange = ledger.request(segment.head)
            self.exchanges.append(exchange)
            self.responses.methods.append(exchange.method)
            if plan.head(exchange):
                self.server.sendall(segment.raw[: len(segment.raw) // 2])
                plan.strike(exchange)
                raise Cut
            self.server.sendall(segment.raw)
        else:
            exchange = self.exchanges[-1]
            self.send_body(exchange, segment)
        if segment.is_last:
            ledger.request_ended(exchange)

    def send_body(self, exchange, segment):
        ledger, plan = self.relay.ledger, self.relay.plan
        raw = segment.raw
        if segment.data == 0:
            self.server.sendall(raw)
            return
        while raw:
            count = plan.body(exchange, len(raw))
            if count:
                ledger.sent(exchange, count)
                self.server.sendall(raw[:count])
                raw = raw[count:]
                plan.pace(exchange, count)
            if plan.is_due(exchange):
                plan.strike(exchange)
                raise Cut

    def send_response(self, segment):
        if segment.head:
            exchange = next((exchange for exchange in self.exchanges if not exchange.is_answered), None)
            if exchange:
                self.relay.ledger.response(exchange, segment.head)
                if segment.head.status >= 200 and self.relay.plan.response(exchange):
                    # The client never sees it.
                    self.relay.plan.strike(exchange)
                    raise Cut
                # Before the bytes: the client may send its next request at once.
                self.relay.ledger.delivered(exchange, segment.head)
        self.client.sendall(segment.raw)


def reset(end):
    """Closes a connection without a regular end, and wakes the thread that reads it."""
    try:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RD)
    except OSError:
        pass
    end.close()
