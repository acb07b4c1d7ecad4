"""The jobs of rq, and as a program their submit: rq_tasks.py fan|chain|warm RUN COUNT"""

import os
import sys
import time

from redis import Redis
from rq import Queue, Retry, Worker

import executions


class TunedWorker(Worker):
    """Looks for the jobs of dead workers every 15 s, once a job has had no heartbeat for 65 s."""

    def __init__(self, *values, **options):
        super().__init__(*values, **{**options, "job_monitoring_interval": 5, "worker_ttl": 30, "maintenance_interval": 10})


def node(name):
    executions.write(name)


def root(name):
    """Ends when the submit is complete."""
    while not os.path.exists(os.environ["COMPARE_GATE"]):
        time.sleep(0.002)
    executions.write(name)


def submit(kind, run, count):
    queue = Queue(connection=Redis(unix_socket_path=os.environ["COMPARE_REDIS"]))

    def data(function, name, depends_on=None):
        return Queue.prepare_data(
            function, (f"{run}/{name}",), job_id=f"{run}-{name}".replace("/", "-"), depends_on=depends_on, timeout=3600,
            retry=Retry(max=3) if os.environ.get("COMPARE_TUNED") else None)

    begin = time.time()
    if kind == "fan":
        first = queue.enqueue_many([data(root, "root")])[0]
        # The join names all nodes, so it cannot be in one call with them.
        nodes = queue.enqueue_many([data(node, f"p-{index}", first) for index in range(count)])
        queue.enqueue_many([data(node, "join", nodes)])
    elif kind == "chain":
        job = None
        for index in range(count):
            job = queue.enqueue_many([data(node, f"c-{index}", job)])[0]
    else:
        queue.enqueue_many([data(node, f"w-{index}") for index in range(count)])
    print(begin, time.time())


if __name__ == "__main__":
    import rq_tasks  # the name of the module is a part of the names of its functions

    rq_tasks.submit(sys.argv[1], sys.argv[2], int(sys.argv[3]))
