"""Celery with Redis as broker and result backend."""

import os

from rig import Session
from variant import Variant


class CelerySystem:
    FEATURES = ("fan", "chain")
    VARIANTS = (
        Variant("celery", "defaults", False, True),
        Variant(
            "celery, tuned",
            "task_acks_late, task_reject_on_worker_lost, worker_prefetch_multiplier 1, visibility_timeout 30, unacked_restore_throttle 1",
            True, True),
    )

    def __init__(self, rig, python):
        self.rig, self.python = rig, python

    @classmethod
    def install(cls, rig):
        rig.program("redis-server", "redis-server")
        return cls(rig, rig.python("celery[redis]", "celery"))

    def start(self, variant):
        return CelerySession(self, variant)


class CelerySession(Session):
    HAS_ROOT = False

    def __init__(self, system, variant):
        super().__init__(system.rig, "celery")
        self.system = system
        process, socket = self.rig.start_redis(self.directory)
        self.services.append(process)
        self.environment |= {"COMPARE_REDIS": socket, "COMPARE_TUNED": "1" if variant.is_tuned else ""}
        for _ in range(2):
            self.restart_worker()
        self.wait_for_workers(lambda round: self.submit(system.python, "celery_tasks", "warm", f"warm/{round}", 64))

    def restart_worker(self):
        self.start_worker(
            f"{os.path.dirname(self.system.python)}/celery", "-A", "celery_tasks", "worker", "-l", "WARNING", "-c", "16",
            "-n", "worker{number}@%h")

    def submit_fan(self, run, count, timeout):
        return self.submit(self.system.python, "celery_tasks", "fan", run, count, timeout=timeout)

    def submit_chain(self, run, count, timeout):
        return self.submit(self.system.python, "celery_tasks", "chain", run, count, timeout=timeout)

    def progress(self, run):
        return len(self.record.all(run))

    def executions(self, run):
        return self.record.all(run)

    def kill_worker(self):
        self.rig.kill(self.workers[0])
