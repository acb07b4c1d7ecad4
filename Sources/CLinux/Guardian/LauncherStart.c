#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int clinux_launcher_start(pid_t *pid) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
    struct guardian *g = mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g == MAP_FAILED) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        errno = error;
        return -1;
    }
    g->launcher = ends[1];
    // With all signals blocked, so that no handler of the worker runs in the child.
    uint64_t all = UINT64_MAX, before = 0;
    RAW(rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
    // Without glibc's fork(): it locks the heap, and runs the fork handlers of libraries.
    long child = RAW(clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) launcher_main(g);
    RAW(rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof all);
    munmap(g, sizeof *g);
    close(ends[1]);
    if (child > 0) {
        *pid = (pid_t)child;
        return ends[0];
    }
    close(ends[0]);
    errno = (int)-child;
    return -1;
}
