#define _GNU_SOURCE
#include "GuardianState.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// The worker's side of a request. These functions may call the C library.

static size_t list_size(const char *const *list) {
    size_t size = sizeof(char *);
    for (; *list; list++) size += sizeof(char *) + strlen(*list) + 1;
    return size;
}

/// Appends a text to the image. Returns its offset.
static size_t copy_text(char *image, size_t *end, const char *text) {
    size_t size = strlen(text) + 1, offset = *end;
    memcpy(image + offset, text, size);
    *end += size;
    return offset;
}

/// Fills a table at `table` with the offsets of copies of the texts. Returns the offset after the table.
static size_t copy_list(char *image, size_t table, size_t *end, const char *const *list) {
    for (; *list; list++, table += sizeof(size_t)) {
        size_t offset = copy_text(image, end, *list);
        memcpy(image + table, &offset, sizeof offset);
    }
    memset(image + table, 0, sizeof(size_t));
    return table + sizeof(size_t);
}

/// The tables of the arguments and of the environment first, because they must be aligned, then groups, then texts.
static void fill_image(struct guardian_plan *plan, char *image, const struct clinux_guardian_request *request) {
    size_t tables = 0, groups = sizeof(uint32_t) * (size_t)request->group_count;
    for (const char *const *list = request->arguments; *list; list++) tables++;
    for (const char *const *list = request->environment; *list; list++) tables++;
    plan->groups = (tables + 2) * sizeof(char *);
    if (groups) memcpy(image + plan->groups, request->groups, groups);
    size_t end = plan->groups + groups;
    plan->environment = copy_list(image, 0, &end, request->arguments);
    copy_list(image, plan->environment, &end, request->environment);
    plan->program = copy_text(image, &end, request->program);
}

static void fill_plan(struct guardian_plan *plan, const struct clinux_guardian_request *request) {
    memcpy(plan->lock_path, request->lock_path, strlen(request->lock_path) + 1);
    if (request->limit_count)
        memcpy(plan->limits, request->limits, sizeof *request->limits * (size_t)request->limit_count);
    plan->limit_count = request->limit_count;
    plan->group_count = request->group_count;
    plan->changes_user = request->changes_user;
    plan->user = request->user;
    plan->group = request->group;
    plan->leaves_daemons = request->leaves_daemons;
    plan->program_device = request->program_device;
    plan->program_inode = request->program_inode;
    plan->lock_timeout = (int64_t)request->lock_timeout * 1000000;
    plan->grace = (int64_t)request->grace * 1000000;
}

/// The plan and its image in one allocation; NULL with errno set.
static struct guardian_plan *make_plan(const struct clinux_guardian_request *request) {
    if (request->limit_count < 0 || request->limit_count > GUARDIAN_MAX_LIMITS || request->group_count < 0) {
        errno = EINVAL;
        return NULL;
    }
    if (strlen(request->lock_path) >= sizeof ((struct guardian_plan *)0)->lock_path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    size_t size = list_size(request->arguments) + list_size(request->environment) + strlen(request->program) + 1
        + sizeof(uint32_t) * (size_t)request->group_count;
    struct guardian_plan *plan = calloc(1, sizeof *plan + size);
    if (!plan) return NULL;
    plan->image_size = size;
    fill_plan(plan, request);
    fill_image(plan, (char *)(plan + 1), request);
    return plan;
}

/// Sends the descriptors to the launcher.
static int send_descriptors(int launcher, const int *descriptors, size_t count) {
    union {
        char bytes[CMSG_SPACE(sizeof(int) * MAX_SENT)];
        struct cmsghdr alignment;
    } control = {{0}};
    char byte = 0;
    struct iovec vector = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control};
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), descriptors, sizeof(int) * count);
    return sendmsg(launcher, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

static int write_all(int descriptor, const void *bytes, size_t count) {
    while (count) {
        ssize_t written = write(descriptor, bytes, count);
        if (written < 0) return -1;
        bytes = (const char *)bytes + written;
        count -= (size_t)written;
    }
    return 0;
}

/// Makes the pipes, and hands the guardian's ends to the launcher, with the plan in the pipe of the commands.
static int hand_over(
    int launcher, const struct clinux_guardian_request *request, const struct guardian_plan *plan, int commands[2],
    int events[2]
) {
    int sent[MAX_SENT] = {commands[0],     events[1],      request->input,    request->output,
                          request->error, request->directory, request->report};
    int result = send_descriptors(launcher, sent, request->report < 0 ? MAX_SENT - 1 : MAX_SENT);
    int error = errno;
    close(commands[0]);
    close(events[1]);
    errno = error;
    if (result != 0) return result;
    // Longer than the pipe where the arguments are long: then this waits for the guardian.
    return write_all(commands[1], plan, sizeof *plan + plan->image_size) == 0 ? 0 : 1;
}

int clinux_guardian_start(
    int launcher, const struct clinux_guardian_request *request, struct clinux_guardian *guardian
) {
    int commands[2] = {-1, -1}, events[2] = {-1, -1}, result = -1;
    struct guardian_plan *plan = make_plan(request);
    if (!plan) return -1;
    if (clinux_pipe(commands) == 0) {
        if (clinux_pipe(events) == 0) result = hand_over(launcher, request, plan, commands, events);
        else close(commands[0]);
    }
    int error = errno;
    free(plan);
    if (result < 0) {
        close(commands[1]);
        close(events[0]);
    }
    errno = error;
    guardian->commands = commands[1];
    guardian->events = events[0];
    return result;
}
