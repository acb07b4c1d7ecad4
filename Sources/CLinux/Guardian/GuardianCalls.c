#define _GNU_SOURCE
#include "Guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

// System calls of the worker for guarded programs.

int clinux_block_signals(void) {
    sigset_t all;
    sigfillset(&all);
    return pthread_sigmask(SIG_SETMASK, &all, NULL);
}

int clinux_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC); }

int clinux_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_openat(int directory, const char *path, int flags) { return openat(directory, path, flags); }

int clinux_open_beneath(int directory, const char *path, int flags) {
    struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    return (int)syscall(SYS_openat2, directory, path, &how, sizeof how);
}
