#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "csimulation.h"
#include "scheduler.h"

// MARK: Threads and sleeps

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (!is_simulated()) {
        int (*create)(pthread_t *, const pthread_attr_t *, Body, void *) = real("pthread_create");
        return create(thread, attributes, body, argument);
    }
    add_thread(body, argument);
    // The caller detaches it, and uses its handle for nothing else.
    *thread = 0;
    return 0;
}

int pthread_detach(pthread_t thread) {
    if (thread == 0) return 0;
    int (*detach)(pthread_t) = real("pthread_detach");
    return detach(thread);
}

int nanosleep(const struct timespec *time, struct timespec *rest) {
    if (!is_simulated()) return syscall(SYS_nanosleep, time, rest) == 0 ? 0 : -1;
    simulation_sleep(time->tv_sec * 1000000000LL + time->tv_nsec);
    return 0;
}

int usleep(useconds_t microseconds) {
    struct timespec time = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000};
    return nanosleep(&time, NULL);
}

/// Time passes, so that a loop that waits so does not stop the clock.
int sched_yield(void) {
    if (!is_simulated()) return (int)syscall(SYS_sched_yield);
    simulation_sleep(1000);
    return 0;
}

// MARK: Semaphores, by address

enum { TABLE = 1 << 14 };

typedef struct Waiter {
    Thread *thread;
    struct Waiter *next;
} Waiter;

typedef struct {
    const void *address;
    int64_t value;
    Waiter *waiters;
} Semaphore;

static Semaphore table[TABLE];
static uint32_t used;

/// The semaphore at an address. One that was made before the simulation begins with `value`.
static Semaphore *semaphore(const void *address, int64_t value) {
    uint64_t place = ((uintptr_t)address >> 4) * 0x9e3779b97f4a7c15 >> 50;
    while (table[place].address && table[place].address != address) place = (place + 1) % TABLE;
    if (!table[place].address) {
        if (++used > TABLE / 2) fail("there are too many semaphores");
        table[place] = (Semaphore){.address = address, .value = value};
    }
    return &table[place];
}

static void create(const void *address, int64_t value) {
    Semaphore *made = semaphore(address, value);
    made->value = value;
    made->waiters = NULL;
}

static void signal_one(Semaphore *semaphore) {
    while (semaphore->waiters) {
        Waiter *first = semaphore->waiters;
        semaphore->waiters = first->next;
        Thread *thread = first->thread;
        first->thread = NULL;
        if (is_alive(thread)) return wake(thread);
    }
    semaphore->value++;
}

/// - until: negative: for ever.
/// - Returns: false where the time came.
static bool wait_until(Semaphore *semaphore, int64_t until) {
    if (semaphore->value > 0) {
        semaphore->value--;
        return true;
    }
    if (until >= 0 && until <= simulation_now()) return false;
    Waiter mine = {.thread = current_thread()};
    Waiter **end = &semaphore->waiters;
    while (*end) end = &(*end)->next;
    *end = &mine;
    block(until);
    // A signal takes the waiter from the list, also where the time comes before it runs.
    if (!mine.thread) return true;
    for (Waiter **at = &semaphore->waiters; *at; at = &(*at)->next) {
        if (*at != &mine) continue;
        *at = mine.next;
        break;
    }
    return false;
}

int sem_init(sem_t *address, int shared, unsigned value) {
    int (*init)(sem_t *, int, unsigned) = real("sem_init");
    int code = init(address, shared, value);
    if (code == 0 && is_simulated()) create(address, value);
    return code;
}

static int64_t real_value(sem_t *address) {
    int value = 0;
    sem_getvalue(address, &value);
    return value;
}

int sem_post(sem_t *address) {
    if (is_simulated()) {
        signal_one(semaphore(address, real_value(address)));
        return 0;
    }
    int (*post)(sem_t *) = real("sem_post");
    return post(address);
}

int sem_wait(sem_t *address) {
    if (is_simulated()) {
        wait_until(semaphore(address, real_value(address)), -1);
        return 0;
    }
    int (*wait)(sem_t *) = real("sem_wait");
    return wait(address);
}

int sem_clockwait(sem_t *address, clockid_t clock, const struct timespec *time) {
    if (is_simulated()) {
        struct timespec present;
        clock_gettime(clock, &present);
        int64_t left = (time->tv_sec - present.tv_sec) * 1000000000LL + time->tv_nsec - present.tv_nsec;
        int64_t until = simulation_now() + (left > 0 ? left : 0);
        if (wait_until(semaphore(address, real_value(address)), until)) return 0;
        errno = ETIMEDOUT;
        return -1;
    }
    int (*wait)(sem_t *, clockid_t, const struct timespec *) = real("sem_clockwait");
    return wait(address, clock, time);
}

void *dispatch_semaphore_create(intptr_t value) {
    void *(*make)(intptr_t) = real("dispatch_semaphore_create");
    void *made = make(value);
    if (is_simulated()) create(made, value);
    return made;
}

intptr_t dispatch_semaphore_signal(void *address) {
    if (is_simulated()) {
        signal_one(semaphore(address, 0));
        return 0;
    }
    intptr_t (*post)(void *) = real("dispatch_semaphore_signal");
    return post(address);
}

intptr_t dispatch_semaphore_wait(void *address, uint64_t timeout) {
    if (is_simulated()) {
        if (timeout != ~0ULL) fail("a dispatch semaphore waits with a timeout, which is not simulated");
        wait_until(semaphore(address, 0), -1);
        return 0;
    }
    intptr_t (*wait)(void *, uint64_t) = real("dispatch_semaphore_wait");
    return wait(address, timeout);
}
