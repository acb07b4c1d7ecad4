"""The result of a comparison as an object and as a table."""

import datetime
import os
import platform


def members(rig, values, results, missing):
    with open("/proc/cpuinfo") as file:
        model = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "cores": os.cpu_count(), "processor": model, "kernel": platform.release(), "python": platform.python_version(),
            "load": os.getloadavg()[2]},
        "versions": rig.versions, "nodes": values.nodes, "timeout": values.timeout, "wait": values.wait,
        "systems": results, "missing": missing,
    }


def table(result):
    machine, systems = result["machine"], result["systems"]
    lines = [
        f"{result['date']}, {machine['cores']} cores ({machine['processor']}), Linux {machine['kernel']}, load {machine['load']:.1f}",
        ", ".join(f"{name} {version}" for name, version in result["versions"].items()),
        "",
    ]
    timed = {name: system for name, system in systems.items() if any(key in system for key in ("fan", "chain", "oneKey", "keys"))}
    rows = [
        (f"submit of a fan of {result['nodes']:,}", "fan", "submitSeconds", seconds),
        (f"fan-out, fan-in of {result['nodes']:,}", "fan", "seconds", seconds),
        (f"fan-out, fan-in of {max(result['nodes'] // 50, 100):,}", "smallFan", "seconds", seconds),
        ("chain of 1,000", "chain", "seconds", seconds),
        ("one key, 1,000 tasks", "oneKey", "perSecond", rate),
        (f"1,000 keys, {result['nodes']:,} tasks", "keys", "perSecond", rate),
    ]
    cells = [["", *timed]]
    for title, figure, member, form in rows:
        row = [cell(system.get(figure), member, form) for system in timed.values()]
        if any(text != "–" for text in row):
            cells.append([title, *row])
    lines += aligned(cells) + [""] if timed else []
    cells = [["kill -9 of one of two workers at half", "ran", "ran twice", "join ran", "join after", "last start after"]]
    for name, system in systems.items():
        if kill := system.get("kill"):
            join = kill["joins"]
            cells.append([
                name, f"{kill['ran']:,} of {kill['nodes']:,}", f"{kill['ranTwice']:,}",
                "no joins" if join is None else {0: "never", 1: "once", 2: "twice"}.get(join, f"{join} times"),
                "–" if kill["secondsToJoin"] is None else seconds(kill["secondsToJoin"]), seconds(kill["secondsToLastStart"])])
            if kill["missingAtJoin"]:
                cells[-1][3] += f", before {kill['missingAtJoin']:,} nodes"
    lines += aligned(cells) + [""] if len(cells) > 1 else []
    lines += [f"{name}: {system['options']}" for name, system in systems.items() if system["options"] != "defaults"]
    lines += [f"{name} is left out: {reason}" for name, reason in result["missing"].items()]
    return "\n".join(lines)


def cell(figure, member, form):
    if figure is None:
        return "–"
    if "givenUp" not in figure or (member == "submitSeconds" and member in figure):
        return form(figure[member])
    if form is rate:
        return f"{figure['ran'] / figure['seconds']:,.1f}/s ({figure['ran']:,} in {figure['seconds']:.0f} s)"
    return f"> {figure['seconds']:.0f} s ({figure['ran']:,} ran)"


def seconds(value):
    return f"{value:.2f} s"


def rate(value):
    return f"{value:,.0f}/s"


def aligned(cells):
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() for row in cells]
