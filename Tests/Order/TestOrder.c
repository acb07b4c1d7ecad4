#include "TestOrder.h"

#include <stdlib.h>

// Runs one test at a time. Tests that block their thread, measure times or fill connections would starve each other on
// two cores. Swift Testing reads the number of concurrent tests from this variable; a package has no other way to set
// it for a plain `swift test`.
__attribute__((constructor)) static void run_one_test_at_a_time(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "1", 0);
}
