"""Uploads files with real clients through a door that is killed again and again, and compares what arrived.

  python3 deploy/test-uploads [--files N] [--seed N] [--clients NAME,…] [--parallel N] [--kills N] [--max-size MB]
                               [--through PROXY] [--sluice PATH] [--json] [--keep]

  --files      files in all, shared by the clients in turn (default 100)
  --seed       decides sizes, kills, cuts and pauses (default: a new one, which is printed)
  --clients    of tuspy, aiotus, resumable-upload, resumable-checksum, resumable-parallel, curl-put, curl-ietf,
               curl-changed and browser (default: all)
  --parallel   uploads at a time (default 4), in addition to that of the browser
  --kills      of the door for each file, on average (default 1.5)
  --max-size   of a file, in MB (default 32)
  --through    nginx, haproxy or caddy: clients speak TLS to this proxy, which runs with its configuration of deploy/proxies
  --sluice     the program under test (default: .build/debug/sluice of this tree)
  --json       prints the result as one JSON object
  --keep       keeps the directory of the run

A relay between the clients and the door, or between the proxy and the door, reads all requests and responses. At bytes that the seed decides it stops, and the door
gets SIGKILL and is started again at the same port, or only the connection is cut; in the middle of a body, of the fields of a
request, or before a response reaches its client. The same seed plans the same events; their order in time may differ.

The files of curl-changed get other bytes or another length while they are sent under one Idempotency-Key, or after that: a
repeat is refused, or goes on where the bytes are the same, and no upload has bytes of both versions.

Half of the files stay in the spool; a worker sends the others on to a destination. Afterwards
  · each file has arrived, byte for byte, as one upload, and has made one command where its route makes one;
  · no response has stated a smaller offset than one before, and no live upload was unknown or failed;
  · every request got an answer, or its connection ended.
Bytes below an offset that its client had been told must not be sent again; the table counts them for each client, and restarts:
creations that a client repeats although it had been told an offset, as curl does that is killed before it has written the URL.

EXAMPLES
  python3 deploy/test-uploads
  python3 deploy/test-uploads --files 20 --clients tuspy,curl-ietf --seed 7 --keep
  python3 deploy/test-uploads --files 40 --through haproxy

It needs the peers of `deploy/prepare test`. It ends with 1 where a file differs or a rule is broken.
"""

import argparse
import importlib.util
import json
import os
import random
import shutil
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEERS = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "sluice/peers/bin/python")
CLIENTS = [
    "tuspy", "aiotus", "resumable-upload", "resumable-checksum", "resumable-parallel", "curl-put", "curl-ietf", "curl-changed",
    "browser"]


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--files", type=int, default=100, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32), help=argparse.SUPPRESS)
    parser.add_argument("--clients", type=lambda text: text.split(","), default=CLIENTS, help=argparse.SUPPRESS)
    parser.add_argument("--parallel", type=int, default=4, help=argparse.SUPPRESS)
    parser.add_argument("--kills", type=float, default=1.5, help=argparse.SUPPRESS)
    parser.add_argument("--max-size", type=float, default=32, help=argparse.SUPPRESS)
    parser.add_argument("--through", choices=["nginx", "haproxy", "caddy"], help=argparse.SUPPRESS)
    parser.add_argument("--sluice", default=os.path.join(REPOSITORY, ".build/debug/sluice"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help=argparse.SUPPRESS)
    values = parser.parse_args()
    unknown = set(values.clients) - set(CLIENTS)
    if unknown or values.files < 1 or values.parallel < 1:
        parser.error(f"unknown clients: {', '.join(sorted(unknown))}" if unknown else "use numbers of at least 1")
    if not os.access(values.sluice, os.X_OK):
        parser.error(f"there is no program {values.sluice}; build it, or name it with --sluice")
    return values


def main():
    values = arguments()
    if not importlib.util.find_spec("tusclient"):
        if os.path.exists(PEERS) and not sys.executable.startswith(os.path.dirname(PEERS)):
            os.execv(PEERS, [PEERS, *sys.argv])
        print("test-uploads: the clients are not installed; run deploy/prepare test", file=sys.stderr)
        return 69
    from proxy import Certificate, program

    if values.through and not program(values.through):
        print(f"test-uploads: {values.through} is not installed; run deploy/prepare test", file=sys.stderr)
        return 69
    # The processes of the run end with it.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    print(f"test-uploads: seed {values.seed}", file=sys.stderr)
    directory = tempfile.mkdtemp(prefix="sluice-uploads.")
    certificate = Certificate(directory) if values.through else None
    # Some clients read the certificates that they trust when they are imported.
    from trial import Trial

    trial = Trial(values, directory, certificate)
    result = trial.run()
    print(json.dumps(result) if values.json else trial.table(result))
    if values.keep or result["problems"]:
        print(f"test-uploads: kept {directory}; --seed {values.seed} repeats the run", file=sys.stderr)
    else:
        shutil.rmtree(directory)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    sys.exit(main())
