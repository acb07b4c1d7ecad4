// There is nothing to call: linking this target runs the tests one at a time.
