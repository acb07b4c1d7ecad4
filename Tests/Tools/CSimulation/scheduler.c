#include <dlfcn.h>
#include <linux/futex.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "csimulation.h"
#include "scheduler.h"

struct Thread {
    uint32_t number;
    /// 0: of no process.
    int process;
    /// Of the threads that it creates.
    int process_of_new;
    enum { READY, BLOCKED, DEAD } state;
    /// Counts its waits, so that a timer of an earlier one is not taken for the present one's.
    uint32_t waits;
    bool timed_out;
    /// Futex: 1 when it is its turn.
    atomic_uint turn;
    Body body;
    void *argument;
};

typedef struct {
    int64_t time;
    uint64_t dice, number;
    Thread *thread;
    uint32_t wait;
    void (*body)(void *);
    void *argument;
} Timer;

enum { MAX_THREADS = 4096, MAX_TURNS_AT_ONE_TIME = 20000 };

static _Thread_local Thread *self;
static Thread *threads[MAX_THREADS];
static uint32_t thread_count;
static Thread *ready[MAX_THREADS];
static uint32_t ready_count;
static Timer *timers;
static size_t timer_count, timer_room;
static uint64_t timer_number, turns, turns_at_time, hash = 0xcbf29ce484222325;
static int64_t now;
static uint64_t turn_state, byte_state;
static uint32_t stall_chance;
static int64_t longest_stall;

bool is_simulated(void) { return self != NULL; }
Thread *current_thread(void) { return self; }
bool is_alive(const Thread *thread) { return thread->state != DEAD; }
int64_t simulation_now(void) { return now; }
uint64_t simulation_hash(void) { return hash; }
uint64_t simulation_turns(void) { return turns; }

void *real(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) abort();
    return found;
}

_Noreturn void fail(const char *words) {
    fprintf(stderr, "simulation: %s\n", words);
    abort();
}

/// splitmix64.
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t random_turn(void) { return next_random(&turn_state); }
uint64_t random_byte_word(void) { return next_random(&byte_state); }

void simulation_note(uint64_t fact) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ (fact >> shift & 0xff)) * 0x100000001b3;
}

// MARK: Timers: a binary heap, in which the seed decides between equal times

static bool precedes(const Timer *a, const Timer *b) {
    if (a->time != b->time) return a->time < b->time;
    return a->dice != b->dice ? a->dice < b->dice : a->number < b->number;
}

static void add_timer(Timer timer) {
    if (timer_count == timer_room) {
        timer_room = timer_room ? 2 * timer_room : 256;
        timers = realloc(timers, timer_room * sizeof(Timer));
        if (!timers) abort();
    }
    timer.dice = random_turn();
    timer.number = timer_number++;
    size_t at = timer_count++;
    for (; at > 0 && precedes(&timer, &timers[(at - 1) / 2]); at = (at - 1) / 2) timers[at] = timers[(at - 1) / 2];
    timers[at] = timer;
}

static Timer take_timer(void) {
    Timer first = timers[0], last = timers[--timer_count];
    size_t at = 0;
    while (true) {
        size_t child = 2 * at + 1;
        if (child >= timer_count) break;
        if (child + 1 < timer_count && precedes(&timers[child + 1], &timers[child])) child++;
        if (!precedes(&timers[child], &last)) break;
        timers[at] = timers[child];
        at = child;
    }
    timers[at] = last;
    return first;
}

void call_at(int64_t time, void (*body)(void *), void *argument) {
    add_timer((Timer){.time = time > now ? time : now, .body = body, .argument = argument});
}

// MARK: Turns

static void futex_wait(atomic_uint *word) {
    while (atomic_load_explicit(word, memory_order_acquire) == 0) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
    atomic_store_explicit(word, 0, memory_order_relaxed);
}

