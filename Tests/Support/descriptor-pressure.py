"""Uses up the connections of a door, with uploads on many of them.

descriptor-pressure.py PORT TOKEN PID UPLOADS CONNECTIONS

Begins UPLOADS uploads of tus on connections of their own, and sends half of each. Opens CONNECTIONS more, which send a part of
a request. The door must refuse those beyond its maximum with 503 and Retry-After, or close them; it must still answer
/healthz, and take the rest of the uploads. Prints the statistics as JSON.
"""
import json
import os
import re
import socket
import sys
import time

port, token, pid, uploads, connections = int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:6])
size = 200_000
most = 0


def check(condition, message):
    if not condition:
        sys.exit(message)


def count():
    global most
    most = max(most, len(os.listdir(f"/proc/{pid}/fd")))


def connect():
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def send(connection, method, path, fields, body=b""):
    head = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Authorization: Bearer {token}", *fields]
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)


def receive(connection):
    """The status and the fields of a response."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return None, data
        data += part
    return int(data.split()[1]), data


def request(method, path, fields, body=b""):
    """As `receive`; without a status where the door closed the connection at once."""
    with connect() as connection:
        try:
            send(connection, method, path, fields, body)
            return receive(connection)
        except OSError:
            return None, b""


def begin():
    connection = connect()
    send(connection, "POST", "/uploads", ["Tus-Resumable: 1.0.0", f"Upload-Length: {size}", "Content-Length: 0"])
    status, head = receive(connection)
    check(status == 201, f"a creation was answered with {status}: {head}")
    path = "/uploads/" + re.search(rb"Location: \S+/([0-9a-f-]{36})", head).group(1).decode()
    send(connection, "PATCH", path, [
        "Tus-Resumable: 1.0.0", "Upload-Offset: 0", "Content-Type: application/offset+octet-stream", f"Content-Length: {size}"],
        b"x" * (size // 2))
    return connection


running = [begin() for _ in range(uploads)]
deadline = time.monotonic() + 30
spool = lambda: sum("/spool/" in os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd"))


def spooled():
    try:
        return spool()
    except OSError:  # A descriptor was closed meanwhile.
        return 0


while spooled() < uploads:
    check(time.monotonic() < deadline, f"{uploads} uploads have {spooled()} files")
count()

waiting, refused, closed = [], 0, 0
for _ in range(connections):
    connection = connect()
    try:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
    except OSError:
        pass
    waiting.append(connection)
    count()
for connection in waiting:
    connection.setblocking(False)
# Those that it keeps wait for the rest of their heads.
deadline = time.monotonic() + 1
pending = set(waiting)
while time.monotonic() < deadline:
    for connection in list(pending):
        try:
            data = connection.recv(65536)
        except BlockingIOError:
            continue
        except OSError:
            data = b""
        pending.discard(connection)
        deadline = time.monotonic() + 1
        if data:
            check(data.startswith(b"HTTP/1.1 503 ") and b"Retry-After:" in data, f"a connection was refused with {data[:200]}")
            refused += 1
        else:
            closed += 1
    count()
    time.sleep(0.02)
kept = len(pending)
check(refused > 0, "no connection was refused with 503")

# Its last connections answer what an operator needs, and others lose them soon.
deadline = time.monotonic() + 5
while request("GET", "/healthz", [])[0] != 200:
    check(time.monotonic() < deadline, "/healthz was not answered")

for connection in running:
    connection.sendall(b"y" * (size - size // 2))
for connection in running:
    status, head = receive(connection)
    check(status == 204 and b"Upload-Offset: %d" % size in head, f"an upload was answered with {status}: {head}")
count()
for connection in [*running, *waiting]:
    connection.close()

deadline = time.monotonic() + 10
while True:
    status, head = request("POST", "/uploads", ["Content-Length: 5"], b"hello")
    if status == 201:
        break
    check(status in (503, None) and time.monotonic() < deadline, f"an upload afterwards was answered with {status}: {head}")
print(json.dumps({"refused": refused, "closed": closed, "kept": kept, "descriptors": most}))
