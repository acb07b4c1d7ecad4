#ifndef SLUICE_GUARDIAN_SYSCALLS_H
#define SLUICE_GUARDIAN_SYSCALLS_H

// System calls without the C library. The guardian is the child of a fork of a process with many threads, and it unmaps
// the memory of that process: the heap, the libraries, and the tables by which a call finds a library function. So the
// code of the launcher and of the guardian calls none at all. Files with such code are compiled with no_builtin, since
// a compiler makes a call of memcpy or memset of a loop. A test looks at the object files. Each call returns what the
// kernel returns: a negative number is an error number.

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline __attribute__((always_inline)) long raw6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#else
#error "the guardian knows the system calls of x86-64 and arm64 only"
#endif
}

#define RAW(number, ...) RAW_(number, __VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define RAW_(number, a, b, c, d, e, f, ...)                                                                            \
    raw6(SYS_##number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
