#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <termios.h>
#include <time.h>
#include <sys/xattr.h>
#include <unistd.h>

int clinux_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clinux_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int clinux_reflink(int source, int destination) { return ioctl(destination, FICLONE, source); }

int clinux_raise_descriptor_limit(unsigned long max) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return -1;
    rlim_t wanted = limit.rlim_max < max ? limit.rlim_max : max;
    if (limit.rlim_cur >= wanted) return 0;
    limit.rlim_cur = wanted;
    return setrlimit(RLIMIT_NOFILE, &limit);
}

int clinux_set_malloc_arenas(int count) { return mallopt(M_ARENA_MAX, count) == 1 ? 0 : -1; }

int clinux_name_thread(const char *name) { return prctl(PR_SET_NAME, name); }

int clinux_open(const char *path, int flags, unsigned mode) { return open(path, flags, mode); }

int clinux_rename_exclusive(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (link(from, to) != 0) return -1;
    return unlink(from);
}

int clinux_set_attribute(int descriptor, const char *name, const void *value, size_t count) {
    return fsetxattr(descriptor, name, value, count, 0);
}

ssize_t clinux_get_attribute(int descriptor, const char *name, void *value, size_t count) {
    return fgetxattr(descriptor, name, value, count);
}

int clinux_lock_bytes(int descriptor, off_t start, off_t count, int is_shared) {
    struct flock lock = {
        .l_type = is_shared ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = count};
    return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int clinux_wait_for_byte(int descriptor, off_t byte) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    return fcntl(descriptor, F_OFD_SETLKW, &lock);
}

long long clinux_birth_time(const char *path) {
    struct statx facts;
    if (statx(AT_FDCWD, path, 0, STATX_BTIME, &facts) != 0 || !(facts.stx_mask & STATX_BTIME)) return -1;
    return (long long)facts.stx_btime.tv_sec * 1000 + facts.stx_btime.tv_nsec / 1000000;
}

off_t clinux_locked_byte(int descriptor, off_t start, off_t count) {
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = count};
    if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return -1;
    return lock.l_start < start ? start : lock.l_start;
}

int clinux_unlock_bytes(int descriptor, off_t start, off_t count) {
    struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = count};
    return fcntl(descriptor, F_OFD_SETLK, &lock);
}

int clinux_replace_descriptor(int descriptor, int replaced) { return dup3(descriptor, replaced, O_CLOEXEC); }

int clinux_fcntl(int descriptor, int command, int argument) { return fcntl(descriptor, command, argument); }

long long clinux_monotonic(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000LL + now.tv_nsec;
}

int clinux_semaphore_wait(sem_t *semaphore, long long end) {
    struct timespec time = {.tv_sec = end / 1000000000LL, .tv_nsec = end % 1000000000LL};
    return sem_clockwait(semaphore, CLOCK_MONOTONIC, &time);
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

int clinux_reserve(int descriptor, off_t size) {
    int result;
    do result = fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, size); while (result != 0 && errno == EINTR);
    return result;
}

off_t clinux_next_data(int descriptor, off_t offset) { return lseek(descriptor, offset, SEEK_DATA); }

off_t clinux_next_hole(int descriptor, off_t offset) { return lseek(descriptor, offset, SEEK_HOLE); }

long clinux_file_system_type(int descriptor) {
    struct statfs facts;
    return fstatfs(descriptor, &facts) == 0 ? (long)facts.f_type : -1;
}

static int closed_descriptors;

int clinux_was_closed(int descriptor) { return closed_descriptors >> descriptor & 1; }

void clinux_prepare_process(void) {
    struct stat facts;
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        // open(2) takes the lowest free number. That is this one, because those below it are open by now.
        if (fstat(descriptor, &facts) == 0 || errno != EBADF) continue;
        closed_descriptors |= 1 << descriptor;
        (void)!open("/dev/null", O_RDWR);
    }
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigaction(SIGPIPE, &ignore, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
}

struct start {
    char name[16];
    void (*body)(void *);
    void *context;
};

static void *run(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    prctl(PR_SET_NAME, start.name);
    start.body(start.context);
    return NULL;
}

int clinux_start_thread(const char *name, void (*body)(void *), void *context) {
    struct start *start = calloc(1, sizeof *start);
    if (!start) return ENOMEM;
    strncpy(start->name, name, sizeof start->name - 1);
    start->body = body;
    start->context = context;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 1 << 20);
    pthread_t thread;
    int code = pthread_create(&thread, &attributes, run, start);
    pthread_attr_destroy(&attributes);
    if (code) free(start);
    return code;
}

int clinux_route_socket(void) {
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (descriptor < 0) return -1;
    // The default of 208 KiB loses bursts of a thousand events.
    int size = 1 << 20;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    struct sockaddr_nl address = {
        .nl_family = AF_NETLINK,
        .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_IPV6_ROUTE,
    };
    if (bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

ssize_t clinux_route_receive(int descriptor, void *buffer, size_t count) {
    while (1) {
        struct sockaddr_nl sender = {0};
        socklen_t length = sizeof sender;
        ssize_t received = recvfrom(descriptor, buffer, count, MSG_TRUNC, (struct sockaddr *)&sender, &length);
        if (received < 0) return -1;
        if (sender.nl_pid != 0) continue;
        if ((size_t)received <= count) return received;
        errno = EMSGSIZE;
        return -1;
    }
}

// Weak, so that a program without SQLite links.
extern int sqlite3_db_config(void *connection, int option, ...) __attribute__((weak));
extern int sqlite3_config(int option, ...) __attribute__((weak));

int clinux_sqlite_configure(void) {
    const int memory_status = 9, uri = 17;
    if (!sqlite3_config) return -1;
    int code = sqlite3_config(uri, 1);
    return code ? code : sqlite3_config(memory_status, 0);
}

int clinux_sqlite_keep_wal(void *connection) {
    const int no_checkpoint_on_close = 1006;
    int is_on = 0;
    if (!sqlite3_db_config) return -1;
    return sqlite3_db_config(connection, no_checkpoint_on_close, 1, &is_on);
}
