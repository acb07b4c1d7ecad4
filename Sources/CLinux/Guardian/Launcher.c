#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#include <errno.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/uio.h>

#pragma clang attribute push(__attribute__((no_builtin)), apply_to = function)

// The launcher: a process of the worker without its memory and its descriptors, which forks the guardians.

static __attribute__((noreturn)) void quit(void) {
    while (1) RAW(exit_group, 0);
}

/// Closes the descriptors `first...last`.
static void close_range_of(unsigned first, unsigned last) {
    if (first > last || RAW(close_range, first, last, 0) != -ENOSYS) return;
    for (unsigned descriptor = first; descriptor <= last && descriptor < 65536; descriptor++) RAW(close, descriptor);
}

/// Closes the descriptors of the worker: among them are its locks.
static void close_descriptors(struct guardian *g) {
    if (g->launcher > 0) close_range_of(0, (unsigned)g->launcher - 1);
    close_range_of((unsigned)g->launcher + 1, ~0U);
    // The numbers of the standard streams are not for a lock file or a pipe.
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (descriptor != g->launcher) RAW(openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC);
    }
}

void guardian_set_signal(int signal, unsigned long handler) {
    // The kernel's struct sigaction: the handler, no flags, no restorer, an empty mask.
    unsigned long action[4];
    action[0] = handler;
    action[1] = action[2] = action[3] = 0;
    RAW(rt_sigaction, signal, action, 0, 8);
}

/// Receives the descriptors of one request. Returns their number, 0 where it is not a request, -1 at the end of file.
static int receive(struct guardian *g, int *descriptors) {
    struct iovec vector;
    struct msghdr message;
    char byte;
    vector.iov_base = &byte;
    vector.iov_len = 1;
    message.msg_name = 0;
    message.msg_namelen = 0;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    message.msg_control = g->buffer;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * MAX_SENT);
    message.msg_flags = 0;
    if (RAW(recvmsg, g->launcher, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
    const struct cmsghdr *header = (const struct cmsghdr *)g->buffer;
    if (message.msg_controllen < sizeof *header || header->cmsg_type != SCM_RIGHTS) return 0;
    int count = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    const int *sent = (const int *)CMSG_DATA(header);
    for (int i = 0; i < count; i++) descriptors[i] = sent[i];
    return count;
}

static void assign(struct guardian *g, const int *descriptors, int count) {
    g->commands = descriptors[SENT_COMMANDS];
    g->events = descriptors[SENT_EVENTS];
    g->input = descriptors[SENT_INPUT];
    g->output = descriptors[SENT_OUTPUT];
    g->error = descriptors[SENT_ERROR];
    g->directory = descriptors[SENT_DIRECTORY];
    g->report = count == MAX_SENT ? descriptors[SENT_REPORT] : -1;
    g->lock = g->signals = g->children = g->start = -1;
}

void launcher_main(struct guardian *g) {
    close_descriptors(g);
    RAW(prctl, PR_SET_NAME, "sluice-launch", 0, 0, 0);
    // For the guardians too: a session of each one would be a group of the scheduler, which takes longer than a fork.
    RAW(setsid, 0);
    // A program inherits those that are ignored. The kernel reaps the guardians, whose ends are told by their pipes.
    for (int signal = 1; signal <= 64; signal++) guardian_set_signal(signal, GUARDIAN_DEFAULT);
    guardian_set_signal(SIGCHLD, GUARDIAN_IGNORE);
    guardian_release_memory(g);
    while (1) {
        int descriptors[MAX_SENT];
        int count = receive(g, descriptors);
        if (count < 0) quit();
        if (count >= MAX_SENT - 1) {
            assign(g, descriptors, count);
            long child = RAW(clone, SIGCHLD, 0, 0, 0, 0);
            if (child == 0) guardian_main(g);
            if (child < 0) guardian_send_failure(g, CLINUX_STEP_PREPARE, (int)-child);
        }
        for (int i = 0; i < count; i++) RAW(close, descriptors[i]);
    }
}

#pragma clang attribute pop
