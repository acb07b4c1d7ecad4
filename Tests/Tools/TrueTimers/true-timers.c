// For a process under libfaketime, before it in LD_PRELOAD: timers rest on the true clocks. libfaketime takes an absolute time
// of the monotonic clock for one of the wall clock, and moves it. A wait by the wall clock is left as it is: where that clock
// is ahead, it lasts as long as it would last after the clock was set back.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int timerfd_settime(int descriptor, int flags, const struct itimerspec *new, struct itimerspec *old) {
    return syscall(SYS_timerfd_settime, descriptor, flags, new, old);
}

int sem_timedwait(sem_t *semaphore, const struct timespec *end) {
    static int (*wait)(sem_t *, const struct timespec *);
    if (!wait) wait = dlsym(dlopen("libc.so.6", RTLD_NOLOAD | RTLD_LAZY), "sem_timedwait");
    return wait(semaphore, end);
}
