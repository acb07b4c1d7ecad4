"""rq: jobs that depend on others, with Redis. A worker is a pool of 16 processes, each of which forks for every job."""

import os

from rig import Session
from variant import Variant


class RQSystem:
    FEATURES = ("fan", "chain")
    VARIANTS = (
        Variant("rq", "defaults", False, True),
        Variant("rq, tuned", "Retry(max=3), job_monitoring_interval 5, worker_ttl 30, maintenance_interval 10", True, False),
    )

    def __init__(self, rig, python):
        self.rig, self.python = rig, python

    @classmethod
    def install(cls, rig):
        rig.program("redis-server", "redis-server")
        return cls(rig, rig.python("rq", "rq"))

    def start(self, variant):
        return RQSession(self, variant)


class RQSession(Session):
    HAS_ROOT = True

    def __init__(self, system, variant):
        super().__init__(system.rig, "rq")
        self.system, self.is_tuned = system, variant.is_tuned
        process, socket = self.rig.start_redis(self.directory)
        self.services.append(process)
        self.environment |= {
            "COMPARE_REDIS": socket, "COMPARE_TUNED": "1" if variant.is_tuned else "", "COMPARE_GATE": f"{self.directory}/gate"}
        for _ in range(2):
            self.restart_worker()
        self.wait_for_workers(lambda round: self.submit(system.python, "rq_tasks", "warm", f"warm/{round}", 64))

    def restart_worker(self):
        self.start_worker(
            f"{os.path.dirname(self.system.python)}/rq", "worker-pool", "-q", "-n", "16", "-u", f"unix://{self.environment['COMPARE_REDIS']}",
            *(["-w", "rq_tasks.TunedWorker"] if self.is_tuned else []))

    def submit_fan(self, run, count, timeout):
        """The root waits for a file, so that it ends only after the whole graph is submitted."""
        times = self.submit(self.system.python, "rq_tasks", "fan", run, count, timeout=timeout)
        open(f"{self.directory}/gate", "w").close()
        return times

    def submit_chain(self, run, count, timeout):
        return self.submit(self.system.python, "rq_tasks", "chain", run, count, timeout=timeout)

    def root_end(self, run):
        return next(execution.at for execution in self.record.all(run) if execution.name == "root")

    def progress(self, run):
        return len(self.record.all(run))

    def executions(self, run):
        return self.record.all(run)

    def kill_worker(self):
        self.rig.kill(self.workers[0])
