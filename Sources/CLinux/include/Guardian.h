#ifndef SLUICE_CLINUX_GUARDIAN_H
#define SLUICE_CLINUX_GUARDIAN_H

// The guardian: a small process between a worker and the program of a command. It outlives a worker that dies, ends
// every descendant of the program, and holds a lock until none is left.
//
//   worker ──fork, once──► launcher ──fork──► guardian ──fork, execve──► program ──► …
//      │ requests ────────►   │                  │ subreaper, flock                  own session
//      │ commands ──────────────────────────────►│
//      │ ◄──────────────────────────────── events│
//
// The launcher is the worker without its memory: a fork of it takes 0.05 ms, a fork of a worker with 16 MB of heap 0.3
// ms and as much again for the memory that the guardian unmaps.
//
// The life of a guardian: it takes the lock (`waiting` while another one holds it), starts the program (`started` or
// `failed`), waits for its end, for a command or for the end of file of the commands (the worker died), ends what is
// left (TERM and CONT, the grace, KILL), reaps until no child is left, sends `ended`, frees the lock, and exits.

#include <stdint.h>
#include <sys/types.h>

/// A limit that stays as the worker has it.
#define CLINUX_LIMIT_INHERITED (UINT64_MAX - 1)

/// A resource limit of the program: the lower one of the worker's limit and of this one. setrlimit(2).
struct clinux_guardian_limit {
    int32_t resource;
    /// UINT64_MAX: unlimited; ``CLINUX_LIMIT_INHERITED``.
    uint64_t soft;
    uint64_t hard;
};

/// The program, and the rules of its guardian. Everything is copied before the call returns.
struct clinux_guardian_request {
    /// A file that the guardian creates, locks, and removes at its end.
    const char *lock_path;
    /// The time to wait for the lock, in milliseconds.
    uint32_t lock_timeout;
    /// From TERM to KILL when the worker dies, and for descendants that outlive the program, in milliseconds.
    uint32_t grace;
    /// Whether descendants that have left the session of the program stay alive.
    int32_t leaves_daemons;

    /// An absolute path, and the device and inode that it had when it was checked.
    const char *program;
    uint64_t program_device;
    uint64_t program_inode;
    /// Both end with a null pointer.
    const char *const *arguments;
    const char *const *environment;

    /// Descriptors 0, 1, 2 and 3 of the program; 3 stays closed where `report` is -1.
    int32_t input;
    int32_t output;
    int32_t error;
    int32_t report;
    /// The working directory.
    int32_t directory;

    const struct clinux_guardian_limit *limits;
    int32_t limit_count;

    /// Whether the program gets another user, group and supplementary groups.
    int32_t changes_user;
    uint32_t user;
    uint32_t group;
    const uint32_t *groups;
    int32_t group_count;
};

enum clinux_guardian_event_kind {
    CLINUX_GUARDIAN_WAITING = 1,
    CLINUX_GUARDIAN_STARTED = 2,
    CLINUX_GUARDIAN_FAILED = 3,
    /// The program ended, and descendants are left. Where none is left, only `ended` is sent.
    CLINUX_GUARDIAN_EXITED = 4,
    CLINUX_GUARDIAN_ENDED = 5,
};

/// The step at which the start of a program failed.
enum clinux_guardian_step {
    CLINUX_STEP_PREPARE = 1,
    CLINUX_STEP_CHILDREN = 2,
    CLINUX_STEP_LOCK = 3,
    /// Another guardian holds the lock.
    CLINUX_STEP_LOCK_TIMEOUT = 4,
    CLINUX_STEP_FORK = 5,
    CLINUX_STEP_SESSION = 6,
    CLINUX_STEP_DESCRIPTORS = 7,
    CLINUX_STEP_LIMITS = 8,
    CLINUX_STEP_GROUPS = 9,
    CLINUX_STEP_GROUP = 10,
    CLINUX_STEP_USER = 11,
    CLINUX_STEP_DIRECTORY = 12,
    CLINUX_STEP_PRIVILEGES = 13,
    /// The path names another file than the one that was checked.
    CLINUX_STEP_PROGRAM = 14,
    CLINUX_STEP_EXECUTE = 15,
    /// The process died before it became the program; `error` is the signal.
    CLINUX_STEP_KILLED = 16,
    /// A command came before the program started.
    CLINUX_STEP_CANCELLED = 17,
};

/// The guardian has sent TERM to the program, because of a command or the death of the worker.
#define CLINUX_GUARDIAN_TERMINATED 1
/// The grace was over, and the guardian has sent KILL.
#define CLINUX_GUARDIAN_KILLED 2

struct clinux_guardian_event {
    /// ``clinux_guardian_event_kind``
    int32_t kind;
    /// The process id of the program.
    int32_t pid;
    /// ``clinux_guardian_step`` and the error number of a failed start.
    int32_t step;
    int32_t error;
    /// The status of waitpid(2).
    int32_t status;
    /// CLINUX_GUARDIAN_TERMINATED, CLINUX_GUARDIAN_KILLED
    int32_t flags;
    /// Descendants that were alive when the program had ended; after a termination, when its grace was over.
    uint32_t survivors;
    uint32_t reserved;
    /// Of the program and all descendants that were reaped: microseconds, and bytes of the largest.
    uint64_t user_time;
    uint64_t system_time;
    uint64_t max_resident;
    /// From the start to the end of the program, in nanoseconds.
    uint64_t duration;
};

/// The worker's ends of the pipes to a guardian. Both are close-on-exec.
struct clinux_guardian {
    /// Takes ``clinux_guardian_command``. Its end of file is the death of the worker.
    int commands;
    /// Gives ``clinux_guardian_event``, then the end of file: the lock is free.
    int events;
};

struct clinux_guardian_command {
    /// 1: TERM, the grace, KILL. 2: KILL at once.
    uint32_t kind;
    /// Milliseconds.
    uint32_t grace;
};

/// Forks a launcher. The child calls no library function, so any thread of any process may call this.
/// Returns the socket to it, close-on-exec, whose end of file ends it; guardians that it has forked go on.
int clinux_launcher_start(pid_t *pid);

/// Sends a request to a launcher. The calling thread has its signals blocked (``clinux_block_signals``). Returns 0; 1
/// where the guardian did not read the whole request, so that it starts no program and its events, or their end, say
/// why; -1 with EPIPE or ECONNRESET where the launcher is gone.
int clinux_guardian_start(
    int launcher, const struct clinux_guardian_request *request, struct clinux_guardian *guardian
);

/// Blocks all signals in the calling thread, so that a write to a closed pipe is an error (EPIPE) there.
int clinux_block_signals(void);
/// A pipe whose ends are close-on-exec. pipe2(2).
int clinux_pipe(int ends[2]);
/// An eventfd(2) that does not block, close-on-exec.
int clinux_event(void);
/// openat(2), which is variadic.
int clinux_openat(int directory, const char *path, int flags);
/// Opens a file below a directory, without symbolic links on the way: -1 with EXDEV or ELOOP where the path leaves it.
/// openat2(2), Linux 5.6.
int clinux_open_beneath(int directory, const char *path, int flags);

#endif
