#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <zmq.h>

// glibc hides it from a module that is not built with _GNU_SOURCE. ppoll(2); the mask stays as it is where null.
extern int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout, const void *mask);
