#pragma once
#include <stdint.h>

/// Threads that take turns, on a virtual clock, with chance from a seed.
///
/// The executable defines `pthread_create`, the semaphores, the sleeps, the clocks, the sources of random bytes, and the two
/// functions of libdispatch through which the jobs of Swift's global executor pass. Before `simulation_begin` each of them
/// calls the real one. Afterwards exactly one thread runs; one that blocks hands its turn on, and the seed chooses the next.

/// The calling thread becomes the first thread of the simulation. Its wall clock begins at 2026-01-01T00:00:00Z.
void simulation_begin(uint64_t seed);

/// Nanoseconds of virtual time since the start. It passes only while every thread waits.
int64_t simulation_now(void);
/// Lets others run for a virtual time of at least 0 ns.
void simulation_sleep(int64_t nanoseconds);
/// The calling thread never runs again.
_Noreturn void simulation_park(void);

/// The process of the threads that this thread creates from now on; 0: of no process. Other threads create threads of none.
void simulation_set_process(int process);
/// The threads of a process never run again.
void simulation_kill(int process);

/// A thread that becomes ready is left waiting with a probability of `chance` of 65536, for at most `longest` ns.
void simulation_set_stalls(uint32_t chance, int64_t longest);

/// Mixes a fact into the hash of the run.
void simulation_note(uint64_t fact);
/// Of all turns and facts so far.
uint64_t simulation_hash(void);
/// Turns so far.
uint64_t simulation_turns(void);

/// Turns the randomisation of addresses off for the programs that this process executes. It is not visible to Swift.
int simulation_fix_addresses(void);
/// Keeps the process on the processor that it runs on: a turn costs 1 µs there, and 7 µs between two. Not visible to Swift.
void simulation_use_one_processor(void);
/// fork(2), which Swift does not allow. The caller has one thread.
int simulation_fork(void);
