"""Uploads into the door, connections that do nothing, and lists."""

import json
import multiprocessing
import os
import resource
import socket
import threading
import time

from door import Door
from nginx import Nginx
from result import percentile
from rig import peak_memory, until


def put(rig):
    size = rig.count(2_000_000_000, 1 << 20)
    rig.noise(rig.path("source"), size)
    server = Nginx(rig, f"location /dav/ {{ root {rig.path('www')}; dav_methods PUT; create_full_put_path on; }}")
    door = Door(rig)
    field = door.field_file(rig)
    ours, theirs = [], []
    for turn in range(rig.runs):
        _, seconds = rig.run("curl", "-sSf", "-o", "/dev/null", "-T", rig.path("source"), f"{server.origin}/dav/{turn}")
        _, more = rig.run("sync", "--data", f"{server.root}/dav/{turn}")
        theirs.append(size / (seconds + more) / 1e6)
        os.remove(f"{server.root}/dav/{turn}")
        _, seconds = rig.run(
            "curl", "-sSf", "-o", "/dev/null", "-H", f"@{field}", "-T", rig.path("source"), f"{door.origin}/uploads?name={turn}")
        ours.append(size / seconds / 1e6)
        for name in os.listdir(door.spool):
            os.remove(f"{door.spool}/{name}")
    rig.add("one PUT of 2 GB, durable", ours, "MB/s")
    rig.add("the same to nginx's WebDAV, then sync", theirs, "MB/s")
    rig.add("Sluice of nginx", [100 * a / b for a, b in zip(ours, theirs)], "%", at_least=100)
    rig.add("peak memory of the door", peak_memory(door.process.pid), "MB")


def small(rig):
    wrk = rig.find("wrk")
    if not wrk:
        return
    door = Door(rig)
    script = rig.secret(
        "post.lua",
        'wrk.method = "POST"\nwrk.body = string.rep("0123456789abcdef", 1024)\n'
        f'wrk.headers["Authorization"] = "Bearer {door.token}"\nwrk.headers["Content-Type"] = "application/octet-stream"\n'
        'function done(s) io.write(string.format("RATE %f %d\\n", s.requests / s.duration * 1e6, s.errors.status)) end\n')
    rates = []
    for _ in range(rig.runs):
        output, _ = rig.run(wrk, "-t2", "-c64", f"-d{rig.count(10)}s", "-s", script, f"{door.origin}/uploads")
        rate, errors = next(line.split()[1:] for line in output.splitlines() if line.startswith("RATE"))
        assert errors == "0", output
        rates.append(float(rate))
    rig.add("uploads of 16 KB by POST, 64 connections, durable", rates, "/s", at_least=2000)


