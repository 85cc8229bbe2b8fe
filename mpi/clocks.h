/* Clocks of ranks against that of rank 0, and a start that all of them agree on. */
#ifndef ETHERWEAVE_CLOCKS_H
#define ETHERWEAVE_CLOCKS_H

#include <mpi.h>
#include <stdint.h>
#include <time.h>

/* This rank's clock [ns]: it counts evenly and is read without a system call. */
static inline int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* How far this rank's clock is ahead of that of rank 0, and by how much that may be wrong. */
struct offset {
    int64_t ahead_ns, error_ns;
    /* The longest round trip to this rank [ns]: the longest time until a message has arrived and is answered. */
    int64_t longest_ns;
};

/* Estimates offsets, one rank after another; all ranks call it. */
struct offset clock_offset(MPI_Comm comm);

/* Time from the announcement of a start to the start [ns]: ranks receive it in turn, later if they share processors. */
int64_t lead_ns(int64_t longest_ns, int ranks);

/* Agrees on an instant soon; gives it by this rank's clock. All ranks call it. */
int64_t agreed_start_ns(MPI_Comm comm, struct offset offset);

/* Waits for an instant of this rank's clock; gives by how much it was missed, 0 or more [ns]. */
int64_t wait_until_ns(int64_t instant_ns);

#endif
