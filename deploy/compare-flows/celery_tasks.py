"""The tasks of Celery, and as a program their submit: celery_tasks.py fan|chain|warm RUN COUNT"""

import os
import sys
import time

from celery import Celery, chain, chord, group

import executions

URL = "redis+socket://" + os.environ["COMPARE_REDIS"]
app = Celery("celery_tasks", broker=URL, backend=URL)
app.conf.broker_connection_retry_on_startup = True
if os.environ.get("COMPARE_TUNED"):
    app.conf.update(
        task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=1,
        broker_transport_options={"visibility_timeout": 30, "unacked_restore_throttle": 1})


@app.task
def node(name):
    executions.write(name)


@app.task
def join(results, name):
    executions.write(name)


def submit(kind, run, count):
    if kind == "fan":
        work = chord([node.si(f"{run}/p-{index}") for index in range(count)], join.s(f"{run}/join"))
    elif kind == "chain":
        work = chain(*[node.si(f"{run}/c-{index}") for index in range(count)])
    else:
        work = group([node.si(f"{run}-{index}") for index in range(count)])
    begin = time.time()
    work.apply_async()
    print(begin, time.time())


if __name__ == "__main__":
    import celery_tasks  # the name of the module is a part of the names of its tasks

    celery_tasks.submit(sys.argv[1], sys.argv[2], int(sys.argv[3]))
