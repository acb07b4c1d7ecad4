"""A system with its options."""

from collections import namedtuple

# `has_figures`: its speed is measured too, since the options change it.
Variant = namedtuple("Variant", "name options is_tuned has_figures")
