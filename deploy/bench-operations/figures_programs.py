"""Programs."""

import json
import os
import select
import time

from result import percentile
from rig import until

CONFIGURATION = """
exec: {enabled: true}
programs: ["true", hold]
program:
  "true": {path: /usr/bin/true, concurrency: 64}
  hold: {path: HOLD, allowArguments: true}
"""
# A descendant in a session of its own, whose number is in the named file.
HOLD = """#!/bin/sh
setsid sh -c 'echo $$ > "$1.new"; mv "$1.new" "$1"; exec sleep 600' - "$1" &
wait
"""


def configure(rig):
    hold = rig.path("hold")
    with open(hold, "w") as file:
        file.write(HOLD)
    os.chmod(hold, 0o700)
    rig.configure(CONFIGURATION.replace("HOLD", hold))


def exec(rig):
    """/bin/true from its submit to its success, as many at once as there are slots."""
    count = rig.count(2_000)
    configure(rig)
    lines = (json.dumps({"payload": {"program": "true"}}) + "\n").encode() * count
    spooler = rig.find("tsp")
    rates = {"posix_spawn": [], "tsp": [], "sluice": []}
    for turn in range(rig.runs):
        begin = time.monotonic()
        for _ in range(count):
            os.waitpid(os.posix_spawn("/usr/bin/true", ["true"], {}), 0)
        rates["posix_spawn"].append(count / (time.monotonic() - begin))
        service = rig.up()
        begin = time.monotonic()
        rig.sluice("submit", "exec", "-", stdin=None, input=lines)
        rig.until_ended(count)
        rates["sluice"].append(count / (time.monotonic() - begin))
        service.terminate()
        service.wait()
        if spooler:
            few = max(count // 10, 20)
            environment = {**os.environ, "TS_SOCKET": rig.path(f"tsp-{turn}"), "TMPDIR": rig.directory}
            rig.run(spooler, "-S", "32", env=environment)
            begin = time.monotonic()
            for _ in range(few):
                rig.run(spooler, "-n", "/usr/bin/true", env=environment)
            rig.run(spooler, "-w", env=environment)
            rates["tsp"].append(few / (time.monotonic() - begin))
            rig.run(spooler, "-K", env=environment)
    for name, values in rates.items():
        if values:
            rig.add(f"/bin/true, {name}", values, "/s")
    rig.add("  of posix_spawn and wait, one after the other", [a / b * 100 for a, b in zip(rates["sluice"], rates["posix_spawn"])],
            "%", at_least=50)
    if rates["tsp"]:
        rig.add("  of tsp", [a / b for a, b in zip(rates["sluice"], rates["tsp"])], "x", at_least=10)


def guardian(rig):
    """kill -9 of the worker until a descendant in another session has ended. Each run has a worker of its own."""
    configure(rig)
    data = ["--data", rig.data(), *rig.configuration]
    rig.start(rig.sluice_path, "coordinator", *data)
    times, left = [], 0
    for turn in range(rig.count(200, 5)):
        file = rig.path(f"pid-{turn}")
        worker = rig.start(rig.sluice_path, "worker", "--concurrency", "1", *data)
        until("the worker", lambda: rig.workers() == [worker.pid])
        rig.sluice("exec", "hold", file)
        until("the program", lambda: os.path.exists(file), interval=0.005)
        with open(file) as text:
            descriptor = os.pidfd_open(int(text.read()))
        begin = time.monotonic()
        worker.kill()
        ended = select.select([descriptor], [], [], 5)[0]
        times.append((time.monotonic() - begin) * 1000)
        os.close(descriptor)
        worker.wait()
        left += 0 if ended else 1
    rig.add("kill -9 of a worker until the last descendant has ended, p50", percentile(0.5, times), "ms", at_most=20)
    rig.add("  p99", percentile(0.99, times), "ms", at_most=100)
    rig.add(f"  left over after {len(times)}", left, "", at_most=0)
