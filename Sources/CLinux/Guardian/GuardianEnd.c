#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#pragma clang attribute push(__attribute__((no_builtin)), apply_to = function)

// The end of a program and of its descendants. Descendants whose parent has died become children of the guardian,
// because it is their subreaper, in whichever session or group they are.

// An orphan becomes a child of the guardian without a signal, so the list is read again after a time that doubles.
// Later, a process that waits for a disk does not die before that wait ends.
enum { MIN_PERIOD = 500000, MAX_TERMINATE_PERIOD = 16000000, MAX_KILL_PERIOD = 32000000 };

/// The result of one pass over the children.
struct pass {
    int live;
    int reaped;
};

int guardian_note_end(struct guardian *g) {
    if (g->has_ended) return 1;
    siginfo_t info;
    info.si_pid = 0;
    RAW(waitid, P_PID, g->program_pid, &info, WEXITED | WNOHANG | WNOWAIT, 0);
    if (info.si_pid != g->program_pid) return 0;
    g->end_time = guardian_now();
    g->has_ended = 1;
    g->status = info.si_code == CLD_EXITED ? (info.si_status & 0xFF) << 8
                                           : info.si_status | (info.si_code == CLD_DUMPED ? 0x80 : 0);
    return 1;
}

static void send_terminate(int pid) {
    RAW(kill, pid, SIGTERM);
    // A stopped process handles TERM only when it goes on.
    RAW(kill, pid, SIGCONT);
}

/// Sends TERM to an adopted process, once. A process between its fork and its execve handles TERM as its parent does,
/// and the execve forgets that, so it gets another one after its execve. Until then its number is noted as a negative
/// one.
static void terminate(struct guardian *g, int pid) {
    for (int i = 0; i < g->terminated_count; i++) {
        if (g->terminated[i] == pid) return;
        if (g->terminated[i] != -pid) continue;
        if (!guardian_has_executed(pid)) return;
        g->terminated[i] = pid;
        send_terminate(pid);
        return;
    }
    if (g->terminated_count == GUARDIAN_MAX_TERMINATED) return;
    g->terminated[g->terminated_count++] = guardian_has_executed(pid) ? pid : -pid;
    send_terminate(pid);
}

/// A reaped number may come again.
static void forget(struct guardian *g, int pid) {
    for (int i = 0; i < g->terminated_count; i++) {
        if (g->terminated[i] != pid && g->terminated[i] != -pid) continue;
        g->terminated[i] = g->terminated[--g->terminated_count];
        return;
    }
}

/// Signals the group of the program, which its zombie keeps for it; the process alone before it has its own group.
static void signal_group(struct guardian *g, int signal) {
    if (!g->program_pid) return;
    if (RAW(kill, -g->program_pid, signal) == -ESRCH && !g->has_ended) RAW(kill, g->program_pid, signal);
}

/// Reaps a child, or treats it by the mode.
static void visit(struct guardian *g, int pid, struct pass *pass) {
    if (pid == g->program_pid) {
        if (!guardian_note_end(g)) pass->live++;
        return;
    }
    if (RAW(wait4, pid, 0, WNOHANG, 0) == pid) {
        pass->reaped++;
        if (g->counts_survivors) g->survivors++;
        forget(g, pid);
        return;
    }
    if (g->plan.leaves_daemons && RAW(getsid, pid) != g->program_pid) return;
    pass->live++;
    if (g->mode == MODE_TERMINATE) terminate(g, pid);
    if (g->mode == MODE_KILL) RAW(kill, pid, SIGKILL);
}

/// Visits every child that the kernel lists: `12 34 `. A child may be missing where another one is reaped meanwhile.
static struct pass visit_all(struct guardian *g) {
    struct pass pass;
    pass.live = pass.reaped = 0;
    int pid = 0;
    RAW(lseek, g->children, 0, 0);
    while (1) {
        long count = RAW(read, g->children, g->buffer, GUARDIAN_BUFFER);
        if (count <= 0) return pass;
        for (long i = 0; i < count; i++) {
            if (g->buffer[i] >= '0' && g->buffer[i] <= '9') {
                pid = pid * 10 + (g->buffer[i] - '0');
                continue;
            }
            if (pid) visit(g, pid, &pass);
            pid = 0;
        }
    }
}

