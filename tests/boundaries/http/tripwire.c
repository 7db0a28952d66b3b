/* Preloaded by test_tripwire.py: writes down, and refuses, what would leave this machine below Python. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void trip(const char *what, const char *where) {
    const char *path = getenv("TRIPWIRE");
    char line[512];
    int length = snprintf(line, sizeof line, "%s %s\n", what, where);
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (file >= 0) {
        if (write(file, line, (size_t)length) < 0) perror("tripwire");
        close(file);
    }
}

static int leaves(const struct sockaddr *address, char *text, socklen_t size) {
    if (address == NULL) return 0;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &v4->sin_addr, text, size);
        unsigned long number = ntohl(v4->sin_addr.s_addr);
        return number != 0 && number >> 24 != 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &v6->sin6_addr, text, size);
        if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) return v6->sin6_addr.s6_addr[12] != 127;
        return !IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) && !IN6_IS_ADDR_UNSPECIFIED(&v6->sin6_addr);
    }
    return 0;
}

int connect(int file, const struct sockaddr *address, socklen_t length) {
    static int (*original)(int, const struct sockaddr *, socklen_t);
    char text[INET6_ADDRSTRLEN] = "";
    if (!original) original = dlsym(RTLD_NEXT, "connect");
    if (leaves(address, text, sizeof text)) {
        trip("connect", text);
        errno = ENETUNREACH;
        return -1;
    }
    return original(file, address, length);
}

ssize_t sendto(int file, const void *data, size_t size, int flags, const struct sockaddr *address, socklen_t length) {
    static ssize_t (*original)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    char text[INET6_ADDRSTRLEN] = "";
    if (!original) original = dlsym(RTLD_NEXT, "sendto");
    if (leaves(address, text, sizeof text)) {
        trip("sendto", text);
        errno = ENETUNREACH;
        return -1;
    }
    return original(file, data, size, flags, address, length);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*original)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    unsigned char number[sizeof(struct in6_addr)];
    if (!original) original = dlsym(RTLD_NEXT, "getaddrinfo");
    if (name && strcmp(name, "localhost") && !inet_pton(AF_INET, name, number) && !inet_pton(AF_INET6, name, number)) {
        trip("getaddrinfo", name);
        return EAI_FAIL;
    }
    return original(name, service, hints, found);
}
