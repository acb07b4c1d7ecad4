"""Sluice: a coordinator and two workers. Executions are read from the transitions in the shards."""

import json
import os
import signal
import sqlite3
import subprocess
import time

from executions import Execution
from rig import Session, SubmitTimedOut, last_line, until, version
from variant import Variant

SENT, SUCCESS = 2, 4


class SluiceSystem:
    FEATURES = ("fan", "chain", "oneKey", "keys")
    VARIANTS = (Variant("sluice", "defaults", False, True),)

    def __init__(self, rig):
        self.rig = rig

    @classmethod
    def install(cls, rig):
        rig.versions["sluice"] = version(rig.sluice_path, 0)
        return cls(rig)

    def start(self, variant):
        return SluiceSession(self)


class SluiceSession(Session):
    HAS_ROOT = True

    def __init__(self, system):
        super().__init__(system.rig, "sluice")
        self.system, self.data = system, f"{self.directory}/data"
        self.names, self.baseline, self.flows = {}, {}, {}
        self.up = self.rig.start(
            self.rig.sluice_path, "up", "--data", self.data, "--workers", "2", "--concurrency", "16",
            log=f"{self.directory}/worker.log")
        self.services.append(self.up)
        until("the workers of sluice up", lambda: len(self.worker_pids()) == 2)
        self.first_worker = self.worker_pids()[0]
        names = sorted(name for name in os.listdir(self.data) if name.endswith(".sqlite"))
        self.shards = [sqlite3.connect(f"file:{self.data}/{name}?mode=ro", uri=True, isolation_level=None, check_same_thread=False) for name in names]
        self.submit_keys("warm", 64, 64, 60)
        until("the first commands", lambda: self.progress("warm") >= 64)

    def sluice(self, *command, input="", timeout=60):
        try:
            result = subprocess.run(
                [self.rig.sluice_path, *command, "--data", self.data], input=input, capture_output=True, text=True, check=False,
                timeout=timeout)
        except subprocess.TimeoutExpired:
            raise SubmitTimedOut from None
        if result.returncode != 0:
            raise RuntimeError(f"sluice {' '.join(command)} has failed: {last_line(result.stderr)}")
        return result.stdout

    def worker_pids(self):
        try:
            status = json.loads(self.sluice("status", "--json").splitlines()[0])
        except RuntimeError:
            return []
        return [worker["pid"] for worker in status.get("workers", []) if worker.get("pid") and worker.get("state") == "ready"]

    # Submits

    def submit_lines(self, run, *command, lines, timeout):
        self.baseline[run] = self.successes()
        text = "".join(json.dumps(line) + "\n" for line in lines)
        begin = time.time()
        ids = self.sluice(*command, input=text, timeout=timeout).split()
        return begin, time.time(), ids

    def submit_fan(self, run, count, timeout):
        lines = [{"flow": {"name": run}}, {"node": "root", "type": "noop"}]
        lines += [{"node": f"p-{index}", "type": "noop", "after": "root"} for index in range(count)]
        lines.append({"node": "join", "type": "noop", "after": "p-*"})
        begin, end, self.flows[run] = self.submit_lines(run, "flow", "submit", "-", "--lines", lines=lines, timeout=timeout)
        return begin, end

    def submit_chain(self, run, count, timeout):
        lines = [{"flow": {"name": run}}, {"node": "c-0", "type": "noop"}]
        lines += [{"node": f"c-{index}", "type": "noop", "after": f"c-{index - 1}"} for index in range(1, count)]
        begin, end, self.flows[run] = self.submit_lines(run, "flow", "submit", "-", "--lines", lines=lines, timeout=timeout)
        return begin, end

    def submit_keys(self, run, count, keys, timeout):
        lines = [{"payload": {}, "orderingKey": f"{run}-{index % keys}"} for index in range(count)]
        begin, end, ids = self.submit_lines(run, "submit", "noop", "--payload", "-", lines=lines, timeout=timeout)
        self.names[run] = {id.replace("-", ""): str(index) for index, id in enumerate(ids)}
        return begin, end

    # What has run

    def successes(self):
        return sum(
            shard.execute("SELECT ifnull(sum(n), 0) FROM counts WHERE status = ?", (SUCCESS,)).fetchone()[0] for shard in self.shards)

    def progress(self, run):
        """The commands of a run that have succeeded. A flow itself counts as one more when it has ended."""
        return self.successes() - self.baseline[run] if run in self.baseline else 0

    def transitions(self, run, status):
        """Names and times of all transitions of a run to a status."""
        if run not in self.names:
            flow = json.loads(self.sluice("flow", self.flows[run][0], "--json"))
            self.names[run] = {node["id"].replace("-", ""): node["name"] for node in flow["nodes"]}
        names, found = self.names[run], []
        for shard in self.shards:
            for id, at in shard.execute("SELECT lower(hex(id)), at FROM transition WHERE status = ?", (status,)):
                if id in names:
                    found.append(Execution(names[id], at / 1000, 0))
        return found

    def executions(self, run):
        return self.transitions(run, SENT)

    def root_end(self, run):
        return next(execution.at for execution in self.transitions(run, SUCCESS) if execution.name == "root")

    def kill_worker(self):
        """`sluice up` starts it again."""
        os.kill(self.first_worker, signal.SIGKILL)

    def restart_worker(self):
        pass

    def stop(self):
        for shard in self.shards:
            shard.close()
        super().stop()
