"""The processes, services and packages of a comparison. Its processes end with it."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time

import executions

HERE = os.path.dirname(os.path.abspath(__file__))
ENVIRONMENT = os.path.expanduser("~/.cache/sluice/compare")


class NotInstalled(Exception):
    """A peer that cannot run on this machine, with the reason."""


class SubmitTimedOut(Exception):
    """A submit that took too long. Its process is killed."""

    def __init__(self):
        super().__init__("the submit")


class Rig:
    def __init__(self, directory, sluice_path):
        self.directory, self.sluice_path = directory, sluice_path
        self.processes, self.versions, self.rounds = [], {}, 0

    def new_directory(self, name):
        """A new directory. Its path is short, since that of a unix socket has at most 107 bytes."""
        self.rounds += 1
        path = os.path.join(self.directory, f"{name}-{self.rounds}")
        os.mkdir(path, 0o711)
        return path

    # Processes

    def start(self, *command, log, **options):
        """Starts a program in a session of its own, so that `kill` and `end` reach all its descendants."""
        with open(log, "ab") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, **options)
        self.processes.append(process)
        return process

    def kill(self, process):
        """Sends SIGKILL to all processes of a session, until there is none."""
        while pids := session_members(process.pid):
            for pid in pids:
                send(pid, signal.SIGKILL)
            process.poll()
            time.sleep(0.002)
        process.wait()
        if process in self.processes:
            self.processes.remove(process)

    def end(self, process, number=signal.SIGTERM):
        """Asks a process to end, and kills what is left of its session after 15 s."""
        send(process.pid, number)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            note(f"process {process.pid} did not end within 15 s of signal {number}; it is killed")
        self.kill(process)

    def stop(self):
        for process in reversed(list(self.processes)):
            self.end(process, signal.SIGQUIT if getattr(process, "is_postgres", False) else signal.SIGTERM)

    # Packages

    def program(self, name, package, directories=()):
        """The path of a program, which is installed from Debian where it is missing."""
        path = find(name, directories)
        if path:
            return path
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise NotInstalled(f"{name} is not in PATH; install the package {package}")
        note(f"installing {package}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["apt-get", "update", "-q"], ["apt-get", "install", "-y", "-q", "--no-install-recommends", package]):
            result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        path = find(name, directories)
        if not path:
            raise NotInstalled(f"apt-get install {package}: {last_line(result.stderr)}")
        if shutil.which("systemctl"):  # the package may have started a service of its own
            subprocess.run(["systemctl", "disable", "--now", package], capture_output=True, check=False)
        return path

    def python(self, requirement, module):
        """The Python of the environment for the peers, after the installation of a package; notes its version."""
        python = f"{ENVIRONMENT}/bin/python"
        if not os.access(python, os.X_OK):
            note(f"making {ENVIRONMENT}")
            result = subprocess.run(
                [sys.executable, "-m", "venv", ENVIRONMENT], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise NotInstalled(f"python3 -m venv {ENVIRONMENT}: {last_line(result.stderr + result.stdout)}")
        check = [python, "-c", f"import {module}, importlib.metadata as m; print(m.version('{module}'))"]
        result = subprocess.run(check, capture_output=True, text=True, check=False)
        if result.returncode != 0:
            note(f"installing {requirement}")
            install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirement.split()]
            installation = subprocess.run(install, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            result = subprocess.run(check, capture_output=True, text=True, check=False)
            if result.returncode != 0:
                raise NotInstalled(f"pip install {requirement}: {last_line(installation.stderr)}")
        self.versions[module] = result.stdout.strip()
        return python

    # Services

    def start_redis(self, directory):
        """Starts Redis with every write on disk before its answer; returns the process and its socket."""
        path = self.program("redis-server", "redis-server")
        socket = f"{directory}/redis.sock"
        process = self.start(
            path, "--port", "0", "--unixsocket", socket, "--dir", directory, "--save", "",
            "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no", log=f"{directory}/redis.log")
        self.versions["redis-server"] = version(path, 2).removeprefix("v=")
        until("Redis", lambda: os.path.exists(socket))
        return process, socket

    def start_postgres(self, directory):
        """Starts PostgreSQL, as the user “postgres” where this is root; returns the process and its connection string."""
        bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        path, initdb = self.program("postgres", "postgresql", bins), find("initdb", bins)
        if not initdb:
            raise NotInstalled("initdb is not beside postgres; install the package postgresql")
        options = {"cwd": directory}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres") if has_user("postgres") else pwd.getpwuid(65_534)
            os.chown(directory, user.pw_uid, user.pw_gid)
            options |= {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = f"{directory}/pg"
        subprocess.run(
            [initdb, "-D", data, "-U", "compare", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)
        process = self.start(
            path, "-D", data, "-c", "listen_addresses=", "-c", f"unix_socket_directories={directory}",
            "-c", "synchronous_commit=on", "-c", "fsync=on", "-c", "max_connections=200", log=f"{directory}/postgres.log", **options)
        process.is_postgres = True  # SIGQUIT also removes its shared memory
        self.versions["postgres"] = version(path, 2)
        until("PostgreSQL", lambda: "ready to accept connections" in read(f"{directory}/postgres.log"))
        return process, f"host={directory} user=compare dbname=postgres"


class Session:
    """One running system: its service, its two workers and what they have executed."""

    def __init__(self, rig, name):
        self.rig, self.directory = rig, rig.new_directory(name)
        self.record = executions.Record(f"{self.directory}/executions")
        self.environment = {**os.environ, "PYTHONPATH": HERE, "PYTHONDONTWRITEBYTECODE": "1", "COMPARE_RECORD": self.record.path}
        self.services, self.workers, self.submit_seconds = [], [], None
        self.submit_process = None

    def start_worker(self, *command):
        """Starts the worker of the next number, which replaces “{number}” in the command."""
        number = len(self.workers)
        command = [part.replace("{number}", str(number)) for part in command]
        process = self.rig.start(*command, log=f"{self.directory}/worker.log", env=self.environment, cwd=HERE)
        self.workers.append(process)
        return process

    def submit(self, python, module, *values, timeout=60):
        """Runs a submit in the environment of the peer; returns its begin and end."""
        self.submit_process = subprocess.Popen(
            [python, f"{HERE}/{module}.py", *map(str, values)], env=self.environment, cwd=HERE, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            output, errors = self.submit_process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            self.stop_submit()
            raise SubmitTimedOut from None
        if self.submit_process.returncode != 0:
            raise RuntimeError(f"the submit {module} {values} has failed: {last_line(errors)}")
        begin, end = output.split()[-2:]
        return float(begin), float(end)

    def stop_submit(self):
        if self.submit_process and self.submit_process.poll() is None:
            self.submit_process.kill()
            self.submit_process.wait()

    def wait_for_workers(self, submit_warm_up, seconds=60):
        """Submits no-ops until each worker has executed one."""
        limit, rounds = time.monotonic() + seconds, 0
        while len({execution.session for execution in self.record.all("warm")}) < len(self.workers):
            if time.monotonic() > limit:
                log = read(f"{self.directory}/worker.log")[-1500:]
                raise RuntimeError(f"timed out after {seconds} s waiting for the workers; the end of their log is:\n{log}")
            submit_warm_up(rounds)
            rounds += 1
            time.sleep(1)

    def stop(self):
        self.stop_submit()
        for process in self.workers:
            self.rig.kill(process)
        for process in self.services:
            self.rig.end(process, signal.SIGQUIT if getattr(process, "is_postgres", False) else signal.SIGTERM)
        shutil.rmtree(self.directory, ignore_errors=True)


def session_members(session):
    """The processes of a session that have not ended."""
    members = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] not in "ZX":
                members.append(int(entry))
    return members


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def until(what, condition, seconds=60, interval=0.05):
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > limit:
            raise RuntimeError(f"timed out after {seconds} s waiting for {what}")
        time.sleep(interval)


def find(name, directories=()):
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/local/bin", "/usr/sbin", *directories]))


def has_user(name):
    return any(entry.pw_name == name for entry in pwd.getpwall())


def version(path, word):
    output = subprocess.run([path, "--version"], capture_output=True, text=True, check=False).stdout.split()
    return output[word] if len(output) > word else "unknown"


def read(path):
    with open(path, errors="replace") as file:
        return file.read()


def last_line(text):
    return (text.strip().splitlines() or ["no message"])[-1]


def note(text):
    print(f"compare-flows: {text}", file=sys.stderr, flush=True)
