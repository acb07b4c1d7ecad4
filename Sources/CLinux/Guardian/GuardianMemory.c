#define _GNU_SOURCE
#include "GuardianState.h"
#include "GuardianSyscalls.h"

#pragma clang attribute push(__attribute__((no_builtin)), apply_to = function)

// A fork shares every page of the worker until the worker writes to it; from then on the old page belongs to the child
// alone. In an hour that is the whole heap of the worker. Each mapping also makes a fork of the child longer. So the
// child keeps only the file of its own code.

/// A range of addresses; `end` is behind the last byte.
struct range {
    uintptr_t start;
    uintptr_t end;
};

// Ranges end at a multiple of the largest page of arm64.
enum { RANGES = 3, SLACK = 64 << 10, PAGE = 64 << 10 };

/// Unmaps `from..<to` without the ranges that stay.
static void unmap(uintptr_t from, uintptr_t to, const struct range *kept) {
    while (from < to) {
        uintptr_t end = to, inside = 0;
        for (int i = 0; i < RANGES; i++) {
            if (kept[i].start <= from && from < kept[i].end) inside = kept[i].end;
            if (kept[i].start > from && kept[i].start < end) end = kept[i].start;
        }
        if (!inside) RAW(munmap, from, end - from);
        from = inside ? inside : end;
    }
}

/// A line of /proc/self/maps, as far as it has been read: `start-end perms offset device inode path`.
struct line {
    uintptr_t numbers[2];
    char permissions[4];
    int field, column;
    uint64_t inode;
};

/// Reads one character of a line.
static void feed(struct line *line, char c) {
    if (c == ' ' || (line->field == 0 && c == '-')) {
        if (line->column) line->field++;
        line->column = 0;
        return;
    }
    unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');
    if (line->field <= 1) line->numbers[line->field] = line->numbers[line->field] << 4 | digit;
    if (line->field == 2 && line->column < 4) line->permissions[line->column] = c;
    if (line->field == 5) line->inode = line->inode * 10 + digit;
    line->column++;
}

static void clear(struct line *line) {
    line->numbers[0] = line->numbers[1] = 0;
    line->inode = 0;
    line->field = line->column = 0;
}

/// Calls `body` for each line.
static void for_each_line(char *buffer, void (*body)(const struct line *, void *), void *context) {
    long maps = RAW(openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (maps < 0) return;
    struct line line;
    clear(&line);
    long count;
    while ((count = RAW(read, maps, buffer, GUARDIAN_BUFFER)) > 0) {
        for (long i = 0; i < count; i++) {
            if (buffer[i] != '\n') {
                feed(&line, buffer[i]);
                continue;
            }
            body(&line, context);
            clear(&line);
        }
    }
    RAW(close, maps);
}

/// The pages that stay, and the file of the code.
struct kept {
    struct range ranges[RANGES];
    uint64_t inode;
};

static void find_code(const struct line *line, void *context) {
    struct kept *kept = context;
    uintptr_t code = (uintptr_t)&guardian_release_memory;
    if (line->numbers[0] <= code && code < line->numbers[1]) kept->inode = line->inode;
}

/// Unmaps the mapping unless it is one of the kernel (vdso), or of the file of the code. Constants of the code may be
/// in a writable part of that file: the linker gold puts them there.
static void release(const struct line *line, void *context) {
    const struct kept *kept = context;
    int is_shared_or_writable = line->permissions[1] == 'w' || line->permissions[3] == 's';
    int is_guard_page = line->permissions[0] != 'r' && line->permissions[2] != 'x';
    int is_of_kernel = line->inode == 0 && !is_shared_or_writable && !is_guard_page;
    if (is_of_kernel || line->inode == kept->inode) return;
    unmap(line->numbers[0], line->numbers[1], kept->ranges);
}

static struct range pages(uintptr_t start, uintptr_t end) {
    return (struct range){start & ~(uintptr_t)(PAGE - 1), (end + PAGE - 1) & ~(uintptr_t)(PAGE - 1)};
}

void guardian_release_memory(struct guardian *g) {
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    // The kernel writes to the area of the thread (rseq(2)).
    uintptr_t thread = (uintptr_t)__builtin_thread_pointer();
    struct kept kept;
    kept.inode = 0;
    kept.ranges[0] = pages(stack - SLACK, stack + SLACK);
    kept.ranges[1] = pages(thread - SLACK, thread + SLACK);
    kept.ranges[2] = pages((uintptr_t)g, (uintptr_t)g + sizeof *g);
    for_each_line(g->buffer, find_code, &kept);
    // Without the list nothing is unmapped: the child is larger then.
    if (kept.inode) for_each_line(g->buffer, release, &kept);
}

#pragma clang attribute pop
