#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "csimulation.h"
#include "scheduler.h"

// MARK: The clocks

/// Of the wall clock at the start of the simulation: 2026-01-01T00:00:00Z. The others begin at an hour, because some code
/// takes 0 for “never”.
static const int64_t first_wall = 1767225600000000000, first_uptime = 3600000000000;

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!is_simulated()) return (int)syscall(SYS_clock_gettime, clock, time);
    bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    int64_t value = simulation_now() + (is_wall ? first_wall : first_uptime);
    time->tv_sec = value / 1000000000;
    time->tv_nsec = value % 1000000000;
    return 0;
}

// MARK: Chance

static void fill(void *bytes, size_t count) {
    for (size_t done = 0; done < count; done += 8) {
        uint64_t word = random_byte_word();
        memcpy((char *)bytes + done, &word, count - done < 8 ? count - done : 8);
    }
}

int getentropy(void *bytes, size_t count) {
    if (!is_simulated()) return syscall(SYS_getrandom, bytes, count, 0) == (long)count ? 0 : -1;
    fill(bytes, count);
    return 0;
}

ssize_t getrandom(void *bytes, size_t count, unsigned flags) {
    if (!is_simulated()) return syscall(SYS_getrandom, bytes, count, flags);
    fill(bytes, count);
    return (ssize_t)count;
}

/// The standard library asks for random bytes so. Locks wait so, which must not happen here.
long syscall(long number, ...) {
    long a[6];
    va_list list;
    va_start(list, number);
    for (int index = 0; index < 6; index++) a[index] = va_arg(list, long);
    va_end(list);
    if (number == SYS_getrandom && is_simulated()) {
        fill((void *)a[0], (size_t)a[1]);
        return a[1];
    }
    static long (*call)(long, ...);
    if (!call) call = real("syscall");
    return call(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

void swift_stdlib_random(void *bytes, size_t count) {
    if (is_simulated()) return fill(bytes, count);
    void (*random)(void *, size_t) = real("swift_stdlib_random");
    random(bytes, count);
}

// MARK: The jobs of Swift's global executor

typedef struct Job {
    void (*body)(void *);
    void *context;
    struct Job *next;
} Job;

typedef struct Idle {
    Thread *thread;
    struct Idle *next;
} Idle;

static Job *jobs;
static Idle *idle;

static void *run_jobs(void *unused) {
    (void)unused;
    while (true) {
        while (jobs) {
            Job *job = jobs;
            jobs = job->next;
            job->body(job->context);
            free(job);
        }
        Idle mine = {.thread = current_thread(), .next = idle};
        idle = &mine;
        block(-1);
    }
    return NULL;
}

/// Each job has a thread of its own while it runs, so that the seed chooses their order, and one that never returns holds up
/// no other.
static void enqueue(void *argument) {
    Job *job = argument;
    Job **end = &jobs;
    while (*end) end = &(*end)->next;
    *end = job;
    if (!idle) {
        add_thread(run_jobs, NULL);
        return;
    }
    Idle *first = idle;
    idle = first->next;
    wake(first->thread);
}

static Job *make_job(void *context, void (*body)(void *)) {
    Job *job = calloc(1, sizeof(Job));
    if (!job) fail("there is no memory for a job");
    *job = (Job){.body = body, .context = context};
    return job;
}

void dispatch_async_f(void *queue, void *context, void (*body)(void *)) {
    if (is_simulated()) return enqueue(make_job(context, body));
    void (*async)(void *, void *, void (*)(void *)) = real("dispatch_async_f");
    async(queue, context, body);
}

/// `when` is a `dispatch_time_t`: bit 63 for the clock that counts during a suspend, bits 63 and 62 for the wall clock, which
/// is stored negated.
void dispatch_after_f(uint64_t when, void *queue, void *context, void (*body)(void *)) {
    if (is_simulated()) {
        int64_t time;
        if (when >> 62 == 3) {
            time = -(int64_t)when - first_wall;
        } else {
            time = (int64_t)(when & ~(1ULL << 63)) - first_uptime;
        }
        return call_at(time, enqueue, make_job(context, body));
    }
    void (*after)(uint64_t, void *, void *, void (*)(void *)) = real("dispatch_after_f");
    after(when, queue, context, body);
}

/// Swift calls it when it makes a queue of its global executor. The real one starts a thread of libdispatch.
void dispatch_queue_set_width(void *queue, long width) {
    if (is_simulated()) return;
    void (*set_width)(void *, long) = real("dispatch_queue_set_width");
    set_width(queue, width);
}

// MARK: The process

int simulation_fix_addresses(void) { return personality(ADDR_NO_RANDOMIZE); }

void simulation_use_one_processor(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof(set), &set);
}

int simulation_fork(void) { return fork(); }
