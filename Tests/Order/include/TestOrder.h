// Nothing to call: whoever links this target has its tests run one after the other.
