#include "TestOrder.h"

#include <stdlib.h>

// Tests that block their thread, measure times or fill connections would starve each other on two cores. Swift Testing
// takes the number that run at once from this variable, and a package has no other way to say so to a plain
// `swift test`.
__attribute__((constructor)) static void one_after_the_other(void) {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "1", 0);
}
