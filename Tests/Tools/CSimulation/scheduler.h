#pragma once
#include <stdbool.h>
#include <stdint.h>

/// The parts of the scheduler that the interposers use. All but `is_simulated` are for simulated threads only.

// Hidden, so that no library finds them in the place of a function of its own.
#pragma GCC visibility push(hidden)

typedef struct Thread Thread;
typedef void *(*Body)(void *);

/// Whether the calling thread is one of the simulation.
bool is_simulated(void);
Thread *current_thread(void);

/// The real function behind an interposed one.
void *real(const char *name);

/// Adds a thread, which is ready to run.
Thread *add_thread(Body body, void *argument);
/// Blocks until another thread calls `wake`, or until the time; a negative one never comes.
/// - Returns: false where the time came.
bool block(int64_t until);
/// Makes a blocked thread ready.
void wake(Thread *thread);
/// Whether the thread's process lives.
bool is_alive(const Thread *thread);

/// Calls `body` at a time, on the thread that finds that it has come. It must not block.
void call_at(int64_t time, void (*body)(void *), void *argument);

/// Next random number: of the turns, and of the bytes that the program asks the system for.
uint64_t random_turn(void);
uint64_t random_byte_word(void);

_Noreturn void fail(const char *words);

#pragma GCC visibility pop
