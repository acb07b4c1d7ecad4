"""One run: its files, its clients, and the check at the end."""

import hashlib
import os
import queue
import random
import sys
import threading
import time
from collections import Counter

import changed
import clients
import curl
from browser import Browser
from instance import Instance, until
from ledger import Ledger, Transfer
from plan import Plan, events
from proxy import Proxy
from relay import Relay

RUN = {
    "tuspy": clients.tuspy, "aiotus": clients.aiotus, "resumable-upload": clients.resumable,
    "resumable-checksum": clients.resumable, "resumable-parallel": clients.resumable_parallel, "curl-put": curl.put,
    "curl-ietf": curl.ietf, "curl-changed": changed.upload}
# Around the largest body that is kept in the store, and around the slices of the page.
EDGES = [0, 1, (64 << 10) - 1, 64 << 10, (64 << 10) + 1, (8 << 20) - 1, 8 << 20, (8 << 20) + 1]
VERSIONS = [3, 5, 6, 8, 9, None]
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Seconds for one file.
LIMIT = 300


class Trial:
    def __init__(self, values, directory, certificate):
        self.values, self.directory = values, directory
        self.source = random.Random(values.seed)
        self.proxy = Proxy(values.through, directory, REPOSITORY) if values.through else None
        self.instance = Instance(directory, values.sluice, self.proxy.settings if self.proxy else "")
        self.ledger = Ledger()
        self.plan = Plan(self.instance)
        self.relay = Relay(self.ledger, self.plan, self.instance)
        self.base = f"http://127.0.0.1:{self.relay.port}"
        if self.proxy:
            self.proxy.start(self.relay.port, certificate)
            self.base = self.proxy.url
        self.problems, self.done, self.browser = [], 0, None
        self.jobs = [self.job(number) for number in range(values.files)]

    def job(self, number):
        """Draws all that the seed decides about one file, and writes it."""
        source, limit = self.source, int(self.values.max_size * 1e6)
        client = self.values.clients[number % len(self.values.clients)]
        cycle = number // len(self.values.clients)
        edges = [size for size in EDGES if size <= limit]
        if source.random() < 0.4:
            size = source.choice(edges)
        else:
            size = min(int(1000 * (limit / 1000) ** source.random()), limit)
        if client == "curl-changed":
            size = max(size, 1)
        name = f"f{number:04}.bin"
        path = f"{self.directory}/{name}"
        with open(path, "wb") as file:
            file.write(source.randbytes(size))
        checksum = source.choice(["sha1", "sha256", "md5"]) if client in ("resumable-checksum", "tuspy") else None
        if client == "tuspy" and cycle % 2:
            checksum = None
        pauses = sorted(source.randrange(1, size) for _ in range(source.randint(0, 2))) if size > 1 else []
        kills = min(int(source.expovariate(1 / self.values.kills) + 0.5), 6) if self.values.kills else 0
        self.plan.add(name, events(source, size, kills), source.choice([None, None, 20e6, 5e6]))
        transfer = self.ledger.transfers[name] = Transfer(name, size, client)
        transfer.has_key = client in ("curl-put", "curl-changed")
        job = clients.Job(
            name, path, size, client, route=source.choice(["keep", "send"]), key=f"{self.values.seed}-{number}",
            chunk=source.choice([64 << 10, 1 << 20, 5_000_000, max(size, 1)]), checksum=checksum, pauses=pauses,
            version=VERSIONS[cycle % len(VERSIONS)])
        if client == "curl-changed":
            changed.draw(source, job, limit)
            transfer.size = max(size, job.other_size)
        return job

    # The run

    def run(self):
        began = time.monotonic()
        threading.Thread(target=self.watch, daemon=True).start()
        waiting = self.waiting(False)
        lanes = [threading.Thread(target=self.lane, args=(waiting,), daemon=True) for _ in range(self.values.parallel)]
        if "browser" in self.values.clients:
            lanes.append(threading.Thread(target=self.browse, args=(self.waiting(True),), daemon=True))
        try:
            for lane in lanes:
                lane.start()
            for lane in lanes:
                lane.join()
            seconds = time.monotonic() - began
            self.check()
        finally:
            if self.browser:
                self.browser.close()
            if self.proxy:
                self.proxy.stop()
            self.relay.close()
            self.instance.stop()
        self.problems += self.ledger.faults
        self.problems += [f"the door ended by itself: {crash}" for crash in self.instance.crashes]
        return self.result(seconds)

    def waiting(self, in_browser):
        found = queue.SimpleQueue()
        for job in self.jobs:
            if (job.client == "browser") == in_browser:
                found.put(job)
        return found

    def lane(self, waiting):
        while True:
            try:
                job = waiting.get_nowait()
            except queue.Empty:
                return
            self.upload(job, RUN[job.client])

    def browse(self, waiting):
        try:
            self.browser = Browser(self.instance, self.base)
            self.browser.log_in()
        except Exception as error:
            self.problems.append(f"the browser does not start: {error}")
            return
        while not waiting.empty():
            self.upload(waiting.get(), self.browser.upload)

    def upload(self, job, run):
        job.begin(LIMIT, self.instance, self.base, self.ledger.transfers[job.name])
        try:
            job.url = run(job)
            outcome = "ok"
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            self.problems.append(f"{job.name} ({job.client}, {job.size} bytes): {reason}; {job.errors[-3:]}")
            outcome = "FAILED"
        self.done += 1
        transfer = job.transfer
        print(
            f"test-uploads: {self.done}/{len(self.jobs)} {job.name} {job.client} {job.size} bytes, {transfer.kills} kills, "
            f"{transfer.cuts} cuts, {transfer.pauses} pauses: {outcome}", file=sys.stderr)

    def watch(self):
        while True:
            time.sleep(1)
            self.ledger.find_hanging()

    # The check

    def check(self):
        """Compares each file with what arrived."""
        sent = {job.name for job in self.jobs if job.route == "send"}
        try:
            until("the commands", lambda: sent <= {row[1] for row in self.instance.commands() if row[2]}, 120, 0.2)
        except RuntimeError as error:
            self.problems.append(str(error))
        uploads, commands = {}, {}
        for row in self.instance.uploads():
            uploads.setdefault(row[1], []).append(row)
        for row in self.instance.commands():
            commands.setdefault(row[1], []).append(row)
        for job in self.jobs:
            self.check_file(job, uploads.get(job.name, []), commands.get(job.name, []))

    def check_file(self, job, uploads, commands):
        def problem(text):
            self.problems.append(f"{job.name} ({job.client}, {job.size} bytes): {text}")

        job.is_identical = False
        # The version that the file had before it changed may have arrived, too, as a whole.
        versions = 2 if job.former_path else 1
        if not 1 <= len(uploads) <= versions:
            problem(f"{len(uploads)} complete uploads: {[row[0] for row in uploads]}")
        if len(commands) != (len(uploads) if job.route == "send" else 0):
            problem(f"{len(commands)} commands: {[row[0] for row in commands]}")
        if not uploads:
            return
        url = getattr(job, "url", None) or uploads[0][0]
        uploads.sort(key=lambda row: not url.endswith(row[0]))
        upload, _, offset, length, command = uploads[0]
        if (offset, length) != (job.size, job.size):
            problem(f"upload {upload} has offset {offset} and length {length}")
        if not url.endswith(upload):
            problem(f"its client has the URL {job.url}, and upload {upload} is complete")
        wanted, former = digest(job.path), job.former_path and digest(job.former_path)
        if job.route == "send":
            found = set(self.instance.destination.digests.get(job.name, []))
            if commands and command not in [row[0] for row in commands]:
                problem(f"upload {upload} names command {command}, and there is {commands[0][0]}")
            job.mixtures = len(found - {wanted, former})
            job.is_identical = wanted in found and not job.mixtures
        else:
            try:
                digests = [self.instance.spooled(row[0]) for row in uploads]
            except OSError as error:
                return problem(str(error))
            job.mixtures = len(set(digests) - {wanted, former})
            job.is_identical = digests[0] == wanted and not job.mixtures
        if not job.is_identical:
            problem("the bytes that arrived differ")

    # The result

    def result(self, seconds):
        rows = []
        for client in self.values.clients:
            jobs = [job for job in self.jobs if job.client == client]
            transfers = [job.transfer for job in jobs if hasattr(job, "transfer")]
            total = sum(job.size for job in jobs)
            rows.append({
                "client": client, "files": len(jobs), "identical": sum(getattr(job, "is_identical", False) for job in jobs),
                "bytes": total, "sent": sum(transfer.sent for transfer in transfers),
                "belowStated": sum(transfer.below for transfer in transfers),
                "restarts": sum(transfer.restarts for transfer in transfers),
                "kills": sum(transfer.kills for transfer in transfers), "cuts": sum(transfer.cuts for transfer in transfers),
                "pauses": sum(transfer.pauses for transfer in transfers),
                "refusals": sum(transfer.refusals for transfer in transfers),
                "mixtures": sum(job.mixtures for job in jobs)})
        statuses = Counter()
        for (client, method, status), count in self.ledger.statuses.items():
            statuses[f"{client} {method} {status}"] += count
        return {
            "seed": self.values.seed, "files": len(self.jobs), "identical": sum(row["identical"] for row in rows),
            "mixtures": sum(row["mixtures"] for row in rows), "kills": self.instance.kills, "seconds": round(seconds, 1), "clients": rows,
            "answers": dict(sorted(statuses.items())), "problems": self.problems}

    def table(self, result):
        lines = [
            f"{'client':20} {'files':>5} {'same':>5} {'MB':>7} {'sent MB':>8} {'below stated':>13} {'restarts':>9} {'kills':>6} "
            f"{'cuts':>5} {'pauses':>7} {'refused':>8} {'mixed':>6}"]
        for row in result["clients"]:
            lines.append(
                f"{row['client']:20} {row['files']:5} {row['identical']:5} {row['bytes'] / 1e6:7.1f} {row['sent'] / 1e6:8.1f} "
                f"{row['belowStated']:13} {row['restarts']:9} {row['kills']:6} {row['cuts']:5} {row['pauses']:7} {row['refusals']:8} "
                f"{row['mixtures']:6}")
        lines.append(
            f"{result['identical']} of {result['files']} files identical, {result['mixtures']} mixtures; the door was killed {result['kills']} times in "
            f"{result['seconds']} s; seed {result['seed']}")
        lines += [f"  {problem}" for problem in result["problems"][:40]]
        return "\n".join(lines)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