def many(rig):
    count, size, block = rig.count(200, 4), 10_000_000, os.urandom(100_000)
    ours, disk, waits, memory = [], [], [], []
    for _ in range(rig.runs):
        total = count * size
        begin = time.monotonic()
        with open(rig.path("disk"), "wb") as file:
            for _ in range(total // len(block)):
                file.write(block)
            file.flush()
            os.fdatasync(file.fileno())
        disk.append(total / (time.monotonic() - begin) / 1e6)
        os.remove(rig.path("disk"))
        door = Door(rig)
        # The clients are a process of their own, so that they do not delay the request that is measured.
        clients = multiprocessing.Process(target=upload_at_once, args=(door, count, size, block))
        begin = time.monotonic()
        clients.start()
        connection = door.connect()
        while clients.is_alive():
            waits.append(door.latency(connection) * 1000)
            time.sleep(0.01)
        clients.join()
        assert clients.exitcode == 0
        ours.append(total / (time.monotonic() - begin) / 1e6)
        names = [name for name in os.listdir(door.spool) if not name.startswith("store.")]  # The mark of the store.
        sizes = [os.path.getsize(f"{door.spool}/{name}") for name in names]
        assert sizes == [size] * count, f"{len(sizes)} files"
        memory.append(peak_memory(door.process.pid))
        rig.stop()
    rig.add(f"{count} tus uploads of 10 MB at once, durable", ours, "MB/s", note="the client is Python on the same cores")
    rig.add("a sequential write to the same disk, then fdatasync", disk, "MB/s")
    rig.add("uploads of the disk", [100 * a / b for a, b in zip(ours, disk)], "%", at_least=70)
    rig.add("peak memory of the door", memory, "MB", at_most=120)
    rig.add("another request meanwhile, p99", percentile(0.99, waits), "ms", at_most=50)


def upload_at_once(door, count, size, block):
    failures = []

    def upload():
        try:
            door.upload_by_tus(size, block)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=upload) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def idle(rig):
    count = rig.count(10_000, 100)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    door = Door(rig)
    sockets = []
    # The door takes two descriptors for each connection, after 256, and keeps the last 8 connections for health checks.
    for number in range(min(count, (hard - 256) // 2 - 16)):
        client = socket.socket()
        client.connect(("127.0.0.1", door.port))
        if number % 2:
            client.send(b"POST /uploads HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        client.setblocking(False)
        sockets.append(client)
    connection = door.connect()
    waits = [door.latency(connection) * 1000 for _ in range(200)]
    rig.add(f"a request beside {len(sockets)} idle and slow connections, p99", percentile(0.99, waits), "ms", at_most=50)
    rig.add("peak memory of the door", peak_memory(door.process.pid), "MB")
    begin = time.monotonic()

    def closed():
        left = []
        for client in sockets:
            try:
                while client.recv(4096):
                    pass
                client.close()
            except BlockingIOError:
                left.append(client)
            except OSError:
                client.close()
        sockets[:] = left
        return not left

    until("the end of the connections", closed, 60, 0.5)
    rig.add("until the last of them is closed", time.monotonic() - begin, "s", at_most=15)
    rig.add("the door answers afterwards", door.latency(door.connect()) * 1000, "ms", at_most=50)


def lists(rig):
    count = rig.count(1_000_000, 1000)
    door = Door(rig)
    line = b'{"payload":{}}\n'
    rig.sluice("submit", "noop", "--payload", "-", input=line * count, stdin=None)
    connection = door.connect()

    def times(path, fields):
        waits = []
        for _ in range(200):
            begin = time.monotonic()
            connection.request("GET", path, headers=fields)
            answer = connection.getresponse()
            body = answer.read()
            waits.append((time.monotonic() - begin) * 1000)
            assert answer.status == 200, (path, answer.status, body[:200])
        return waits, body

    _, body = times("/api/v1/commands?limit=1", door.fields)
    command = json.loads(body)["commands"][0]["id"]
    for name, path in (
        ("get", f"/commands/{command}"), ("counts", "/counts"), ("a list of 100, newest first", "/commands?limit=100"),
        ("a list of 100 in one status, oldest first", "/commands?limit=100&status=new&order=old"),
    ):
        waits, _ = times(f"/api/v1{path}", door.fields)
        rig.add(f"API beside {count:,} commands: {name}, p99", percentile(0.99, waits), "ms", at_most=20)
    link, _ = rig.sluice("login")
    code = link.strip().split("code=")[1]
    connection.request(
        "POST", "/login", body=f"code={code}",
        headers={"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin"})
    answer = connection.getresponse()
    answer.read()
    session = {"Cookie": answer.headers["Set-Cookie"].split(";")[0]}
    for name, path in (("overview", "/"), ("commands", "/commands"), ("a command", f"/commands/{command}")):
        waits, body = times(path, session)
        rig.add(f"page {name}, p99", percentile(0.99, waits), "ms", at_most=100, note=f"{len(body) / 1000:.0f} kB")
    waits, _ = times("/metrics", door.fields)
    rig.add("metrics, p99", percentile(0.99, waits), "ms", at_most=20)
