#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#include <errno.h>
#include <linux/close_range.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#pragma clang attribute push(__attribute__((no_builtin)), apply_to = function)

// The child of the guardian, from its fork to its execve.

static __attribute__((noreturn)) void quit(void) {
    while (1) RAW(exit_group, 127);
}

/// Tells the guardian which step failed, and exits.
static __attribute__((noreturn)) void fail(int pipe, int step, long error) {
    struct guardian_failure failure = {step, (int)-error};
    RAW(write, pipe, &failure, sizeof failure);
    quit();
}

/// Moves a descriptor above those that the program gets.
static long move_up(int descriptor) {
    return descriptor < 0 || descriptor > 3 ? descriptor : RAW(fcntl, descriptor, F_DUPFD_CLOEXEC, 4);
}

/// Sets up the descriptors 0 to 3; every other one is closed by the execve. Returns the pipe.
static int set_descriptors(struct guardian *g, int pipe) {
    long moved = move_up(pipe);
    if (moved < 0) fail(pipe, CLINUX_STEP_DESCRIPTORS, moved);
    pipe = (int)moved;
    int sources[4] = {g->input, g->output, g->error, g->report};
    for (int i = 0; i < 4; i++) {
        moved = move_up(sources[i]);
        if (moved < 0 && sources[i] >= 0) fail(pipe, CLINUX_STEP_DESCRIPTORS, moved);
        sources[i] = (int)moved;
    }
    moved = move_up(g->directory);
    if (moved < 0) fail(pipe, CLINUX_STEP_DESCRIPTORS, moved);
    g->directory = (int)moved;
    RAW(close, 3);
    for (int i = 0; i < 4; i++) {
        if (sources[i] < 0) continue;
        long result = RAW(dup3, sources[i], i, 0);
        if (result < 0) fail(pipe, CLINUX_STEP_DESCRIPTORS, result);
        // The kernel may lack close_range(2) with this flag, and the caller's descriptors need not be close-on-exec.
        RAW(fcntl, sources[i], F_SETFD, FD_CLOEXEC);
    }
    RAW(fcntl, g->directory, F_SETFD, FD_CLOEXEC);
    RAW(close_range, 4, ~0U, CLOSE_RANGE_CLOEXEC);
    return pipe;
}

/// Lowers the limits; never raises one, because that needs a privilege.
static void set_limits(struct guardian *g, int pipe) {
    for (int i = 0; i < g->plan.limit_count; i++) {
        const struct clinux_guardian_limit *limit = &g->plan.limits[i];
        struct rlimit now;
        long result = RAW(prlimit64, 0, limit->resource, 0, &now);
        if (result < 0) fail(pipe, CLINUX_STEP_LIMITS, result);
        if (limit->hard != CLINUX_LIMIT_INHERITED && limit->hard < now.rlim_max) now.rlim_max = limit->hard;
        if (limit->soft != CLINUX_LIMIT_INHERITED && limit->soft < now.rlim_cur) now.rlim_cur = limit->soft;
        if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
        result = RAW(prlimit64, 0, limit->resource, &now, 0);
        if (result < 0) fail(pipe, CLINUX_STEP_LIMITS, result);
    }
}

