"""Tests that two releases can meet in one data directory: a release that is built from its commit, and this tree.

  python3 deploy/test-upgrade [--release NAME] [--old PATH] [--new PATH] [--seconds N] [--scenario NAME]… [--keep]

  --release   the earlier release, a name in the file “releases” beside this one (default: the newest)
  --old       its program; without it, the release is built below ~/.cache/sluice/releases, once (about 10 minutes)
  --new       the program of this tree; without it, `swift build --product sluice` builds it
  --seconds   of load in each scenario (default 8)
  --keep      keeps the data directories

Scenarios:
  coordinator  the old coordinator with new workers; then a new coordinator
  workers      the new coordinator with old workers, which are replaced one after the other; then the store is migrated
  supervisor   an old `up` whose program is replaced: its children die, and are started from the new program
  reload       a new `up` under SIGHUP, which drains its workers in turn and replaces itself
  rollback     the old release again, on the store that the new one has migrated

In each, producers of both releases submit no-ops, PUT and POST uploads all the time. Afterwards each acknowledged command has
succeeded, no failure and no crash was charged, no worker was killed, and each POST was delivered exactly once.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import scenarios
from site_under_test import Site

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--release")
    parser.add_argument("--old")
    parser.add_argument("--new")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--scenario", action="append", choices=list(scenarios.ALL))
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout.strip()


def release(name):
    """The name and the commit of a release; of the newest where the name is None."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "releases"), encoding="utf-8") as file:
        known = dict(line.split() for line in file if line.strip() and not line.startswith("#"))
    name = name or list(known)[-1]
    if name not in known:
        sys.exit(f"test-upgrade: there is no release {name}; deploy/test-upgrade/releases has {', '.join(known)}")
    return name, known[name]


def build_release(name, commit):
    """The program of a release, built in a directory of its own."""
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "sluice/releases", name)
    program = os.path.join(cache, ".build/debug/sluice")
    if not os.path.exists(program):
        os.makedirs(cache, exist_ok=True)
        archive = subprocess.Popen(["git", "-C", REPOSITORY, "archive", commit], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", cache], stdin=archive.stdout, check=True)
        if archive.wait() != 0:
            sys.exit(f"test-upgrade: the commit {commit} of {name} cannot be read; fetch the history of the repository")
        print(f"test-upgrade: building {name} in {cache}", file=sys.stderr)
        subprocess.run(["swift", "build", "--product", "sluice"], cwd=cache, check=True, stdout=sys.stderr)
    return program


def build_present():
    subprocess.run(["swift", "build", "--product", "sluice"], cwd=REPOSITORY, check=True, stdout=sys.stderr)
    return os.path.join(output("swift", "build", "--show-bin-path", cwd=REPOSITORY), "sluice")


def main():
    values = arguments()
    old = values.old or build_release(*release(values.release))
    new = values.new or build_present()
    print(f"old: {old} ({output(old, '--version')})\nnew: {new} ({output(new, '--version')})")
    failed = 0
    for name in values.scenario or scenarios.ALL:
        directory = tempfile.mkdtemp(prefix=f"sluice-upgrade-{name}.")
        site = Site(directory, old, new)
        try:
            scenarios.ALL[name](site, values.seconds)
            problems = site.settle()
        except Exception as error:  # The other scenarios still run.
            problems = [f"{type(error).__name__}: {error}"]
        finally:
            site.stop()
        print(f"{name}: {site.summary()} · {'ok' if not problems else 'FAILED'}")
        for problem in problems:
            print(f"    {problem}")
        failed += bool(problems)
        if values.keep or problems:
            print(f"    kept: {directory}")
        else:
            shutil.rmtree(directory)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
