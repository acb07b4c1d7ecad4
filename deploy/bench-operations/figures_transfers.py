"""Downloads."""

import json
import os
import time

from nginx import Nginx
from rig import peak_memory, until


def get(rig):
    """One large file: curl, curl with fdatasync, sluice get, and the same with a checksum."""
    nginx = Nginx(rig)
    size = rig.count(2_000_000_000)
    rig.noise(f"{nginx.root}/large", size)
    sha256 = rig.run("sha256sum", f"{nginx.root}/large")[0].split()[0]
    rig.up()
    url, target = f"{nginx.origin}/large", rig.path("out")
    times = {"curl": [], "curl and fsync": [], "sluice": [], "sluice --checksum": []}
    commands = {
        "curl": lambda: rig.run("curl", "-sSf", "-o", target, url),
        "curl and fsync": lambda: rig.run("sh", "-c", 'curl -sSf -o "$1" "$2" && sync "$1"', "-", target, url),
        "sluice": lambda: rig.sluice("get", url, "--to", target, "--wait"),
        "sluice --checksum": lambda: rig.sluice("get", url, "--to", target, "--wait", "--checksum", f"sha256:{sha256}"),
    }
    for _ in range(rig.runs):
        for name, command in commands.items():
            times[name].append(command()[1])
            assert os.path.getsize(target) == size
            os.unlink(target)
            os.sync()
    for name, seconds in times.items():
        rig.add(f"{size / 1e9:g} GB, {name}", [size / 1e6 / one for one in seconds], "MB/s")
    for name, peer, aim in (
        ("sluice", "curl", 90), ("sluice", "curl and fsync", None), ("sluice --checksum", "curl", 80),
        ("sluice --checksum", "curl and fsync", None),
    ):
        rig.add(
            f"  {name}, of {peer}", [b / a * 100 for a, b in zip(times[name], times[peer])], "%", at_least=aim)


def files(rig):
    """Many small files, by each program from one list."""
    nginx = Nginx(rig)
    count = rig.count(5_000)
    os.makedirs(f"{nginx.root}/small")
    for index in range(count):
        rig.noise(f"{nginx.root}/small/{index:05}", 65_536)
    urls = [f"{nginx.origin}/small/{index:05}" for index in range(count)]
    with open(rig.path("urls"), "w") as file:
        file.write("\n".join(urls) + "\n")
    times = {"aria2c -j32": [], "rclone --transfers 32": [], "sluice": []}
    aria2c, rclone = rig.find("aria2c"), rig.find("rclone")
    for turn in range(rig.runs):
        for name in times:
            # A new directory: ext4 searches longer for the inodes of new files where many were just deleted.
            out = rig.path(f"out-{turn}-{name.split()[0]}")
            os.makedirs(out)
            os.sync()
            if name == "sluice":
                lines = "".join(json.dumps({"payload": {"url": url, "to": f"{out}/"}}) + "\n" for url in urls).encode()
                service = rig.up()
                begin = time.monotonic()
                rig.sluice("submit", "download", "-", stdin=None, input=lines)
                rig.until_ended(count)
                times[name].append(time.monotonic() - begin)
                service.terminate()
                service.wait()
            elif name.startswith("aria2c") and aria2c:
                times[name].append(rig.run(aria2c, "-q", "-j32", "-i", rig.path("urls"), "-d", out)[1])
            elif name.startswith("rclone") and rclone:
                times[name].append(rig.run(
                    rclone, "copy", ":http:", out, "--http-url", f"{nginx.origin}/small/", "--transfers", "32",
                    "--config", "/dev/null")[1])
            assert len(os.listdir(out)) in (0, count), name
    for name, seconds in times.items():
        if seconds:
            rig.add(f"{count:,} files of 64 KB, {name}", [count / one for one in seconds], "/s")
    for peer in ("aria2c -j32", "rclone --transfers 32"):
        if times[peer]:
            rig.add(f"  of {peer}", [b / a for a, b in zip(times["sluice"], times[peer])], "x", at_least=1.5)


def memory(rig):
    """64 downloads of 1 GB at once in one worker, each at 4 MB/s."""
    size = rig.count(1_000_000_000, 400_000_000)
    nginx = Nginx(rig, f"location /slow/ {{ alias {rig.path('www')}/; limit_rate 4m; }}")
    with open(f"{nginx.root}/large", "wb") as file:
        file.truncate(size)
    os.makedirs(rig.path("out"))
    rig.up(workers=1, concurrency=64)
    lines = "".join(
        json.dumps({"payload": {"url": f"{nginx.origin}/slow/large", "to": rig.path(f"out/{index}")}}) + "\n"
        for index in range(64)).encode()
    worker = rig.workers()[0]
    idle = peak_memory(worker)
    rig.sluice("submit", "download", "-", stdin=None, input=lines)

    def running():
        status = json.loads(rig.sluice("status", "--json")[0].splitlines()[0])
        return status["counts"].get("sent", 0) == 64

    until("64 running downloads", running)
    time.sleep(8)
    assert running(), "the 64 downloads did not run at the same time"
    rig.add("worker before the first download, peak", idle, "MB", at_most=30)
    rig.add("worker with 64 downloads of 1 GB, peak", peak_memory(worker), "MB", at_most=60)
