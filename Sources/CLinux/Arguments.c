#include "CLinux.h"

static int argument_count;
static char **arguments;

// glibc calls the initializers of a program with the arguments of main().
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
    argument_count = count;
    arguments = values;
}

int clinux_argument_count(void) { return argument_count; }

char *const *clinux_arguments(void) { return arguments; }
