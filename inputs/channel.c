#define _DEFAULT_SOURCE /* CMSG_LEN */

#include "inputs/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

const stencil_request_kind stencil_request_kinds[] = {
#define X(name, ask, say, cells) {#name, sizeof(ask), sizeof(say), cells},
    STENCIL_REQUESTS(X)
#undef X
};

/* Ancillary data of a message: one descriptor. */
typedef union ancillary {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof(int))];
} ancillary;

bool stencil_message_send(int channel, stencil_head what, const void *bytes, int fd) {
    ancillary beside = {.room = {0}};
    struct iovec part[2] = {{&what, sizeof what}, {(void *)(uintptr_t)bytes, (size_t)what.bytes}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    if (fd >= 0) {
        message.msg_control = beside.room;
        message.msg_controllen = sizeof beside.room;
        beside.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&beside.header), &fd, sizeof fd);
    }
    ssize_t sent;
    do
        sent = sendmsg(channel, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (ssize_t)(sizeof what + what.bytes);
}

bool stencil_message_receive(int channel, stencil_head *what, void *bytes, size_t most, int *fd) {
    ancillary beside = {.room = {0}};
    struct iovec part[2] = {{what, sizeof *what}, {bytes, most}};
    struct msghdr message = {.msg_iov = part, .msg_iovlen = 2};
    if (fd != NULL) {
        *fd = -1;
        message.msg_control = beside.room;
        message.msg_controllen = sizeof beside.room;
    }
    ssize_t got;
    do
        got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    const struct cmsghdr *came = fd != NULL && got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (came != NULL && came->cmsg_level == SOL_SOCKET && came->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(came), sizeof *fd);
    return got >= (ssize_t)sizeof *what && (size_t)got - sizeof *what == what->bytes;
}
