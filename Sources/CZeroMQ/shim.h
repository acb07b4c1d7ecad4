#include <poll.h>
#include <sys/eventfd.h>
#include <zmq.h>
