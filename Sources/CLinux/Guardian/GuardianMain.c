#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#include <errno.h>
#include <linux/prctl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#pragma clang attribute push(__attribute__((no_builtin)), apply_to = function)

// The life of a guardian.

int64_t guardian_now(void) {
    struct timespec now;
    RAW(clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int guardian_poll(struct guardian_poll *entries, int count, int64_t timeout) {
    struct timespec limit = {timeout / 1000000000, timeout % 1000000000};
    return (int)RAW(ppoll, entries, count, timeout < 0 ? 0 : &limit, 0, 0);
}

void guardian_wait(struct guardian *g, struct guardian_poll entries[WAITS], int64_t timeout) {
    entries[WAIT_COMMANDS].fd = g->commands;
    entries[WAIT_SIGNALS].fd = g->signals;
    entries[WAIT_START].fd = g->start;
    for (int i = 0; i < WAITS; i++) {
        entries[i].events = POLLIN;
        entries[i].revents = 0;
    }
    guardian_poll(entries, WAITS, timeout);
}

// MARK: Events

static uint64_t microseconds(const struct timeval *time) {
    return (uint64_t)time->tv_sec * 1000000 + (uint64_t)time->tv_usec;
}

static void send(struct guardian *g, int kind, int step, int error) {
    struct rusage usage;
    RAW(getrusage, RUSAGE_CHILDREN, &usage);
    struct clinux_guardian_event event;
    event.kind = kind;
    event.pid = g->program_pid;
    event.step = step;
    event.error = error;
    event.status = g->status;
    event.flags = g->flags;
    event.survivors = g->survivors;
    event.reserved = 0;
    event.user_time = microseconds(&usage.ru_utime);
    event.system_time = microseconds(&usage.ru_stime);
    event.max_resident = (uint64_t)usage.ru_maxrss * 1024;
    event.duration = g->has_ended ? (uint64_t)(g->end_time - g->start_time) : 0;
    RAW(write, g->events, &event, sizeof event);
}

void guardian_send(struct guardian *g, int kind) { send(g, kind, 0, 0); }

void guardian_send_failure(struct guardian *g, int step, int error) { send(g, CLINUX_GUARDIAN_FAILED, step, error); }

enum guardian_order guardian_read_order(struct guardian *g, int64_t *grace) {
    struct clinux_guardian_command command;
    long count = RAW(read, g->commands, &command, sizeof command);
    if (count == sizeof command) {
        *grace = command.kind == 2 ? 0 : (int64_t)command.grace * 1000000;
        return command.kind == 2 ? ORDER_KILL : ORDER_TERMINATE;
    }
    RAW(close, g->commands);
    g->commands = -1;
    *grace = g->plan.grace;
    return ORDER_WORKER_DIED;
}

// MARK: Preparation

/// Returns 0, or the step that failed, with the error number in `*error`.
static int prepare(struct guardian *g, int *error) {
    g->pid = (int)RAW(getpid, 0);
    RAW(prctl, PR_SET_NAME, "sluice-guard", 0, 0, 0);
    guardian_set_signal(SIGCHLD, GUARDIAN_DEFAULT);
    long result = RAW(prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    uint64_t child = 1ULL << (SIGCHLD - 1);
    if (result >= 0) result = RAW(signalfd4, -1, &child, sizeof child, O_CLOEXEC | O_NONBLOCK);
    g->signals = (int)result;
    *error = (int)-result;
    if (result < 0) return CLINUX_STEP_PREPARE;
    // Without the list no descendant could be ended, so no program is started without it.
    g->children = (int)RAW(openat, AT_FDCWD, "/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    *error = -g->children;
    return g->children < 0 ? CLINUX_STEP_CHILDREN : 0;
}

/// Returns whether everything was read; otherwise the worker has died.
static int read_all(int descriptor, void *bytes, size_t count) {
    char *next = bytes;
    while (count) {
        long got = RAW(read, descriptor, next, count);
        if (got <= 0) return 0;
        next += got;
        count -= (size_t)got;
    }
    return 1;
}

/// Turns a table of offsets into one of pointers.
static char **relocate(char *image, uint64_t offset) {
    char **table = (char **)(image + offset);
    for (char **entry = table; *entry; entry++) *entry = image + (uintptr_t)*entry;
    return table;
}

/// Reads the plan and its image. Returns 0, or the step that failed, with the error number in `*error`.
static int read_plan(struct guardian *g, int *error) {
    *error = EPIPE;
    if (!read_all(g->commands, &g->plan, sizeof g->plan)) return CLINUX_STEP_PREPARE;
    long image = RAW(mmap, 0, g->plan.image_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (image < 0 && image > -4096) {
        *error = (int)-image;
        return CLINUX_STEP_PREPARE;
    }
    g->image = (char *)image;
    if (!read_all(g->commands, g->image, g->plan.image_size)) return CLINUX_STEP_PREPARE;
    g->arguments = relocate(g->image, 0);
    g->environment = relocate(g->image, g->plan.environment);
    g->program = g->image + g->plan.program;
    g->groups = (const uint32_t *)(g->image + g->plan.groups);
    return 0;
}

// MARK: Life

int guardian_finish_start(struct guardian *g) {
    struct guardian_failure failure;
    long count = RAW(read, g->start, &failure, sizeof failure);
    RAW(close, g->start);
    g->start = -1;
    if (count == sizeof failure) {
        guardian_send_failure(g, failure.step, failure.error);
        return 0;
    }
    if (!guardian_has_executed(g->program_pid)) {
        siginfo_t info;
        RAW(waitid, P_PID, g->program_pid, &info, WEXITED | WNOWAIT, 0);
        int step = g->flags & CLINUX_GUARDIAN_TERMINATED ? CLINUX_STEP_CANCELLED : CLINUX_STEP_KILLED;
        guardian_send_failure(g, step, info.si_status);
        return 0;
    }
    g->has_started = 1;
    guardian_send(g, CLINUX_GUARDIAN_STARTED);
    return 1;
}

/// Reaps processes that the guardian has adopted, while the program runs.
static void reap_adopted(struct guardian *g) {
    uint64_t drained[32];
    RAW(read, g->signals, drained, sizeof drained);
    while (1) {
        siginfo_t info;
        info.si_pid = 0;
        if (RAW(waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT, 0) < 0 || info.si_pid == 0) return;
        if (info.si_pid == g->program_pid) {
            guardian_note_end(g);
            return;
        }
        RAW(wait4, info.si_pid, 0, WNOHANG, 0);
    }
}

/// Waits for the end of the program or for a command. Returns the grace of what is left.
static int64_t watch(struct guardian *g) {
    int64_t grace = g->plan.grace;
    while (1) {
        struct guardian_poll entries[WAITS];
        guardian_wait(g, entries, -1);
        if (entries[WAIT_START].revents && !guardian_finish_start(g)) return 0;
        if (entries[WAIT_SIGNALS].revents) reap_adopted(g);
        // The end of the program is more than a command of the same moment.
        if (g->has_ended) return grace;
        if (!entries[WAIT_COMMANDS].revents) continue;
        guardian_read_order(g, &grace);
        g->flags |= CLINUX_GUARDIAN_TERMINATED;
        return grace;
    }
}

static __attribute__((noreturn)) void finish(struct guardian *g) {
    // While the lock is held: the next guardian looks whether the file that it has locked still has its name.
    if (g->lock >= 0) RAW(unlinkat, AT_FDCWD, g->plan.lock_path, 0);
    if (g->has_started) guardian_send(g, CLINUX_GUARDIAN_ENDED);
    // Before the end of file of the events.
    if (g->lock >= 0) RAW(close, g->lock);
    while (1) RAW(exit_group, 0);
}

void guardian_main(struct guardian *g) {
    RAW(close, g->launcher);
    int error = 0;
    int step = prepare(g, &error);
    if (!step) step = read_plan(g, &error);
    if (!step) step = guardian_take_lock(g, &error);
    if (!step) {
        error = guardian_start_program(g);
        if (error) step = CLINUX_STEP_FORK;
    }
    if (step) {
        guardian_send_failure(g, step, error);
        finish(g);
    }
    RAW(munmap, g->image, g->plan.image_size);
    guardian_end_all(g, watch(g));
    finish(g);
}

#pragma clang attribute pop
