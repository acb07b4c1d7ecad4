"""Stored responses."""

import os

from nginx import Nginx
from result import percentile


def fetch(rig):
    """A stored response until it is printed, and a 304 round trip beside curl's."""
    nginx = Nginx(rig, """
        location /fresh { add_header Cache-Control max-age=3600; }
        location /stale { add_header Cache-Control max-age=0; }""")
    for name in ("fresh", "stale"):
        with open(f"{nginx.root}/{name}", "w") as file:
            file.write('{"quote": "%s"}' % ("a" * 4000))
        os.utime(f"{nginx.root}/{name}", (1_700_000_000, 1_700_000_000))
    rig.up()
    for name in ("fresh", "stale"):
        rig.sluice("fetch", f"{nginx.origin}/{name}", "--wait", "fresh")
    count = rig.count(100, 10)
    stored, fresh, own, curl = [], [], [], []
    tag = next(
        line.split(" ", 1)[1].strip() for line in rig.run("curl", "-sI", f"{nginx.origin}/stale")[0].splitlines()
        if line.lower().startswith("etag"))
    for _ in range(count):
        stored.append(rig.sluice("fetch", f"{nginx.origin}/stale", "--wait", "stored")[1] * 1000)
        fresh.append(rig.sluice("fetch", f"{nginx.origin}/fresh")[1] * 1000)
        own.append(rig.sluice("fetch", f"{nginx.origin}/stale", "--wait", "fresh")[1] * 1000)
        curl.append(rig.run("curl", "-sS", "-H", f"If-None-Match: {tag}", f"{nginx.origin}/stale")[1] * 1000)
    rig.add("stored response: process start to end, p50", percentile(0.5, stored), "ms", at_most=15)
    rig.add("  p99", percentile(0.99, stored), "ms")
    rig.add("fresh stored response: process start to end, p50", percentile(0.5, fresh), "ms", at_most=15)
    rig.add("304 round trip, curl, p50", percentile(0.5, curl), "ms")
    rig.add("304 round trip, sluice fetch --wait fresh, p50", percentile(0.5, own), "ms", at_most=percentile(0.5, curl) + 2)
