"""A measured value with its target."""

import statistics


class Result:
    def __init__(self, name, values, unit, at_least=None, at_most=None, note=""):
        """`values`: one number, or the numbers of all runs, of which the median counts."""
        self.samples = sorted(values) if isinstance(values, (list, tuple)) else [values]
        self.name, self.unit, self.note = name, unit, note
        self.value = statistics.median(self.samples)
        self.at_least, self.at_most = at_least, at_most

    @property
    def is_met(self):
        if self.at_least is not None:
            return self.value >= self.at_least
        return self.value <= self.at_most if self.at_most is not None else None

    @property
    def members(self):
        return {
            "name": self.name, "value": self.value, "unit": self.unit, "min": self.samples[0], "max": self.samples[-1],
            "atLeast": self.at_least, "atMost": self.at_most, "met": self.is_met, "note": self.note,
        }

    def __str__(self):
        text = f"{self.name:58} {number(self.value)} {self.unit}"
        if len(self.samples) > 1:
            text += f" ({number(self.samples[0])}–{number(self.samples[-1])})"
        if self.is_met is not None:
            bound = f"≥ {self.at_least:g}" if self.at_least is not None else f"≤ {self.at_most:g}"
            text += f"  {'ok' if self.is_met else 'MISSED'} ({bound})"
        return text + (f"  {self.note}" if self.note else "")


def number(value):
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def percentile(share, values):
    """The smallest value that is not below `share` of the values."""
    ordered = sorted(values)
    return ordered[min(max(int(-(-share * len(ordered) // 1)), 1), len(ordered)) - 1]