/// Changes groups, group and user, in this order: a later step takes the privilege for the one before. The functions of
/// glibc would tell the other threads, which do not exist here.
static void set_user(struct guardian *g, int pipe) {
    if (g->plan.changes_user) {
        long result = RAW(setgroups, g->plan.group_count, g->groups);
        if (result < 0) fail(pipe, CLINUX_STEP_GROUPS, result);
        result = RAW(setresgid, g->plan.group, g->plan.group, g->plan.group);
        if (result < 0) fail(pipe, CLINUX_STEP_GROUP, result);
        result = RAW(setresuid, g->plan.user, g->plan.user, g->plan.user);
        if (result < 0) fail(pipe, CLINUX_STEP_USER, result);
    }
    // Otherwise a worker that has CAP_SETUID by its service would hand it on to the program.
    RAW(prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
}

/// The path must still name the file that the worker has checked.
static void check_program(struct guardian *g, int pipe) {
    struct stat facts;
    long result = RAW(newfstatat, AT_FDCWD, g->program, &facts, AT_SYMLINK_NOFOLLOW);
    if (result < 0) fail(pipe, CLINUX_STEP_EXECUTE, result);
    int is_same = facts.st_dev == g->plan.program_device && facts.st_ino == g->plan.program_inode;
    if ((facts.st_mode & S_IFMT) != S_IFREG || !is_same)
        fail(pipe, CLINUX_STEP_PROGRAM, -ESTALE);
}

static __attribute__((noreturn)) void become_program(struct guardian *g, int pipe, int guardian) {
    long result = RAW(setsid, 0);
    if (result < 0) fail(pipe, CLINUX_STEP_SESSION, result);
    pipe = set_descriptors(g, pipe);
    set_limits(g, pipe);
    set_user(g, pipe);
    RAW(umask, 077);
    result = RAW(fchdir, g->directory);
    if (result < 0) fail(pipe, CLINUX_STEP_DIRECTORY, result);
    result = RAW(prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (result < 0) fail(pipe, CLINUX_STEP_PRIVILEGES, result);
    // A second net for a guardian that is killed. After the change of the user, which clears it. The guardian has one
    // thread, so that the signal does not come with the end of a thread.
    RAW(prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (RAW(getppid, 0) != guardian) quit();
    check_program(g, pipe);
    uint64_t none = 0;
    RAW(rt_sigprocmask, SIG_SETMASK, &none, 0, sizeof none);
    fail(pipe, CLINUX_STEP_EXECUTE, RAW(execve, g->program, g->arguments, g->environment));
}

static void close_all(struct guardian *g) {
    int descriptors[5] = {g->input, g->output, g->error, g->report, g->directory};
    for (int i = 0; i < 5; i++) {
        if (descriptors[i] >= 0) RAW(close, descriptors[i]);
    }
}

int guardian_start_program(struct guardian *g) {
    int pipe[2];
    long result = RAW(pipe2, pipe, O_CLOEXEC);
    if (result < 0) return (int)-result;
    g->start_time = guardian_now();
    long pid = RAW(clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) become_program(g, pipe[1], g->pid);
    RAW(close, pipe[1]);
    if (pid < 0) {
        RAW(close, pipe[0]);
        return (int)-pid;
    }
    // The end of file of an output must mean that no process of the program has it open.
    close_all(g);
    g->start = pipe[0];
    g->program_pid = (int)pid;
    return 0;
}

/// Appends a number to a text, and returns its end.
static char *append_number(char *end, unsigned number) {
    char digits[10];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count) *end++ = digits[--count];
    return end;
}

static char *append(char *end, const char *text) {
    while (*text) *end++ = *text++;
    return end;
}

int guardian_has_executed(int pid) {
    // Set from the fork to the execve, and shown by ps as “forked but didn't exec”. A zombie keeps it.
    const unsigned forked_only = 0x40;
    // The longest line up to the flags: 15 bytes of a name, and eight numbers.
    char path[32], text[256];
    char *end = append(append_number(append(path, "/proc/"), (unsigned)pid), "/stat");
    *end = 0;
    long file = RAW(openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 1;
    long count = RAW(read, file, text, sizeof text);
    RAW(close, file);
    // The name, in parentheses, may hold parentheses. The flags are the seventh field after it.
    long position = count - 1;
    while (position > 0 && text[position] != ')') position--;
    int field = 0;
    unsigned flags = 0;
    for (; position < count && field <= 7; position++) {
        if (text[position] == ' ') field++;
        else if (field == 7) flags = flags * 10 + (unsigned)(text[position] - '0');
    }
    return field < 7 || !(flags & forked_only);
}

#pragma clang attribute pop
