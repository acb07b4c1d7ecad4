"""The orders in which two releases meet."""

import os
import signal
import time

from site_under_test import until


def coordinator(site, seconds):
    first = site.start(site.old, "coordinator")
    until("the store", lambda: os.path.exists(f"{site.data}/run/created"))
    workers = [site.start(site.new, "worker") for _ in range(2)]
    until("the workers", lambda: len(site.workers()) == 2)
    # An idle worker sends nothing but its state. The old coordinator kills one whose states it cannot read for 5 s.
    time.sleep(8)
    assert all(worker.poll() is None for worker in workers), "an idle worker was killed"
    site.load()
    time.sleep(seconds)
    assert site.versions() == {2}, "only a coordinator migrates"
    site.end(first)
    site.start(site.new, "coordinator")
    until("the migration", lambda: site.versions() == {3})
    time.sleep(seconds / 2)
    assert all(worker.poll() is None for worker in workers), "a worker has ended"


def workers(site, seconds):
    first = site.start(site.old, "coordinator")
    until("the store", lambda: os.path.exists(f"{site.data}/run/created"))
    old = [site.start(site.old, "worker") for _ in range(2)]
    site.load()
    until("the workers", lambda: len(site.workers()) == 2)
    site.end(first)
    site.start(site.new, "coordinator")
    time.sleep(seconds)
    assert all(worker.poll() is None for worker in old), "a worker has ended"
    assert site.versions() == {2}, "a worker of the old release has a session"
    for worker in old:
        site.start(site.new, "worker")
        site.end(worker)
    until("the migration", lambda: site.versions() == {3})
    time.sleep(seconds / 2)


def supervisor(site, seconds):
    path = site.install(site.old, f"{site.directory}/sluice")
    up = site.start(path, "up", "--workers", "2")
    until("the workers", lambda: os.path.exists(f"{site.data}/run/created") and len(site.workers()) == 2)
    site.load()
    time.sleep(seconds / 4)
    site.install(site.new, path)
    # Drained by a person, one after the other; `up` starts each again.
    for pid, kind in site.children(up.pid).items():
        os.kill(pid, signal.SIGTERM)
        until("the end of a child", lambda: pid not in site.children(up.pid))
        until("its successor", lambda: sorted(site.children(up.pid).values()) == ["coordinator", "worker", "worker"])
        time.sleep(seconds / 4)
    assert up.poll() is None, "up has ended"
    site.end(up)
    site.start(path, "up", "--workers", "2")
    until("the migration", lambda: site.versions() == {3})


def reload(site, seconds):
    path = site.install(site.new, f"{site.directory}/sluice")
    up = site.start(path, "up", "--workers", "2")
    until("the workers", lambda: os.path.exists(f"{site.data}/run/created") and len(site.workers()) == 2)
    site.load()
    for _ in range(2):
        time.sleep(seconds / 4)
        before = set(site.children(up.pid))
        site.install(site.new, path)
        up.send_signal(signal.SIGHUP)
        until("new children", lambda: len(site.children(up.pid)) == 3 and not before & set(site.children(up.pid)))
        until("the workers", lambda: len(site.workers()) == 2)
    assert up.poll() is None, "up has ended"


def rollback(site, seconds):
    new = site.start(site.new, "up", "--workers", "2")
    until("the workers", lambda: os.path.exists(f"{site.data}/run/created") and len(site.workers()) == 2)
    site.load()
    time.sleep(seconds / 2)
    assert site.versions() == {3}
    site.end(new)
    site.start(site.old, "up", "--workers", "2")
    until("the workers", lambda: len(site.workers()) == 2)
    time.sleep(seconds / 2)


ALL = {
    "coordinator": coordinator, "workers": workers, "supervisor": supervisor, "reload": reload, "rollback": rollback,
}
