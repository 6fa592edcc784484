#define _DEFAULT_SOURCE /* CMSG_LEN */

#include "inputs/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

/* Ancillary data of a message: one descriptor. */
typedef union ancillary {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
} ancillary;

bool stencil_message_send(int channel, const void *message, size_t bytes, int fd) {
    ancillary beside = {.room = {0}};
    struct iovec part = {(void *)(uintptr_t)message, bytes};
    struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        all.msg_control = beside.room;
        all.msg_controllen = sizeof beside.room;
        beside.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&beside.header), &fd, sizeof fd);
    }
    ssize_t sent;
    do
        sent = sendmsg(channel, &all, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)bytes;
}

ssize_t stencil_message_receive(int channel, void *message, size_t most, int *fd) {
    ancillary beside = {.room = {0}};
    struct iovec part = {message, most};
    struct msghdr all = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd != NULL) {
        *fd = -1;
        all.msg_control = beside.room;
        all.msg_controllen = sizeof beside.room;
    }
    ssize_t got;
    do
        got = recvmsg(channel, &all, MSG_CMSG_CLOEXEC | MSG_TRUNC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *came = fd != NULL && got > 0 ? CMSG_FIRSTHDR(&all) : NULL;
    if (came != NULL && came->cmsg_level == SOL_SOCKET && came->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(came), sizeof *fd);
    return got;
}
