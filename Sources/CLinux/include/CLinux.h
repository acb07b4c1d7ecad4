#ifndef SLUICE_CLINUX_H
#define SLUICE_CLINUX_H

// System calls that Swift cannot call by itself: variadic ones, and those that glibc does not declare.
// Every function returns the value of the system call, or -1 with errno set.

#include "Guardian.h"
#include "Namespaces.h"

#include <semaphore.h>
#include <spawn.h>
#include <sys/types.h>

/// A descriptor that becomes readable when process `pid` ends. pidfd_open(2), Linux 5.3.
int clinux_pidfd_open(pid_t pid);
/// Sends `signal` to the process behind `pidfd`, never to a later owner of its number. Linux 5.1.
int clinux_pidfd_send_signal(int pidfd, int signal);
/// Makes `destination` share the blocks of `source` (FICLONE); EOPNOTSUPP where the file system has no
/// reflinks.
int clinux_reflink(int source, int destination);
/// Raises the soft limit of open descriptors of this process to its hard limit, at most to `max`. Children
/// inherit it.
int clinux_raise_descriptor_limit(unsigned long max);
/// Limits the number of malloc arenas, which otherwise grow with the threads and never shrink.
int clinux_set_malloc_arenas(int count);
/// Names the calling thread (15 bytes shown by ps, top and gdb).
int clinux_name_thread(const char *name);
/// open(2) with a mode: Swift cannot call variadic functions.
int clinux_open(const char *path, int flags, unsigned mode);
/// Renames a file, unless `to` exists: -1 with EEXIST. renameat2(2) with RENAME_NOREPLACE, Linux 3.15; a file
/// system without it gets the link(2) and unlink(2) that it can do.
int clinux_rename_exclusive(const char *from, const char *to);
/// Sets an extended attribute of an open file. fsetxattr(2).
int clinux_set_attribute(int descriptor, const char *name, const void *value, size_t count);
/// Reads an extended attribute of an open file: its bytes, or -1 with errno. fgetxattr(2).
ssize_t clinux_get_attribute(int descriptor, const char *name, void *value, size_t count);
/// Locks bytes of an open file for its open file description, without waiting: -1 with EAGAIN or EACCES where
/// another one holds them. An exclusive lock needs a descriptor that may write. fcntl(2) with F_OFD_SETLK, Linux
/// 3.15, whose struct has the name of a function in Swift.
int clinux_lock_bytes(int descriptor, off_t start, off_t count, int is_shared);
/// Locks a byte of an open file in shared mode, and waits for it: -1 with EINTR after a signal. F_OFD_SETLKW.
int clinux_wait_for_byte(int descriptor, off_t byte);
/// The first byte of a range that another open file has locked exclusively; -1 where there is none. F_OFD_GETLK.
off_t clinux_locked_byte(int descriptor, off_t start, off_t count);
/// Unlocks bytes of an open file.
int clinux_unlock_bytes(int descriptor, off_t start, off_t count);
/// Moves an open file to the number of another descriptor, which it closes; close-on-exec. dup3(2).
int clinux_replace_descriptor(int descriptor, int replaced);
/// fcntl(2) with an integer argument.
int clinux_fcntl(int descriptor, int command, int argument);
/// CLOCK_MONOTONIC in nanoseconds.
long long clinux_monotonic(void);
/// Waits for a semaphore until CLOCK_MONOTONIC shows `end`, in nanoseconds; -1 and ETIMEDOUT then. sem_clockwait(3), glibc 2.30;
/// not visible to Swift.
int clinux_semaphore_wait(sem_t *semaphore, long long end);
/// Columns and rows of the terminal behind `descriptor`; -1 where it is not a terminal.
int clinux_terminal_size(int descriptor, int *columns, int *rows);
/// Closes every descriptor from `first` on in a process to be spawned. glibc 2.34; not visible to Swift.
int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first);
/// Makes a process to be spawned start in `directory`. glibc 2.29; not visible to Swift.
int clinux_spawn_change_directory(posix_spawn_file_actions_t *actions, const char *directory);
/// Reads bytes at `offset` that are in the page cache, without waiting for a disk: -1 with EAGAIN where it
/// would have to wait, EOPNOTSUPP where the file system cannot tell. preadv2(2) with RWF_NOWAIT, Linux 4.14.
ssize_t clinux_read_cached(int descriptor, void *buffer, size_t count, off_t offset);
/// Copies within the kernel, at the same offset of both files. copy_file_range(2), Linux 4.5.
ssize_t clinux_copy_range(int source, int target, size_t count, off_t offset);
/// Allocates blocks for the first `size` bytes of an open file, whose size stays: -1 with EOPNOTSUPP where the file
/// system cannot. fallocate(2) with FALLOC_FL_KEEP_SIZE.
int clinux_reserve(int descriptor, off_t size);
/// The offset of the first data at or after `offset`: -1 with ENXIO where only a hole follows, or the file
/// ends before. lseek(2) with SEEK_DATA, Linux 3.1. Moves the position of the descriptor.
off_t clinux_next_data(int descriptor, off_t offset);
/// The offset of the first hole at or after `offset`, or the end of the file. lseek(2) with SEEK_HOLE.
off_t clinux_next_hole(int descriptor, off_t offset);
/// The type of the file system of an open file, a magic number of statfs(2); -1 where it is not known.
long clinux_file_system_type(int descriptor);
/// The number of arguments of this process, with its name.
int clinux_argument_count(void);
/// The arguments of this process, and a null pointer. Swift looks for them beside the environment, and finds none where a
/// preloaded library has changed that.
char *const *clinux_arguments(void);
/// The part of process 1 of a container, where this program is started as that: runs the program in a child process, passes
/// signals on to it, and waits for every process that its parent has left, which would stay as a zombie. The kernel gives
/// such processes to process 1. Returns the exit code of the child when it has ended, or -1 where it cannot be started.
int clinux_serve_as_init(void);
/// Starts threads and ends them again, to find out whether the process may have this number: whatever limits them. Returns
/// how many could be started.
int clinux_probe_threads(int count);
/// The connections to Unix sockets of libzmq that this process has refused so far, because they would have taken the
/// descriptors that its own files need.
long clinux_refused_connections(void);
/// When a file was made, in milliseconds since 1970; -1 where its file system does not tell. statx(2), Linux 4.11.
long long clinux_birth_time(const char *path);
/// Prepares this process for opening and writing files. Opens /dev/null as descriptors 0, 1 and 2 where they
/// are closed, so that no other file gets their numbers. Ignores SIGPIPE and SIGXFSZ in all threads, so that
/// a closed pipe and a file size limit (ulimit -f) are errors of a write. Call it before any file is opened.
void clinux_prepare_process(void);
/// Whether a standard descriptor was closed when clinux_prepare_process() opened /dev/null for it.
int clinux_was_closed(int descriptor);
/// Starts a detached thread with a stack of 1 MiB that calls `body` with `context`. Returns 0 or an error
/// number.
int clinux_start_thread(const char *name, void (*body)(void *), void *context);
/// A socket on which the kernel reports changes of links, addresses and routes of both families, and answers
/// requests. Nonblocking, close-on-exec. rtnetlink(7), whose types are not visible to Swift.
int clinux_route_socket(void);
/// Receives one datagram of the kernel from such a socket; datagrams of other senders are dropped. -1 with
/// ENOBUFS where datagrams were lost, EMSGSIZE where the datagram is longer than `count`.
ssize_t clinux_route_receive(int descriptor, void *buffer, size_t count);
/// Tells SQLite not to checkpoint when the last connection closes (SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE); the
/// call is variadic. Returns the result code of SQLite, or -1 where SQLite is not linked.
int clinux_sqlite_keep_wal(void *connection);
/// Tells SQLite to accept URIs (SQLITE_CONFIG_URI), however it was compiled, and not to count its memory
/// (SQLITE_CONFIG_MEMSTATUS), which takes a lock at every allocation. It has an effect only before SQLite is
/// used. Returns the result code of SQLite, or -1 where SQLite is not linked.
int clinux_sqlite_configure(void);

#endif
