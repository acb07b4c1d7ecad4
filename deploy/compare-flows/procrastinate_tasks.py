"""The tasks of procrastinate, and as a program their submit: procrastinate_tasks.py schema|keys RUN COUNT KEYS"""

import os
import sys
import time

from procrastinate import App, PsycopgConnector, SyncPsycopgConnector

import executions

app = App(connector=PsycopgConnector(conninfo=os.environ["COMPARE_POSTGRES"], max_size=20))


@app.task(name="node")
async def node(name):
    executions.write(name)


if os.environ.get("COMPARE_TUNED"):

    @app.periodic(cron="* * * * *")
    @app.task(name="retry_stalled", queueing_lock="retry_stalled", pass_context=True)
    async def retry_stalled(context, timestamp):
        for job in await app.job_manager.get_stalled_jobs():
            await app.job_manager.retry_job(job)


def submit(kind, run, count, keys):
    with app.replace_connector(SyncPsycopgConnector(conninfo=os.environ["COMPARE_POSTGRES"])) as sync_app, sync_app.open():
        begin = time.time()
        if kind == "schema":
            sync_app.schema_manager.apply_schema()
        else:
            task = sync_app.tasks["node"]
            jobs = [
                task.configure(lock=f"{run}-{index % keys}").make_new_job(name=f"{run}{'-' if '/' in run else '/'}{index}")
                for index in range(count)
            ]
            sync_app.job_manager.batch_defer_jobs(jobs=jobs)
        print(begin, time.time())


if __name__ == "__main__":
    submit(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
