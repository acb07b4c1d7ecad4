#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile pid_t served;

static void forward(int number, siginfo_t *info, void *context) {
    (void)context;
    // The kernel sends the signals of a terminal to the whole process group, and so to the child too.
    int error = errno;
    if (info->si_code != SI_KERNEL) kill(served, number);
    errno = error;
}

int clinux_serve_as_init(void) {
    pid_t child;
    if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, clinux_arguments(), environ) != 0) return -1;
    served = child;
    static const int forwarded[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};
    for (unsigned index = 0; index < sizeof forwarded / sizeof *forwarded; index++) {
        struct sigaction before;
        if (sigaction(forwarded[index], NULL, &before) != 0 || before.sa_handler == SIG_IGN) continue;
        struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
        sigaction(forwarded[index], &action, NULL);
    }
    while (1) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno != EINTR) return 70;
        if (ended != child) continue;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
}
