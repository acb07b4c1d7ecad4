"""Collections."""

import json
import os
import sqlite3
import sys
import threading
import time

from nginx import Nginx
from rig import peak_memory

DLT = """
import sys, time, dlt, requests
pipeline = dlt.pipeline("bench", pipelines_dir=sys.argv[3], destination=dlt.destinations.sqlalchemy("sqlite:///" + sys.argv[2]), dataset_name="bench")
pipeline.run(requests.get(sys.argv[1]).json(), table_name="quotes", write_disposition="merge", primary_key="id")
"""


def record(index, version):
    """A record of 400 bytes."""
    head = {"id": index, "version": version, "author": f"author {index % 997}", "text": ""}
    head["text"] = "x" * (400 - len(json.dumps(head)))
    return json.dumps(head)


def write_list(path, count, changed=()):
    with open(path, "w") as file:
        file.write("[")
        for index in range(count):
            file.write(("," if index else "") + record(index, 2 if index in changed else 1))
        file.write("]")


def sync(rig):
    """A list that is new, unchanged, and changed at each hundredth record."""
    nginx = Nginx(rig)
    count = rig.count(100_000)
    write_list(f"{nginx.root}/first.json", count)
    write_list(f"{nginx.root}/second.json", count, range(0, count, 100))
    utils, dlt = rig.find("sqlite-utils"), rig.find("dlt")
    python = os.path.join(rig.peers, "python") if rig.peers else sys.executable
    rates = {"first": [], "unchanged": [], "1 % changed": [], "sqlite-utils": [], "dlt": []}

    def own(name, source):
        # The list has another address at each run, so that no tag of the server says that it is unchanged.
        os.replace(f"{nginx.root}/{source}.json", f"{nginx.root}/list.json")
        os.utime(f"{nginx.root}/list.json")
        output, seconds = rig.sluice(
            "sync", f"{nginx.origin}/list.json", "--collection", "quotes", "--unconditional", "--wait", "--json")
        os.replace(f"{nginx.root}/list.json", f"{nginx.root}/{source}.json")
        rates[name].append(count / seconds)
        return output

    for turn in range(rig.runs):
        service = rig.up()
        own("first", "first")
        own("unchanged", "first")
        own("1 % changed", "second")
        service.terminate()
        service.wait()
        if utils:
            # The download counts for both.
            rates["sqlite-utils"].append(count / rig.run(
                "sh", "-c", 'curl -sSf "$1" | "$2" insert "$3" quotes - --pk id --replace', "-", f"{nginx.origin}/first.json",
                utils, rig.path(f"utils-{turn}"))[1])
        if dlt:
            rates["dlt"].append(count / rig.run(
                python, "-c", DLT, f"{nginx.origin}/first.json", rig.path(f"dlt-{turn}"), rig.path(f"pipelines-{turn}"))[1])
    for name, aim in (("first", 60_000), ("unchanged", 100_000), ("1 % changed", 100_000)):
        rig.add(f"{count:,} records of 400 bytes, {name}", rates[name], "/s", at_least=aim)
    for peer, aim in (("sqlite-utils", 2), ("dlt", 5)):
        if rates[peer]:
            rig.add(f"the same, {peer}", rates[peer], "/s")
            rig.add(f"  first, of {peer}", [a / b for a, b in zip(rates["first"], rates[peer])], "x", at_least=aim)


def array(rig):
    """An array of 1 GB, in one worker, and a reader of the collection meanwhile."""
    nginx = Nginx(rig)
    count = rig.count(2_500_000)
    write_list(f"{nginx.root}/small.json", 1000)
    write_list(f"{nginx.root}/large.json", count)
    rig.up(workers=1)
    command = ("--collection", "quotes", "--max-bytes", str(4 << 30), "--wait")
    rig.sluice("sync", f"{nginx.origin}/small.json", *command)
    worker = rig.workers()[0]
    path = next(
        os.path.join(folder, name) for folder, _, names in os.walk(rig.data_directory) for name in names
        if name == "quotes.sqlite")
    pauses, ended = [], threading.Event()

    def read():
        while not ended.is_set():
            begin = time.monotonic()
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                tables = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE name = 'record'")]
                assert tables, "the collection has no table of records"
                database.execute("SELECT * FROM record LIMIT 10").fetchall()
            database.close()
            pauses.append((time.monotonic() - begin) * 1000)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        _, seconds = rig.sluice("sync", f"{nginx.origin}/large.json", *command)
    finally:
        ended.set()
        reader.join()
    rig.add(f"array of {count * 402 / 1e9:.2g} GB", count / seconds, "/s")
    rig.add("  worker, peak", peak_memory(worker), "MB", at_most=64)
    pauses.sort()
    rig.add("  a reader meanwhile, p50", pauses[len(pauses) // 2], "ms")
    rig.add("  slowest read", pauses[-1], "ms", note=f"{len(pauses):,} reads")
