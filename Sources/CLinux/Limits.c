#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void *pass_gate(void *unused) {
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    return unused;
}

int clinux_probe_threads(int count) {
    pthread_t *threads = calloc(count, sizeof *threads);
    if (!threads) return 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN > 65536 ? PTHREAD_STACK_MIN : 65536);
    pthread_mutex_lock(&gate);
    int made = 0;
    while (made < count && pthread_create(&threads[made], &attributes, pass_gate, NULL) == 0) made++;
    pthread_mutex_unlock(&gate);
    for (int index = 0; index < made; index++) pthread_join(threads[index], NULL);
    pthread_attr_destroy(&attributes);
    free(threads);
    return made;
}

static _Atomic long refused;

long clinux_refused_connections(void) { return refused; }

// Events are for monitors, which any program may be, and any number.
static int is_for_monitors(int listener) {
    struct sockaddr_un address;
    socklen_t length = sizeof address;
    if (getsockname(listener, (struct sockaddr *)&address, &length) != 0) return 0;
    static const char name[] = "/events.sock";
    size_t count = strnlen(address.sun_path, sizeof address.sun_path);
    return count >= sizeof name - 1 && memcmp(address.sun_path + count - (sizeof name - 1), name, sizeof name - 1) == 0;
}

// libzmq ends the process where accept4(2) fails for want of a descriptor. So the connections to a listener of a Unix socket
// never take the last descriptors: here each one beyond that is closed at once, and libzmq sees ECONNABORTED, which it
// ignores. A call of a shared library reaches this function, because the program's own symbols come first.
int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
    int descriptor = (int)syscall(SYS_accept4, listener, address, length, flags);
    int domain = 0;
    socklen_t size = sizeof domain;
    int error = errno;
    if (getsockopt(listener, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) {
        errno = error;
        return descriptor;
    }
    if (descriptor < 0) {
        if (error == EMFILE) {
            // The connection stays in the backlog, and the listener readable: the I/O thread must not spin.
            usleep(10000);
            error = ECONNABORTED;
        }
        errno = error;
        return -1;
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return descriptor;
    rlim_t bound = is_for_monitors(listener) ? limit.rlim_cur / 2 : limit.rlim_cur / 4 * 3;
    // The kernel gives the lowest free number, so that the number says how many are in use.
    if ((rlim_t)descriptor < bound) return descriptor;
    close(descriptor);
    refused++;
    errno = ECONNABORTED;
    return -1;
}