/// Visits until a pass has reaped none, so that none is missing. Returns the number of those to wait for.
static int visit_until_steady(struct guardian *g) {
    struct pass pass;
    do pass = visit_all(g);
    while (pass.reaped);
    return pass.live;
}

static void begin_terminating(struct guardian *g, int64_t grace) {
    g->deadline = guardian_now() + grace;
    g->mode = MODE_TERMINATE;
    signal_group(g, SIGTERM);
    signal_group(g, SIGCONT);
}

static void begin_killing(struct guardian *g) {
    g->mode = MODE_KILL;
    g->flags |= CLINUX_GUARDIAN_KILLED;
    g->counts_survivors = 1;
}

/// Waits for a child, a command or the time.
static void wait_for_news(struct guardian *g, int64_t timeout) {
    struct guardian_poll entries[WAITS];
    guardian_wait(g, entries, timeout);
    uint64_t drained[32];
    if (entries[WAIT_SIGNALS].revents) RAW(read, g->signals, drained, sizeof drained);
    if (entries[WAIT_START].revents) guardian_finish_start(g);
    if (!entries[WAIT_COMMANDS].revents) return;
    int64_t grace;
    guardian_read_order(g, &grace);
    int64_t deadline = guardian_now() + grace;
    if (deadline < g->deadline) g->deadline = deadline;
}

/// Terminates, and kills after the deadline, until nothing is left to wait for.
static void end_children(struct guardian *g) {
    int64_t period = MIN_PERIOD;
    while (1) {
        int64_t rest = g->deadline - guardian_now();
        if (rest <= 0 && g->mode != MODE_KILL) {
            begin_killing(g);
            period = MIN_PERIOD;
        }
        if (g->mode == MODE_KILL) signal_group(g, SIGKILL);
        int live = visit_until_steady(g);
        if (!live) return;
        if (g->has_ended && g->has_started && !g->exit_is_reported) {
            g->exit_is_reported = 1;
            guardian_send(g, CLINUX_GUARDIAN_EXITED);
        }
        wait_for_news(g, g->mode == MODE_KILL || period < rest ? period : rest);
        int64_t longest = g->mode == MODE_KILL ? MAX_KILL_PERIOD : MAX_TERMINATE_PERIOD;
        period = period * 2 < longest ? period * 2 : longest;
    }
}

/// Reaps the program, and counts the daemons that stay. Returns whether a child is left that must not stay.
static int reap_program(struct guardian *g) {
    if (g->start >= 0) guardian_finish_start(g);
    int status;
    RAW(wait4, g->program_pid, &status, 0, 0);
    if (g->plan.leaves_daemons) {
        // Each daemon is listed once: those that stay are not reaped. Their own children are not counted.
        char *text = g->buffer;
        RAW(lseek, g->children, 0, 0);
        long count;
        while ((count = RAW(read, g->children, text, GUARDIAN_BUFFER)) > 0) {
            for (long i = 0; i < count; i++) g->survivors += text[i] == ' ';
        }
        return 0;
    }
    return RAW(wait4, -1, &status, WNOHANG, 0) != -ECHILD;
}

void guardian_end_all(struct guardian *g, int64_t grace) {
    int live = 1;
    if (g->has_ended) {
        // Those that are dead by now have not outlived the program.
        live = visit_until_steady(g);
        g->counts_survivors = 1;
    }
    if (live) {
        begin_terminating(g, grace);
        end_children(g);
    }
    if (!reap_program(g)) return;
    g->program_pid = 0;
    begin_killing(g);
    end_children(g);
}

#pragma clang attribute pop
