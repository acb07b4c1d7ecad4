#ifndef SLUICE_CLINUX_NAMESPACES_H
#define SLUICE_CLINUX_NAMESPACES_H

// Network namespaces, for tests on emulated links.

/// Moves the calling thread into a new network namespace without any link. unshare(2).
int clinux_new_network_namespace(void);
/// Moves the calling thread into the network namespace behind a descriptor. setns(2).
int clinux_enter_network_namespace(int descriptor);
/// A TUN device in the calling thread's network namespace: each read is one IP packet that its stack sends,
/// each write one that it receives. Does not block.
int clinux_open_tun(const char *name);
/// How late a timer of the calling thread may fire, in nanoseconds; the kernel's own is 50,000. prctl(2).
int clinux_set_timer_slack(unsigned long nanoseconds);

/// poll(2) with nanoseconds: ppoll(2). `descriptors` are of the type pollfd, which is not this module's.
int clinux_wait(void *descriptors, unsigned long count, long long nanoseconds);

#endif
