"""One data directory with the processes of two releases, and what was acknowledged in it."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import threading
import time

from receiver import Receiver

SUCCESS = 4


def until(what, condition, seconds=60, interval=0.05):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(interval)


class Site:
    def __init__(self, directory, old, new):
        self.directory, self.data = directory, f"{directory}/data"
        self.old, self.new = old, new
        self.receiver = Receiver()
        self.processes, self.producers, self.refusals = [], [], []
        self.acknowledged, self.lock, self.is_loaded = [], threading.Lock(), False
        self.log = open(f"{directory}/log", "ab")
        self.file = f"{directory}/file"
        with open(self.file, "wb") as file:
            file.write(os.urandom(20_000))

    # Processes

    def start(self, program, *arguments):
        """Starts a part in a session of its own, so that no terminal belongs to it."""
        process = subprocess.Popen(
            [program, *arguments, "--data", self.data, "--log-format", "json"], stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log, start_new_session=True)
        self.processes.append(process)
        return process

    def end(self, process):
        """Drains a part; it must end by itself."""
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        if code not in (0, 143):
            raise RuntimeError(f"{process.args[:2]} ended with {code}")

    def stop(self):
        self.unload()
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.receiver.shutdown()

    def install(self, program, path):
        """Replaces a program as install(1) does."""
        shutil.copy(program, path + ".new")
        os.rename(path + ".new", path)
        return path

    def children(self, pid):
        """The direct children of a process and their subcommands."""
        found = {}
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat") as file:
                    parent = int(file.read().rsplit(")", 1)[1].split()[1])
                if name.isdigit() and parent == pid:
                    with open(f"/proc/{name}/cmdline", "rb") as file:
                        found[int(name)] = file.read().split(b"\0")[1].decode()
            except (OSError, IndexError, ValueError):
                continue
        return found

    # State

    def status(self, program=None):
        result = subprocess.run(
            [program or self.new, "status", "--json", "--data", self.data], capture_output=True, check=False)
        return json.loads(result.stdout.decode().splitlines()[0]) if result.returncode == 0 else {}

    def workers(self):
        return [worker for worker in self.status().get("workers", []) if worker.get("pid")]

    def shards(self):
        for name in sorted(os.listdir(self.data)):
            if name.endswith(".sqlite"):
                connection = sqlite3.connect(f"file:{self.data}/{name}?mode=ro", uri=True, timeout=30)
                yield connection
                connection.close()

    def versions(self):
        """The versions of the shards."""
        query = "SELECT ifnull((SELECT value FROM meta WHERE key = 'version'), (SELECT * FROM pragma_user_version))"
        return {int(shard.execute(query).fetchone()[0]) for shard in self.shards()}

    # Load

    def load(self):
        """Producers of both releases submit until `unload`."""
        self.is_loaded = True
        for name, program in (("old", self.old), ("new", self.new)):
            thread = threading.Thread(target=self.produce, args=(name, program))
            thread.start()
            self.producers.append(thread)

    def unload(self):
        self.is_loaded = False
        for thread in self.producers:
            thread.join()
        self.producers = []

    def produce(self, name, program):
        number = 0
        while self.is_loaded:
            number += 1
            self.submit(program, "noop", "--payload", '{"milliseconds": 5}')
            for method in ("PUT", "POST"):
                url = f"{self.receiver.origin}/{method}/{name}-{number}-{time.monotonic_ns()}"
                self.submit(program, "upload", "--payload", json.dumps({"file": self.file, "to": url, "method": method}), url=url)

    def submit(self, program, kind, *arguments, url=None):
        result = subprocess.run(
            [program, "submit", kind, *arguments, "--data", self.data], capture_output=True, check=False, text=True)
        with self.lock:
            if result.returncode == 0:
                self.acknowledged.append((result.stdout.split()[0], url))
            else:
                self.refusals.append(f"{os.path.basename(program)} submit {kind}: {result.returncode} {result.stderr.strip()[:200]}")

    # The check

    def settle(self):
        """Waits until everything has ended. - Returns: what is wrong."""
        self.unload()
        total = len(self.acknowledged)
        rows = {}

        def ended():
            for shard in self.shards():
                rows.update({
                    row[0].hex(): row[1:] for row in shard.execute(
                        "SELECT id, status, retries, crashes, reason FROM command")
                })
            return sum(row[0] == SUCCESS for row in rows.values()) >= total

        problems = [f"refused: {refusal}" for refusal in self.refusals[:5]]
        try:
            until("the commands", ended, 90, 0.2)
        except RuntimeError as error:
            problems.append(str(error))
        for uuid, url in self.acknowledged:
            row = rows.get(uuid.replace("-", ""))
            if row is None:
                problems.append(f"lost: {uuid}")
            elif row[:3] != (SUCCESS, 0, 0):
                problems.append(f"{uuid} has status {row[0]}, {row[1]} failures and {row[2]} crashes: {row[3]}")
            if url:
                method, path = url.split("/")[3], "/" + url.split("/", 3)[3]
                count = self.receiver.deliveries[(method, path)]
                if count < 1 or (method == "POST" and count > 1):
                    problems.append(f"{method} {path} was delivered {count} times")
        with open(f"{self.directory}/log") as file:
            problems += [line.strip()[:300] for line in file if "is killed" in line or "damaged" in line]
        if total < 10:
            problems.append(f"only {total} commands were acknowledged")
        return problems[:20]

    def summary(self):
        with_url = [url for _, url in self.acknowledged if url]
        return f"{len(self.acknowledged)} commands, {len(with_url)} uploads, shards of version {sorted(self.versions())}"
