"""Computes the next times of cron expressions with cronsim, a peer that follows Debian's cron.

Reads lines of JSON, [EXPRESSION, ZONE, SECONDS], and prints for each the first time after SECONDS (Unix time) at which
the expression fires, `none` if that never happens, `refused` if cronsim does not accept the expression, or `endless` if
it computes for longer than two seconds of its processor time.
"""

import json
import signal
import sys
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError


def next_time(expression, zone, start):
    local = datetime.fromtimestamp(start, timezone.utc).astimezone(ZoneInfo(zone))
    for found in CronSim(expression, local):
        # cronsim drops the fold: in the second pass of a repeated stretch it first returns times of the first pass.
        seconds = int(found.astimezone(timezone.utc).timestamp())
        if seconds > start:
            return str(seconds)
    return "none"


def expire(signal, frame):
    raise TimeoutError


signal.signal(signal.SIGVTALRM, expire)
# The parent may have blocked the signal.
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGVTALRM})
for line in sys.stdin:
    signal.setitimer(signal.ITIMER_VIRTUAL, 2)
    try:
        print(next_time(*json.loads(line)))
    except CronSimError:
        print("refused")
    except (StopIteration, RuntimeError, OverflowError):
        print("none")
    except TimeoutError:
        print("endless")
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
