#ifndef SLUICE_GUARDIAN_STATE_H
#define SLUICE_GUARDIAN_STATE_H

#include "Guardian.h"

#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))

enum {
    GUARDIAN_MAX_LIMITS = 16,
    /// Adopted processes that get TERM. Those beyond get KILL after the grace without it.
    GUARDIAN_MAX_TERMINATED = 256,
    GUARDIAN_BUFFER = 8192,
};

/// The treatment of living children.
enum guardian_mode { MODE_REAP, MODE_TERMINATE, MODE_KILL };

/// A request as it goes through the pipe of the commands, in front of the image: the path, the arguments, the
/// environment and the groups of the program, with offsets in place of pointers.
struct guardian_plan {
    char lock_path[4096];
    struct clinux_guardian_limit limits[GUARDIAN_MAX_LIMITS];
    uint64_t program_device, program_inode;
    int64_t lock_timeout, grace;
    int32_t limit_count, group_count, changes_user, leaves_daemons;
    uint32_t user, group;
    uint64_t image_size, program, environment, groups;
};

/// The descriptors that come with a request, in this order.
enum { SENT_COMMANDS, SENT_EVENTS, SENT_INPUT, SENT_OUTPUT, SENT_ERROR, SENT_DIRECTORY, SENT_REPORT, MAX_SENT };

/// Everything that a guardian needs, in pages of its own.
struct guardian {
    struct guardian_plan plan;
    /// Unmapped once the child has its copy.
    char *image;
    const char *program;
    char **arguments;
    char **environment;
    const uint32_t *groups;

    int32_t launcher, commands, events, input, output, error, report, directory;
    /// Descriptors that the guardian opens: the lock, a signalfd of SIGCHLD, the list of its children, and the pipe
    /// that the execve of the program closes.
    int32_t lock, signals, children, start;

    int32_t pid;
    /// The program. It stays a zombie until nothing else is left, so that the number of its group is not used again.
    /// 0: not started, or reaped.
    int32_t program_pid;
    int32_t has_started, has_ended, exit_is_reported;
    /// As waitpid(2) has it, once the program has ended.
    int32_t status;
    enum guardian_mode mode;
    int32_t counts_survivors;
    int32_t flags;
    uint32_t survivors;
    int64_t deadline, start_time, end_time;
    int32_t terminated[GUARDIAN_MAX_TERMINATED];
    int32_t terminated_count;
    char buffer[GUARDIAN_BUFFER];
};

/// The failure that the child of the guardian writes before it exits.
struct guardian_failure {
    int32_t step;
    int32_t error;
};

/// Runs the launcher in the child of the worker.
HIDDEN void launcher_main(struct guardian *g) __attribute__((noreturn));
/// Runs the guardian in the child of the launcher.
HIDDEN void guardian_main(struct guardian *g) __attribute__((noreturn));
/// Unmaps everything but the code, `g`, and the pages of the calling thread.
HIDDEN void guardian_release_memory(struct guardian *g);
/// The kernel's numbers of SIG_DFL and SIG_IGN.
enum { GUARDIAN_DEFAULT = 0, GUARDIAN_IGNORE = 1 };
HIDDEN void guardian_set_signal(int signal, unsigned long handler);
/// Opens and takes the lock. Returns 0, or the step that failed, with the error number in `*error`.
HIDDEN int guardian_take_lock(struct guardian *g, int *error);
/// Starts the program. Returns 0 or an error number.
HIDDEN int guardian_start_program(struct guardian *g);
/// Whether `pid`, alive or a zombie, has called execve(2) since its fork; true where the kernel does not tell.
HIDDEN int guardian_has_executed(int pid);
/// Ends what is left of the program, and reaps until nothing is left. `grace` in nanoseconds.
HIDDEN void guardian_end_all(struct guardian *g, int64_t grace);
/// Notes the end of the program, which becomes a zombie. Returns whether it has ended.
HIDDEN int guardian_note_end(struct guardian *g);

/// CLOCK_MONOTONIC in nanoseconds.
HIDDEN int64_t guardian_now(void);
HIDDEN void guardian_send(struct guardian *g, int kind);
/// Tells the worker that the start failed.
HIDDEN void guardian_send_failure(struct guardian *g, int step, int error);
/// Reads the result of the start from the pipe, which is readable or at its end, and tells the worker. Returns whether
/// the program has started.
HIDDEN int guardian_finish_start(struct guardian *g);

enum guardian_order { ORDER_NONE, ORDER_TERMINATE, ORDER_KILL, ORDER_WORKER_DIED };
/// Reads one command, which is there. `*grace` in nanoseconds.
HIDDEN enum guardian_order guardian_read_order(struct guardian *g, int64_t *grace);

/// A descriptor and the events that are waited for, as poll(2) has it.
struct guardian_poll {
    int fd;
    short events;
    short revents;
};
/// ppoll(2) without signals; `timeout` in nanoseconds, negative: none.
HIDDEN int guardian_poll(struct guardian_poll *entries, int count, int64_t timeout);

/// The indexes of the descriptors that a guardian waits for.
enum { WAIT_COMMANDS, WAIT_SIGNALS, WAIT_START, WAITS };
/// Waits for a command, a child or the start; a descriptor of -1 is left out.
HIDDEN void guardian_wait(struct guardian *g, struct guardian_poll entries[WAITS], int64_t timeout);

#endif
