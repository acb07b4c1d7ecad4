"""Takes the figures of all systems."""

import contextlib
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from rig import SubmitTimedOut, note

CHAIN, ONE_KEY, KEYS = 1_000, 1_000, 1_000
QUIET = 5  # seconds without a start after which the rest of a fan counts as run


class Measurement:
    def __init__(self, rig, nodes, timeout, wait):
        self.rig, self.nodes, self.timeout, self.wait = rig, nodes, timeout, wait
        self.results, self.fan_nodes, self.killed = {}, {}, []

    # Speed

    def figures(self, system, variant):
        result = self.results[variant.name] = {"options": variant.options}
        if not variant.has_figures:
            return
        if "fan" in system.FEATURES:
            result["fan"] = self.figure(system, variant, "fan", self.nodes, self.fan)
            if "givenUp" in result["fan"]:
                self.fan_nodes[system] = max(self.nodes // 50, 100)
                result["smallFan"] = self.figure(system, variant, "fan", self.fan_nodes[system], self.fan)
        if "chain" in system.FEATURES:
            result["chain"] = self.figure(system, variant, "chain", CHAIN, self.chain)
        if "oneKey" in system.FEATURES:
            result["oneKey"] = self.figure(system, variant, "onekey", ONE_KEY, lambda *values: self.keys(*values, 1))
        if "keys" in system.FEATURES:
            result["keys"] = self.figure(system, variant, "keys", self.nodes, lambda *values: self.keys(*values, KEYS))

    def figure(self, system, variant, run, count, take):
        """Takes one figure on an empty system of its own."""
        note(f"{variant.name}: {run} of {count:,}")
        session = system.start(variant)
        try:
            result = {"nodes": count, **take(session, run, count)}
        except (TimeoutError, SubmitTimedOut) as error:
            ran = session.progress(run)
            result = {"nodes": count, "givenUp": str(error) or "the tasks", "ran": ran, "seconds": self.timeout}
            if session.submit_seconds is not None:
                result["submitSeconds"] = session.submit_seconds
        finally:
            session.stop()
        note(f"{variant.name}: {run}: {result}")
        return result

    def fan(self, session, run, count):
        begin, end = session.submit_fan(run, count, self.timeout)
        session.submit_seconds = end - begin
        executions = self.until(session, run, count + 1 + session.HAS_ROOT, begin)
        root_end = session.root_end(run) if session.HAS_ROOT else begin
        join = next(execution.at for execution in executions if execution.name == "join")
        return {"submitSeconds": end - begin, "seconds": join - root_end}

    def chain(self, session, run, count):
        begin, _ = session.submit_chain(run, count, self.timeout)
        executions = self.until(session, run, count, begin)
        return {"seconds": executions[-1].at - executions[0].at}

    def keys(self, session, run, count, keys):
        begin, end = session.submit_keys(run, count, keys, self.timeout)
        executions = self.until(session, run, count, begin)
        seconds = executions[-1].at - executions[0].at
        return {"submitSeconds": end - begin, "seconds": seconds, "perSecond": (count - 1) / max(seconds, 0.001)}

    def until(self, session, run, count, begin):
        """Waits for `count` executions; returns them in the order of their starts."""
        while session.progress(run) < count:
            if time.time() > begin + self.timeout:
                raise TimeoutError
            time.sleep(0.05)
        return sorted(session.executions(run), key=lambda execution: execution.at)

    # Losses

    def kill(self, system, variant):
        """Kills a worker in the middle of a fan and starts it again. The count comes later, so that the waits overlap."""
        count = self.fan_nodes.get(system, self.nodes)
        note(f"{variant.name}: kill in {count:,}")
        session = system.start(variant)
        try:
            has_join = "fan" in system.FEATURES
            with ThreadPoolExecutor(1) as pool, contextlib.ExitStack() as stack:
                stack.callback(session.stop_submit)  # the pool waits for the submit, also after an error
                if has_join:
                    submit = pool.submit(session.submit_fan, "kill", count, self.timeout)
                else:
                    submit = pool.submit(session.submit_keys, "kill", count, KEYS, self.timeout)
                limit = time.monotonic() + 2 * self.timeout
                while session.progress("kill") < count // 2 and time.monotonic() < limit:
                    time.sleep(0.002)
                    if submit.done() and submit.exception():
                        break
                before, killed_at = session.progress("kill"), time.time()
                session.kill_worker()
                note(f"{variant.name}: killed after {before:,} of {count:,}")
                time.sleep(1)
                session.restart_worker()
                submit.result()
            # The rest of the fan has the machine for itself.
            limit, last, quiet_since = time.monotonic() + self.timeout, before, time.monotonic()
            while time.monotonic() < min(limit, quiet_since + QUIET):
                time.sleep(0.25)
                if session.progress("kill") != last:
                    last, quiet_since = session.progress("kill"), time.monotonic()
        except SubmitTimedOut as error:
            note(f"{variant.name}: kill is left out: {error}")
            session.stop()
            return
        except BaseException:
            session.stop()
            raise
        self.killed.append((session, variant, count, has_join, before, killed_at, time.time() + self.wait))

    def count_after_kills(self):
        for session, variant, count, has_join, before, killed_at, until in self.killed:
            note(f"{variant.name}: counts in {max(until - time.time(), 0):.0f} s")
            time.sleep(max(until - time.time(), 0))
            starts = [execution for execution in session.executions("kill") if execution.at <= until]
            session.stop()
            joins = sorted(execution.at for execution in starts if execution.name == "join")
            nodes = [execution for execution in starts if execution.name not in ("root", "join")]
            numbers = Counter(execution.name for execution in nodes)
            result = {
                "nodes": count, "killedAfter": before, "ran": len(numbers), "lost": count - len(numbers),
                "ranTwice": sum(number > 1 for number in numbers.values()), "starts": len(nodes),
                "joins": len(joins) if has_join else None,
                "secondsToJoin": joins[0] - killed_at if joins else None,
                "secondsToLastStart": max((execution.at for execution in nodes), default=killed_at) - killed_at,
                "missingAtJoin": count - len({node.name for node in nodes if node.at <= joins[0]}) if joins else None,
                "countedAfter": round(until - killed_at),
            }
            self.results[variant.name]["kill"] = result
            note(f"{variant.name}: kill: {result}")