static void futex_wake(atomic_uint *word) {
    atomic_store_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void make_ready(Thread *thread) {
    thread->state = READY;
    thread->waits++;
    ready[ready_count++] = thread;
}

/// A timer has come: of a wait, of a stall, or a call.
static void fire(const Timer *timer) {
    if (timer->body) return timer->body(timer->argument);
    Thread *thread = timer->thread;
    if (thread->state != BLOCKED || thread->waits != timer->wait) return;
    thread->timed_out = true;
    make_ready(thread);
}

static Thread *choose(void) {
    while (ready_count == 0) {
        if (timer_count == 0) fail("every thread waits for another one");
        Timer timer = take_timer();
        if (timer.time > now) {
            now = timer.time;
            turns_at_time = 0;
        }
        fire(&timer);
    }
    uint32_t index = ready_count == 1 ? 0 : (uint32_t)(random_turn() % ready_count);
    Thread *next = ready[index];
    ready[index] = ready[--ready_count];
    turns++;
    if (++turns_at_time > MAX_TURNS_AT_ONE_TIME) fail("the threads run and no time passes");
    simulation_note((uint64_t)next->number << 48 ^ (uint64_t)now);
    return next;
}

/// Hands the turn on, and returns when it comes back.
static void pass_turn(void) {
    Thread *mine = self, *next = choose();
    if (next == mine) return;
    futex_wake(&next->turn);
    futex_wait(&mine->turn);
}

bool block(int64_t until) {
    if (self->state != DEAD) self->state = BLOCKED;
    self->timed_out = false;
    if (until >= 0) add_timer((Timer){.time = until > now ? until : now, .thread = self, .wait = self->waits});
    pass_turn();
    return !self->timed_out;
}

static void end_stall(void *argument) {
    Thread *thread = argument;
    if (thread->state == BLOCKED) make_ready(thread);
}

void wake(Thread *thread) {
    if (thread->state != BLOCKED) return;
    if (stall_chance == 0 || random_turn() % 65536 >= stall_chance) return make_ready(thread);
    // It has been woken, and runs later. A wake is not a timeout.
    thread->waits++;
    int64_t until = now + (int64_t)(random_turn() % (uint64_t)longest_stall);
    add_timer((Timer){.time = until, .body = end_stall, .argument = thread});
}

static void *start(void *argument) {
    self = argument;
    futex_wait(&self->turn);
    self->body(self->argument);
    self->state = DEAD;
    Thread *next = choose();
    self = NULL;
    futex_wake(&next->turn);
    return NULL;
}

Thread *add_thread(Body body, void *argument) {
    Thread *thread = calloc(1, sizeof(Thread));
    if (!thread || thread_count == MAX_THREADS) fail("there are too many threads");
    thread->number = thread_count;
    thread->process = self ? self->process_of_new : 0;
    thread->body = body;
    thread->argument = argument;
    threads[thread_count++] = thread;
    if (!self) return thread;
    int (*create)(pthread_t *, const pthread_attr_t *, Body, void *) = real("pthread_create");
    pthread_t handle;
    if (create(&handle, NULL, start, thread) != 0) fail("a thread cannot be started");
    pthread_detach(handle);
    make_ready(thread);
    return thread;
}

// MARK: From Swift

void simulation_begin(uint64_t seed) {
    mallopt(M_ARENA_MAX, 1);
    turn_state = seed * 2 + 1;
    byte_state = ~seed;
    self = add_thread(NULL, NULL);
}

void simulation_sleep(int64_t nanoseconds) { block(now + (nanoseconds > 0 ? nanoseconds : 0)); }

_Noreturn void simulation_park(void) {
    self->state = DEAD;
    while (true) block(-1);
}

void simulation_set_process(int process) { self->process_of_new = process; }

void simulation_kill(int process) {
    for (uint32_t index = 0; index < thread_count; index++) {
        if (threads[index]->process == process) threads[index]->state = DEAD;
    }
    uint32_t left = 0;
    for (uint32_t index = 0; index < ready_count; index++) {
        if (ready[index]->state != DEAD) ready[left++] = ready[index];
    }
    ready_count = left;
}

void simulation_set_stalls(uint32_t chance, int64_t longest) {
    stall_chance = longest > 0 ? chance : 0;
    longest_stall = longest;
}
