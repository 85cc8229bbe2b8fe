/* Streams: equal messages from rank to rank, a window of them at once, counted or until the run ends. */
#ifndef ETHERWEAVE_STREAMS_H
#define ETHERWEAVE_STREAMS_H

#include <mpi.h>
#include <stdint.h>

#include "schedule.h"

/* What the receiving side of a stream saw, by its own clock. */
struct stream_row {
    uint32_t source, number;
    uint64_t messages, bytes; /* messages until the run ends; bytes also from the end of the warm-up on */
    int64_t start_ns, end_ns;
};

/* The ends of streams that one rank has. */
struct streams {
    MPI_Comm comm;
    struct stream_end *ends;
    uint32_t count;
    MPI_Request *requests;
    MPI_Status *statuses;
    int *ready, *owner;
    int request_count;
    unsigned char *buffer;
    int64_t warm_ns, end_ns;
};

/* Makes this rank's ends; ends all ranks when memory is missing. */
void streams_make(struct streams *streams, const struct schedule *schedule, int rank, MPI_Comm comm);

/* One empty message along each, so that connections are open. */
void streams_warm_up(struct streams *streams);

/* Sends and receives until all streams of this rank have ended. Endless ones end at `end_ns` of this rank's clock (0:
   never), or when `others` (NULL: none) is complete: the ranks that must end have ended. */
void streams_run(struct streams *streams, int64_t start_ns, int64_t warm_ns, int64_t end_ns, MPI_Request *others);

/* Rows of the streams that end here; gives how many. */
uint32_t streams_rows(const struct streams *streams, struct stream_row *rows);

#endif
