#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#include <errno.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>

#pragma clang attribute push(__attribute__((no_builtin)), apply_to = function)

// The lock that says that a program, or a descendant of it, is still there.

enum { MIN_PAUSE = 1000000, MAX_PAUSE = 32000000 };

/// Tries once. Returns 0, or the error number: EWOULDBLOCK where another process has the lock.
static int try_lock(struct guardian *g) {
    long file = RAW(openat, AT_FDCWD, g->plan.lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return (int)-file;
    long result = RAW(flock, file, LOCK_EX | LOCK_NB);
    struct stat opened, named;
    if (result == 0) {
        // The guardian before may have removed the file since it was opened here; a lock on it excludes no other.
        result = RAW(fstat, file, &opened);
        if (result == 0) result = RAW(newfstatat, AT_FDCWD, g->plan.lock_path, &named, AT_SYMLINK_NOFOLLOW);
        if (result == 0 && (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino)) result = -EWOULDBLOCK;
        if (result == -ENOENT) result = -EWOULDBLOCK;
    }
    if (result == 0) g->lock = (int)file;
    else RAW(close, file);
    return (int)-result;
}

/// Whether a command or the death of the worker comes within the time.
static int is_called_off(struct guardian *g, int64_t timeout) {
    struct guardian_poll commands;
    commands.fd = g->commands;
    commands.events = POLLIN;
    commands.revents = 0;
    return guardian_poll(&commands, 1, timeout) > 0;
}

int guardian_take_lock(struct guardian *g, int *error) {
    int64_t deadline = guardian_now() + g->plan.lock_timeout, pause = 0;
    while (1) {
        int code = try_lock(g);
        if (code != 0 && code != EWOULDBLOCK) {
            *error = code;
            return CLINUX_STEP_LOCK;
        }
        int64_t rest = deadline - guardian_now();
        if (code != 0 && rest <= 0) {
            *error = code;
            return CLINUX_STEP_LOCK_TIMEOUT;
        }
        if (code != 0 && pause == 0) guardian_send(g, CLINUX_GUARDIAN_WAITING);
        if (code != 0) pause = pause == 0 ? MIN_PAUSE : pause < MAX_PAUSE ? pause * 2 : MAX_PAUSE;
        if (is_called_off(g, code == 0 ? 0 : pause < rest ? pause : rest)) {
            *error = ECANCELED;
            return CLINUX_STEP_CANCELLED;
        }
        if (code == 0) return 0;
    }
}

#pragma clang attribute pop
