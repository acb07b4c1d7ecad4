"""The offsets that responses have stated, and the requests that go by them or do not."""

import base64
import re
import threading
import time
import urllib.parse
from collections import Counter

UPLOAD = re.compile(r"/uploads/([0-9a-f-]{36})$")
# A request whose bytes have all been sent is answered within this time, in seconds, or the door hangs.
ANSWER_TIMEOUT = 60


class Exchange:
    """A request, and its responses so far."""

    def __init__(self, head, transfer, upload, stated, known):
        self.head, self.transfer, self.upload = head, transfer, upload
        # The offset that the door had stated when the request began, and the one that its client had been told.
        self.stated, self.known = stated, known
        self.method = head.method
        self.offset = head.number("upload-offset")
        self.position = self.offset or 0
        self.sent_at = None
        self.is_answered = False


class Transfer:
    """A file, and all that clients and the door have said about it."""

    def __init__(self, name, size, client):
        self.name, self.size, self.client = name, size, client
        self.uploads = []
        self.sent = 0  # Bytes of bodies.
        self.below = 0  # Those of them below an offset that a response had stated before.
        self.restarts = 0  # New uploads, although the one before had bytes and was there.
        self.kills = self.cuts = self.pauses = 0
        self.refusals = 0  # Of other bytes under the same key.
        self.has_key = False  # Every request begins at the first byte, and the key says which upload it is about.
        self.is_parallel = False


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.transfers = {}  # By the name of the file.
        self.stated = {}  # The greatest offset in a response, by the id of the upload.
        self.known = {}  # The same, of responses that have reached their clients.
        self.owners = {}  # The transfer, by the id of the upload.
        self.last_status = {}  # Of a response about an upload, by its id.
        self.statuses = Counter()
        self.faults = []
        self.open = set()

    def fault(self, text):
        self.faults.append(text)

    def request(self, head):
        """A request has begun. - Returns: its exchange."""
        with self.lock:
            upload = UPLOAD.search(head.target.split("?")[0])
            upload = upload.group(1) if upload else None
            transfer = self.owners.get(upload) if upload else self.transfers.get(file_name(head))
            exchange = Exchange(head, transfer, upload, self.stated.get(upload, 0), self.known.get(upload, 0))
            if transfer and not upload and head.method in ("POST", "PUT"):
                self.check_creation(exchange)
            self.open.add(exchange)
            return exchange

    def check_creation(self, exchange):
        """An upload that has bytes is there, and its client begins another one from the first byte."""
        transfer = exchange.transfer
        if transfer.is_parallel or transfer.has_key:
            return
        begun = [upload for upload in transfer.uploads if self.known.get(upload, 0) > 0]
        if not begun:
            return
        status = self.last_status.get(begun[-1])
        if status and status >= 400 and status not in (409, 423, 503):
            self.fault(
                f"{transfer.name}: upload {begun[-1]} was answered with {status}, and its client began another one")
        transfer.restarts += 1

    def sent(self, exchange, count):
        """Bytes of a body are sent to the door."""
        with self.lock:
            if exchange.transfer:
                exchange.transfer.sent += count
                if exchange.method == "PATCH":
                    end = min(exchange.position + count, exchange.known)
                    exchange.transfer.below += max(end - exchange.position, 0)
            exchange.position += count

    def request_ended(self, exchange):
        exchange.sent_at = time.monotonic()

    def response(self, exchange, head):
        """The door has sent the head of a response; the client does not have it yet."""
        with self.lock:
            status = head.status
            transfer = exchange.transfer
            if transfer:
                self.statuses[transfer.client, exchange.method, status] += 1
            upload = exchange.upload or self.created(exchange, head)
            if status >= 200:
                exchange.is_answered = True
                self.open.discard(exchange)
                if upload:
                    self.last_status[upload] = status
            if not upload or not transfer:
                return
            where = f"{transfer.name} ({transfer.client}): {exchange.method} of upload {upload}"
            if status in (404, 410) or status >= 500 and status not in (503, 507):
                self.fault(f"{where} was answered with {status}")
            offset = head.number("upload-offset")
            if offset is None:
                return
            if offset < exchange.stated:
                self.fault(
                    f"{where} was answered with {status} and offset {offset}, and {exchange.stated} was stated before")
            if offset > transfer.size:
                self.fault(f"{where} was answered with offset {offset}, and the file has {transfer.size} bytes")
            self.stated[upload] = max(self.stated.get(upload, 0), offset)

    def delivered(self, exchange, head):
        """The client has the head of a response."""
        offset = head.number("upload-offset")
        with self.lock:
            if exchange.upload and offset is not None:
                self.known[exchange.upload] = max(self.known.get(exchange.upload, 0), offset)

    def created(self, exchange, head):
        """The upload that a response to a creation names."""
        location = UPLOAD.search(head.fields.get("location", ""))
        if not location or not exchange.transfer:
            return None
        exchange.upload = location.group(1)
        if exchange.upload not in self.owners:
            self.owners[exchange.upload] = exchange.transfer
            exchange.transfer.uploads.append(exchange.upload)
        return exchange.upload

    def cut(self, exchange):
        """The connection has ended."""
        with self.lock:
            self.open.discard(exchange)

    def find_hanging(self):
        """Reports requests that have got no answer, once each."""
        with self.lock:
            for exchange in list(self.open):
                if exchange.transfer and exchange.sent_at and time.monotonic() - exchange.sent_at > ANSWER_TIMEOUT:
                    self.fault(
                        f"{exchange.transfer.name}: {exchange.method} {exchange.head.target} got no answer for "
                        f"{ANSWER_TIMEOUT} s")
                    self.open.discard(exchange)


def file_name(head):
    """The name of the file that a creation is about."""
    if "x-file" in head.fields:
        return head.fields["x-file"]
    for pair in head.fields.get("upload-metadata", "").split(","):
        key, _, value = pair.strip().partition(" ")
        if key == "filename":
            return base64.b64decode(value).decode()
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(head.target).query)
    return query.get("name", [None])[0]
