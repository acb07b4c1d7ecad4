#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <malloc.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

int clinux_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clinux_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int clinux_reflink(int source, int destination) { return ioctl(destination, FICLONE, source); }

int clinux_set_parent_death_signal(int signal) { return prctl(PR_SET_PDEATHSIG, signal); }

int clinux_set_malloc_arenas(int count) { return mallopt(M_ARENA_MAX, count) == 1 ? 0 : -1; }

int clinux_name_thread(const char *name) { return prctl(PR_SET_NAME, name); }

int clinux_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }

int clinux_fcntl(int descriptor, int command, int argument) { return fcntl(descriptor, command, argument); }

long long clinux_monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

int clinux_terminal_size(int descriptor, int *columns, int *rows) {
    struct winsize size;
    if (ioctl(descriptor, TIOCGWINSZ, &size) != 0) return -1;
    *columns = size.ws_col;
    *rows = size.ws_row;
    return 0;
}

int clinux_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

int clinux_spawn_change_directory(posix_spawn_file_actions_t *actions, const char *directory) {
    return posix_spawn_file_actions_addchdir_np(actions, directory);
}

ssize_t clinux_read_cached(int descriptor, void *buffer, size_t count, off_t offset) {
    struct iovec vector = {.iov_base = buffer, .iov_len = count};
    return preadv2(descriptor, &vector, 1, offset, RWF_NOWAIT);
}

ssize_t clinux_copy_range(int source, int target, size_t count, off_t offset) {
    off_t from = offset, to = offset;
    return copy_file_range(source, &from, target, &to, count, 0);
}

// Weak, so that what uses CLinux without SQLite links.
extern int sqlite3_db_config(void *connection, int option, ...) __attribute__((weak));
extern int sqlite3_config(int option, ...) __attribute__((weak));

int clinux_sqlite_count_no_memory(void) {
    const int memory_status = 9;
    return sqlite3_config ? sqlite3_config(memory_status, 0) : -1;
}

int clinux_sqlite_keep_wal(void *connection) {
    const int no_checkpoint_on_close = 1006;
    int is_on = 0;
    if (!sqlite3_db_config) return -1;
    return sqlite3_db_config(connection, no_checkpoint_on_close, 1, &is_on);
}
