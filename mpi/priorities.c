#define _GNU_SOURCE /* accept4 */
#include "priorities.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mpi.h>

#include "program.h"

/* Of sockets; -1 leaves them as they are. */
static int octet = -1, priority = -1;

static void refuse(const char *text, int value) {
    fprintf(stderr, "executor: %s %d\n", text, value);
    _exit(EXIT_PLACE);
}

/* Open MPI; MPICH, Intel MPI and MVAPICH; PMIx; Slurm without either. */
static long launched_rank(void) {
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {
        const char *text = getenv(names[at]);
        if (text && *text) {
            return strtol(text, NULL, 10);
        }
    }
    fputs("executor: the launcher names no rank before MPI starts; expected Open MPI, MPICH, Intel MPI or Slurm\n", stderr);
    _exit(EXIT_PLACE);
}

int set_for_ranks(const char *word) {
    long first, last;
    int name = 0;
    char copy[256];
    if (sscanf(word, "%ld-%ld:%n", &first, &last, &name) != 2 || name == 0 || strlen(word + name) >= sizeof copy) {
        return -1;
    }
    strcpy(copy, word + name);
    char *value = strchr(copy, '=');
    if (!value) {
        return -1;
    }
    *value++ = '\0';
    long rank = launched_rank();
    if (rank < first || rank > last) {
        return 0;
    }
    if (strcmp(copy, "SOCKET_OCTET") == 0) {
        octet = atoi(value);
    } else if (strcmp(copy, "SOCKET_PRIORITY") == 0) {
        priority = atoi(value);
    } else {
        setenv(copy, value, 1);
    }
    return 0;
}

/* An octet sets a socket's priority too, so that the priority comes after it. */
static int marked(int made) {
    int family = 0;
    socklen_t size = sizeof family;
    if (made < 0 || (octet < 0 && priority < 0) || getsockopt(made, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0) {
        return made;
    }
    if (family != AF_INET && family != AF_INET6) {
        return made;
    }
    int level = family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, name = family == AF_INET ? IP_TOS : IPV6_TCLASS;
    if (octet >= 0 && setsockopt(made, level, name, &octet, sizeof octet) != 0) {
        refuse("this host refuses the octet of sockets", octet);
    }
    if (priority >= 0 && setsockopt(made, SOL_SOCKET, SO_PRIORITY, &priority, sizeof priority) != 0) {
        refuse("this host refuses the priority of sockets, which above 6 takes CAP_NET_ADMIN:", priority);
    }
    return made;
}

/* Names of the C library: those of the program come first, also for MPI's own parts. The kernel gives accepted sockets the
   octet of the listening one, but no priority. */
int socket(int domain, int type, int protocol) {
    return marked((int)syscall(SYS_socket, domain, type, protocol));
}

int accept(int listening, struct sockaddr *address, socklen_t *length) {
    return accept4(listening, address, length, 0);
}

int accept4(int listening, struct sockaddr *address, socklen_t *length, int flags) {
    return marked((int)syscall(SYS_accept4, listening, address, length, flags));
}
