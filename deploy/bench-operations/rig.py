"""The processes and files of a measurement. All of them end with it."""

import json
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import time
from collections import Counter

from result import Result

# Statuses in a shard.
SUCCESS, FAILED = 4, {"cancelled": 5, "inDoubt": 7, "tooManyTimes": 10}


class Rig:
    def __init__(self, values, directory):
        self.sluice_path, self.runs, self.scale = values.sluice, values.runs, values.scale
        self.peers, self.directory = values.peers, directory
        self.results, self.processes, self.rounds = [], [], 0
        self.configuration = []

    # Results

    def add(self, *arguments, **options):
        self.results.append(Result(*arguments, **options))
        return self.results[-1].value

    def count(self, whole, least=1):
        """`whole`, at the scale of this run."""
        return max(whole * self.scale // 100, least)

    # Processes

    def find(self, name):
        """The path of a peer, or None after a result that says so."""
        places = [self.peers] if self.peers else []
        path = shutil.which(name, path=os.pathsep.join(places + [os.environ["PATH"], "/usr/sbin", "/usr/local/sbin"]))
        if not path:
            self.add(f"{name} is not installed: no comparison", 0, "")
        return path

    def start(self, *command, **options):
        errors = open(self.path("errors"), "ab")
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=options.pop("stdout", errors), stderr=errors, **options)
        self.processes.append(process)
        return process

    def run(self, *command, **options):
        """Runs a program that must succeed; returns its output and seconds."""
        begin = time.monotonic()
        result = subprocess.run(command, stdin=options.pop("stdin", subprocess.DEVNULL), capture_output=True, **options)
        seconds = time.monotonic() - begin
        if result.returncode != 0:
            raise RuntimeError(f"{command[:6]} ended with {result.returncode}: {result.stderr.decode()[-600:]}")
        return result.stdout.decode(), seconds

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes = []

    # Sluice

    def data(self):
        """A new data directory, which `sluice` uses from now on."""
        self.rounds += 1
        self.data_directory = self.path(f"data-{self.rounds}")
        return self.data_directory

    def sluice(self, *arguments, **options):
        return self.run(self.sluice_path, *arguments, "--data", self.data_directory, *self.configuration, **options)

    def configure(self, text):
        """Every later process reads this sluice.yaml."""
        with open(self.path("sluice.yaml"), "w") as file:
            file.write(text)
        self.configuration = ["--config", self.path("sluice.yaml")]

    def secret(self, name, text):
        """The path of a new file that only its owner may read."""
        with open(os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text)
        return self.path(name)

    def up(self, workers=2, concurrency=16):
        """Starts all processes on a new data directory, and waits until they are ready."""
        data = self.data()
        process = self.start(
            self.sluice_path, "up", "--data", data, "--workers", str(workers), "--concurrency", str(concurrency),
            *self.configuration)
        until("the workers", lambda: len(self.workers()) == workers)
        return process

    def workers(self):
        """The process ids of the ready workers."""
        result = subprocess.run(
            [self.sluice_path, "status", "--json", "--data", self.data_directory], capture_output=True, check=False)
        if result.returncode != 0:
            return []
        status = json.loads(result.stdout.decode().splitlines()[0])
        return [worker["pid"] for worker in status.get("workers", []) if worker.get("pid")]

    def until_ended(self, count, seconds=900):
        """Waits until all commands have ended, by the counts in the shards. Fails where one has not succeeded."""
        names = sorted(name for name in os.listdir(self.data_directory) if name.endswith(".sqlite"))
        shards = [sqlite3.connect(f"file:{self.data_directory}/{name}?mode=ro", uri=True) for name in names]

        def ended():
            counts = Counter()
            for shard in shards:
                counts.update(dict(shard.execute("SELECT status, sum(n) FROM counts GROUP BY status").fetchall()))
            failed = {name: counts[code] for name, code in FAILED.items() if counts[code]}
            if failed:
                raise RuntimeError(f"commands have failed: {failed}")
            return counts[SUCCESS] >= count

        until("the commands", ended, seconds, 0.01)
        for shard in shards:
            shard.close()

    # Files

    def path(self, name):
        return os.path.join(self.directory, name)

    def noise(self, path, size):
        """A file that no layer can compress, on the disk before anything is measured."""
        block = random.randbytes(1 << 20)
        with open(path, "wb") as file:
            for index in range(0, size, len(block)):
                file.write(index.to_bytes(8, "big") + block[8:][: size - index - 8])
            file.flush()
            os.fsync(file.fileno())


def until(what, condition, seconds=60, interval=0.05):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise RuntimeError(f"{what}: not within {seconds} s")
        time.sleep(interval)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def peak_memory(pid):
    """VmHWM in MB."""
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6

