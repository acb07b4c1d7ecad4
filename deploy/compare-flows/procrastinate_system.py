"""procrastinate: jobs with locks, in PostgreSQL. It has no dependencies between jobs."""

import glob
import os

from rig import Session
from variant import Variant


class ProcrastinateSystem:
    FEATURES = ("oneKey", "keys")
    VARIANTS = (
        Variant("procrastinate", "defaults", False, True),
        Variant(
            "procrastinate, tuned", "fetch_job_polling_interval 0.05; a periodic task retries get_stalled_jobs() every minute", True, True),
    )

    def __init__(self, rig, python):
        self.rig, self.python = rig, python

    @classmethod
    def install(cls, rig):
        rig.program("postgres", "postgresql", glob.glob("/usr/lib/postgresql/*/bin"))
        rig.python("psycopg[binary,pool]", "psycopg")
        return cls(rig, rig.python("procrastinate", "procrastinate"))

    def start(self, variant):
        return ProcrastinateSession(self, variant)


class ProcrastinateSession(Session):
    HAS_ROOT = False

    def __init__(self, system, variant):
        super().__init__(system.rig, "procrastinate")
        self.system, self.is_tuned = system, variant.is_tuned
        process, connection = self.rig.start_postgres(self.directory)
        self.services.append(process)
        self.environment |= {"COMPARE_POSTGRES": connection, "COMPARE_TUNED": "1" if variant.is_tuned else ""}
        self.submit(system.python, "procrastinate_tasks", "schema", "schema", 0, 0)
        for _ in range(2):
            self.restart_worker()
        self.wait_for_workers(lambda round: self.submit(system.python, "procrastinate_tasks", "keys", f"warm/{round}", 64, 64))

    def restart_worker(self):
        self.start_worker(
            f"{os.path.dirname(self.system.python)}/procrastinate", "--log-level", "warning", "--app", "procrastinate_tasks.app",
            "worker", "-c", "16", "-n", "worker{number}", *(["-p", "0.05"] if self.is_tuned else []))

    def submit_keys(self, run, count, keys, timeout):
        return self.submit(self.system.python, "procrastinate_tasks", "keys", run, count, keys, timeout=timeout)

    def progress(self, run):
        return len(self.record.all(run))

    def executions(self, run):
        return self.record.all(run)

    def kill_worker(self):
        self.rig.kill(self.workers[0])
