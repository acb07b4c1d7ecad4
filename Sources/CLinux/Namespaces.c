#define _GNU_SOURCE
#include "Namespaces.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

int clinux_new_network_namespace(void) { return unshare(CLONE_NEWNET); }

int clinux_enter_network_namespace(int descriptor) { return setns(descriptor, CLONE_NEWNET); }

int clinux_open_tun(const char *name) {
    struct ifreq request;
    int descriptor = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return -1;
    memset(&request, 0, sizeof request);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (ioctl(descriptor, TUNSETIFF, &request) < 0) {
        close(descriptor);
        return -1;
    }
    return descriptor;
}

int clinux_set_timer_slack(unsigned long nanoseconds) { return prctl(PR_SET_TIMERSLACK, nanoseconds); }

int clinux_wait(void *descriptors, unsigned long count, long long nanoseconds) {
    struct timespec limit = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    return ppoll(descriptors, count, &limit, NULL);
}
