"""Objects and webhooks."""

import base64
import json
import os
import secrets
import time

from nginx import Nginx
from swift import ObjectStore


def s3(rig):
    """One file to OpenStack Swift by its S3 interface."""
    if os.geteuid() != 0 or not rig.find("swift-proxy-server"):
        rig.add("OpenStack Swift needs its packages and root: no comparison", 0, "")
        return
    store = ObjectStore(rig)
    size = rig.count(2_000_000_000)
    source = rig.path("large")
    rig.noise(source, size)
    rig.configure(
        f"credentials: [store]\ncredential:\n  store:\n    origin: {store.origin}\n"
        f"    s3AccessKey: {store.access_key}\n    s3SecretFile: {rig.secret('secret', store.secret_key)}\n")
    s5cmd, rclone = rig.find("s5cmd"), rig.find("rclone")
    environment = {**os.environ, "AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key,
                   "AWS_REGION": "us-east-1"}
    if not (s5cmd and rclone):
        return
    rig.run(s5cmd, "--endpoint-url", store.origin, "mb", "s3://media", env=environment)
    rig.up()
    remote = [f"--s3-{key}={value}" for key, value in (
        ("provider", "Other"), ("endpoint", store.origin), ("env-auth", "true"), ("force-path-style", "true"),
        ("region", "us-east-1"))]
    commands = {
        "s5cmd": lambda key: rig.run(s5cmd, "--endpoint-url", store.origin, "cp", source, f"s3://media/{key}", env=environment),
        "rclone": lambda key: rig.run(
            rclone, "copyto", source, f":s3:media/{key}", *remote, "--config", "/dev/null", env=environment),
        "sluice": lambda key: rig.sluice("s3", "put", source, "--to", f"s3://media/{key}", "--endpoint", store.origin, "--wait"),
        "sluice, parts of 50 MiB": lambda key: rig.sluice(
            "s3", "put", source, "--to", f"s3://media/{key}", "--endpoint", store.origin, "--part-size", "50MiB", "--wait"),
    }
    times = {name: [] for name in commands}
    for turn in range(rig.runs):
        for name, command in commands.items():
            os.sync()
            times[name].append(command(f"{name.split(',')[0]}-{len(name)}-{turn}")[1])
            store.empty()
    for name, seconds in times.items():
        rig.add(f"{size / 1e9:g} GB to OpenStack Swift, {name}", [size / 1e6 / one for one in seconds], "MB/s")
    for name in ("sluice", "sluice, parts of 50 MiB"):
        for peer in ("s5cmd", "rclone"):
            rig.add(f"  {name}, of {peer}", [b / a * 100 for a, b in zip(times[name], times[peer])], "%", at_least=90)


def webhook(rig):
    """Small POSTs, 32 at once, to a server that answers 204."""
    nginx = Nginx(rig, "location /hooks { return 204; }")
    count = rig.count(20_000)
    secret = rig.secret("whsec", "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode())
    rig.configure(
        f"webhooks: [billing]\nwebhook:\n  billing:\n    origin: {nginx.origin}\n    secretFiles: [{secret}]\n")
    script = rig.path("post.lua")
    with open(script, "w") as file:
        file.write('wrk.method = "POST"\nwrk.body = \'{"id":"in_7"}\'\nwrk.headers["Content-Type"] = "application/json"\n')
    lines = (json.dumps(
        {"payload": {"url": f"{nginx.origin}/hooks", "type": "invoice.paid", "data": {"id": "in_7"}}}) + "\n").encode() * count
    wrk = rig.find("wrk")
    rates = {"wrk": [], "sluice": []}
    for _ in range(rig.runs):
        if wrk:
            output = rig.run(wrk, "-t2", "-c32", "-d3", "-s", script, f"{nginx.origin}/hooks")[0]
            rates["wrk"].append(next(float(line.split()[1]) for line in output.splitlines() if "Requests/sec" in line))
        service = rig.up()
        begin = time.monotonic()
        rig.sluice("submit", "webhook", "-", stdin=None, input=lines)
        rig.until_ended(count)
        rates["sluice"].append(count / (time.monotonic() - begin))
        service.terminate()
        service.wait()
    for name, values in rates.items():
        if values:
            rig.add(f"small POSTs, 32 at once, {name}", values, "/s")
    if rates["wrk"]:
        rig.add("  of wrk", [a / b * 100 for a, b in zip(rates["sluice"], rates["wrk"])], "%", at_least=60)
