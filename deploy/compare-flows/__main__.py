"""Measures flows and ordering keys of Sluice beside other systems, in one run, and what each loses when a worker is killed.

  python3 deploy/compare-flows [--only NAME…] [--nodes N] [--sluice PATH] [--timeout SECONDS] [--wait SECONDS] [--directory DIR] [--json]

  sluice         flows, ordering keys
  celery         chord and chain, Redis
  rq             depends_on, Redis
  procrastinate  locks, PostgreSQL

Figures, each with two workers of concurrency 16 and tasks that only note their start in a file (Sluice: no-ops, by their
transitions to “sent”):

  submit   from the first to the last statement of the submit of a fan
  fan      root, N nodes, join: from the end of the root to the start of the join. Celery's chord has no root: from its submit
  chain    1,000 tasks, from the first start to the last
  one key  1,000 tasks of one ordering key or lock: starts a second
  keys     N tasks over 1,000 ordering keys or locks: starts a second
  kill     every process of one worker gets SIGKILL when half of a fan has run (procrastinate: of “keys”), and starts again after a
           second. The counts are taken --wait seconds after the rest has run. “ran twice” counts tasks that were in flight

Durability is equal: SQLite synchronous=FULL; Redis appendfsync=always; PostgreSQL synchronous_commit=on. A figure that takes
longer than --timeout is given up, and the fan is repeated with a fiftieth of its nodes. Each peer is measured with its defaults, and
“tuned”: with the options that its manual gives for lost workers and short waits, which the table names.

  --only       these systems (default: all)
  --nodes      N (default 10000)
  --sluice     the binary (default .build/release/sluice of the repository)
  --timeout    for each figure (default 120)
  --wait       after a kill (default 120)
  --directory  holds all data, which is removed at the end (default: TMPDIR, else /var/tmp)
  --json       prints one JSON object instead of the table

Redis and PostgreSQL are taken from PATH, else installed with apt-get; the Python packages go to ~/.cache/sluice/compare. A peer that
cannot be installed is named and left out. All services listen on unix sockets below --directory and are stopped at the end.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import report
from celery_system import CelerySystem
from measure import Measurement
from procrastinate_system import ProcrastinateSystem
from rig import NotInstalled, Rig, note
from rq_system import RQSystem
from sluice_system import SluiceSystem

SYSTEMS = {"sluice": SluiceSystem, "celery": CelerySystem, "rq": RQSystem, "procrastinate": ProcrastinateSystem}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--only", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS), metavar="NAME")
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--sluice", default=f"{repository}/.build/release/sluice")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--wait", type=float, default=120)
    parser.add_argument("--directory", default=os.environ.get("TMPDIR", "/var/tmp"))
    parser.add_argument("--json", action="store_true")
    values = parser.parse_args()
    if values.nodes < 100:
        parser.error("--nodes is at least 100")
    if "sluice" in values.only and not os.access(values.sluice, os.X_OK):
        sys.exit(f"compare-flows: cannot execute {values.sluice}; build it, or name another with --sluice")
    return values


def main():
    values = arguments()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    directory = tempfile.mkdtemp(prefix="sluice-compare-", dir=values.directory)
    os.chmod(directory, 0o711)  # PostgreSQL runs as another user
    rig = Rig(directory, values.sluice)
    try:
        systems, missing = [], {}
        for name in SYSTEMS:
            if name not in values.only:
                continue
            try:
                systems.append(SYSTEMS[name].install(rig))
            except NotInstalled as error:
                note(f"{name} is left out: {error}")
                missing[name] = str(error)
        measurement = Measurement(rig, values.nodes, values.timeout, values.wait)
        for take in (measurement.figures, measurement.kill):
            for system in systems:
                for variant in system.VARIANTS:
                    try:
                        take(system, variant)
                    except Exception as error:  # the figures of the others stay
                        note(f"{variant.name}: {error!r}")
                        missing.setdefault(variant.name, str(error))
        measurement.count_after_kills()
    finally:
        rig.stop()
        shutil.rmtree(directory, ignore_errors=True)
    result = report.members(rig, values, measurement.results, missing)
    print(json.dumps(result) if values.json else report.table(result), flush=True)


main()
