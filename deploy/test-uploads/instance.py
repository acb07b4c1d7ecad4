"""The data directory of a run, with its door, coordinator and worker, and the destination of a route."""

import hashlib
import http.server
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request

NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ROUTES = """
routes:
  keep: {}
  send:
    command: {type: upload, payload: {to: "http://127.0.0.1:%d/{name}", method: PUT}}
    retention: 1h
"""


def until(what, condition, seconds=60, interval=0.02):
    limit = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > limit:
            raise RuntimeError(f"timed out after {seconds} s waiting for {what}")
        time.sleep(interval)


class Destination(http.server.ThreadingHTTPServer):
    """Keeps the digest of each file that a worker has sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.digests = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A connection that was reset in the middle is not a delivery."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        rest = int(self.headers.get("Content-Length", 0))
        digest = hashlib.sha256()
        while rest:
            part = self.rfile.read(min(rest, 1 << 20))
            if not part:
                return
            rest -= len(part)
            digest.update(part)
        self.server.digests.setdefault(self.path[1:], []).append(digest.hexdigest())
        self.answer(201)

    def do_HEAD(self):
        self.answer(404)

    def answer(self, status):
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


class Instance:
    def __init__(self, directory, sluice, settings=""):
        self.directory, self.data, self.sluice = directory, f"{directory}/data", sluice
        self.destination = Destination()
        with open(f"{directory}/sluice.yaml", "w") as file:
            file.write(settings + ROUTES % self.destination.server_address[1])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(f"{directory}/log", "ab")
        self.lock = threading.Lock()
        self.kills = 0
        self.crashes = []
        self.is_stopped = False
        self.others = []
        self.start_door()
        self.others = [self.start("coordinator"), self.start("worker")]
        with open(f"{self.data}/keys/door.token") as file:
            self.token = file.read().strip()
        self.field_file = f"{directory}/field"
        with open(os.open(self.field_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(f"Authorization: Bearer {self.token}\n")

    def start(self, *arguments):
        return subprocess.Popen(
            [
                self.sluice, *arguments, "--data", self.data, "--config", f"{self.directory}/sluice.yaml", "--log-format",
                "json"], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, start_new_session=True)

    def start_door(self):
        self.door = self.start("door", "--listen", f"127.0.0.1:{self.port}")

        def listens():
            if self.door.poll() is not None:
                raise RuntimeError(f"the door ended with {self.door.returncode}; see {self.directory}/log")
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.port)) == 0

        until("the door", listens)

    def kill_and_restart(self):
        """Returns when the door is dead; another one starts meanwhile. One that is dead already needs no kill."""
        if not self.lock.acquire(blocking=False):
            return
        if self.is_stopped:
            self.lock.release()
            return
        if self.door.poll() is not None:
            self.crashes.append(self.door.returncode)
        self.door.kill()
        self.door.wait()
        self.kills += 1
        threading.Thread(target=self.restart, daemon=True).start()

    def restart(self):
        try:
            self.start_door()
        except RuntimeError as error:
            self.crashes.append(str(error))
        finally:
            self.lock.release()

    def login_link(self):
        result = subprocess.run([self.sluice, "login", "--data", self.data], check=True, capture_output=True, text=True)
        return result.stdout.strip()

    def stop(self):
        with self.lock:
            self.is_stopped = True
        for process in [self.door, *self.others]:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in [self.door, *self.others]:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.destination.shutdown()

    # The store

    def lines(self, *arguments):
        """The lines of a subcommand that prints JSON, from whichever store the instance has."""
        command = [self.sluice, *arguments, "--json", "--data", self.data]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return [json.loads(line) for line in output.splitlines()]

    def uploads(self):
        """The complete uploads: id, name of the file, offset, length and command. A part of another upload has no name."""
        path = query = f"http://127.0.0.1:{self.port}/api/v1/uploads?state=complete&limit=100"
        # A door that was killed last is starting.
        with self.lock:
            while query:
                request = urllib.request.Request(query, headers={"Authorization": f"Bearer {self.token}"})
                page = json.load(NO_PROXY.open(request, timeout=60))
                for row in page["uploads"]:
                    yield row["id"], row["fileName"], row["offset"], row["length"], row["command"]
                query = page["next"] and f"{path}&cursor={page['next']}"

    def commands(self):
        """The commands: id, name of the file, and whether it has succeeded."""
        for row in self.lines("list", "--limit", "0"):
            yield row["id"], row["url"].rsplit("/", 1)[1], row["status"] == "success"

    def spooled(self, upload):
        with open(f"{self.data}/spool/uploads/{upload}", "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
