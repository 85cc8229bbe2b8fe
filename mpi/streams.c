#include "streams.h"

#include <stdlib.h>

#include "clocks.h"
#include "program.h"

/* One end of a stream, at its source or its destination. */
struct stream_end {
    struct stream stream;
    int is_source, peer, tag;
    uint64_t posted, done, done_before; /* messages; those before the end of the warm-up */
    int first, slots, open;             /* its requests */
    int is_over;                        /* nothing more is posted */
    int64_t start_ns, end_ns;
};

static int is_endless(const struct stream_end *end) { return end->stream.messages == STREAM_ENDLESS; }

static int slots(const struct stream *stream) {
    return (int)(stream->messages < stream->outstanding ? stream->messages : stream->outstanding);
}

static uint32_t ends_of(const struct schedule *schedule, int rank, struct stream_end *ends) {
    uint32_t count = 0;
    for (uint32_t number = 0; number < schedule->streams; number++) {
        struct stream stream = schedule_stream(schedule, number);
        int is_source = stream.source == (uint32_t)rank;
        if (!is_source && stream.destination != (uint32_t)rank) {
            continue;
        }
        if (ends) {
            ends[count] = (struct stream_end){.stream = stream,
                                              .is_source = is_source,
                                              .peer = (int)(is_source ? stream.destination : stream.source),
                                              .tag = (int)number,
                                              .slots = slots(&stream)};
            ends[count].stream.number = number; /* in its job, as the simulator counts */
        }
        count++;
    }
    return count;
}

void streams_make(struct streams *streams, const struct schedule *schedule, int rank, MPI_Comm comm) {
    *streams = (struct streams){.comm = comm, .count = ends_of(schedule, rank, NULL)};
    streams->ends = memory(streams->count, sizeof *streams->ends);
    ends_of(schedule, rank, streams->ends);
    uint64_t requests = 0, message = 0;
    for (uint32_t index = 0; index < streams->count; index++) {
        struct stream_end *end = &streams->ends[index];
        end->first = (int)requests;
        requests += (uint64_t)end->slots;
        message = end->stream.bytes > message ? end->stream.bytes : message;
        if (requests > (UINT64_C(1) << 24)) {
            give_up(EXIT_SCHEDULE, "windows of more than %d messages in all", 1 << 24);
        }
    }
    streams->request_count = (int)requests;
    streams->requests = memory((size_t)requests + 1, sizeof *streams->requests);
    streams->statuses = memory((size_t)requests + 1, sizeof *streams->statuses);
    streams->ready = memory((size_t)requests + 1, sizeof *streams->ready);
    streams->owner = memory((size_t)requests + 1, sizeof *streams->owner);
    streams->buffer = memory((size_t)message, 1);
    for (uint32_t index = 0; index < streams->count; index++) {
        for (int slot = 0; slot < streams->ends[index].slots; slot++) {
            streams->owner[streams->ends[index].first + slot] = (int)index;
            streams->requests[streams->ends[index].first + slot] = MPI_REQUEST_NULL;
        }
    }
}

void streams_warm_up(struct streams *streams) {
    MPI_Request *requests = memory(streams->count, sizeof *requests);
    for (uint32_t index = 0; index < streams->count; index++) {
        const struct stream_end *end = &streams->ends[index];
        if (end->is_source) {
            MPI_Isend(streams->buffer, 0, MPI_BYTE, end->peer, end->tag, streams->comm, &requests[index]);
        } else {
            MPI_Irecv(streams->buffer, 0, MPI_BYTE, end->peer, end->tag, streams->comm, &requests[index]);
        }
    }
    MPI_Waitall((int)streams->count, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

/* All messages of a rank share a buffer, as those of a window do in the usual bandwidth tests: nobody reads it. */
static void post(struct streams *streams, struct stream_end *end, int slot) {
    int bytes = (int)end->stream.bytes;
    if (end->is_over || (!is_endless(end) && end->posted == end->stream.messages)) {
        return;
    }
    if (end->is_source) {
        MPI_Isend(streams->buffer, bytes, MPI_BYTE, end->peer, end->tag, streams->comm, &streams->requests[slot]);
    } else {
        MPI_Irecv(streams->buffer, bytes, MPI_BYTE, end->peer, end->tag, streams->comm, &streams->requests[slot]);
    }
    end->posted++;
    end->open++;
}

static void count(const struct streams *streams, struct stream_end *end) {
    int64_t at_ns = now_ns();
    if (is_endless(end) && streams->end_ns > 0 && at_ns > streams->end_ns) {
        return;
    }
    end->done++;
    end->end_ns = at_ns;
    end->done_before += at_ns < streams->warm_ns;
}

/* What is still posted to receive is taken back, unless it is being received. */
static void take_back(struct streams *streams, struct stream_end *end) {
    end->is_over = 1;
    for (int slot = end->first; slot < end->first + end->slots; slot++) {
        MPI_Status status;
        int is_cancelled = 0;
        if (streams->requests[slot] != MPI_REQUEST_NULL) {
            MPI_Cancel(&streams->requests[slot]);
            MPI_Wait(&streams->requests[slot], &status);
            MPI_Test_cancelled(&status, &is_cancelled);
            end->open--;
            if (!is_cancelled) {
                count(streams, end);
            }
        }
    }
}

/* A message of an endless stream without bytes is its last. */
static int is_last(const struct stream_end *end, const MPI_Status *status) {
    int bytes = 1;
    if (!end->is_source && is_endless(end)) {
        MPI_Get_count(status, MPI_BYTE, &bytes);
    }
    return bytes == 0;
}

static void complete(struct streams *streams, int slot, const MPI_Status *status) {
    struct stream_end *end = &streams->ends[streams->owner[slot]];
    end->open--;
    if (is_last(end, status)) {
        take_back(streams, end);
    } else {
        count(streams, end);
        post(streams, end, slot);
    }
}

/* No source of this rank posts any more; each notifies its destination. */
static void stop(struct streams *streams) {
    for (uint32_t index = 0; index < streams->count; index++) {
        struct stream_end *end = &streams->ends[index];
        end->is_over |= end->is_source && is_endless(end);
    }
}

static void say_over(struct streams *streams) {
    for (uint32_t index = 0; index < streams->count; index++) {
        struct stream_end *end = &streams->ends[index];
        if (end->is_source && is_endless(end)) {
            MPI_Send(streams->buffer, 0, MPI_BYTE, end->peer, end->tag, streams->comm);
        }
    }
}

static int has_open(const struct streams *streams) {
    for (uint32_t index = 0; index < streams->count; index++) {
        if (streams->ends[index].open > 0) {
            return 1;
        }
    }
    return 0;
}

/* Whether no endless stream of this rank sends any more, and all that it has sent is out. */
static int may_close(const struct streams *streams, int is_stopped) {
    for (uint32_t index = 0; index < streams->count; index++) {
        const struct stream_end *end = &streams->ends[index];
        if (end->is_source && is_endless(end) && (!is_stopped || end->open > 0)) {
            return 0;
        }
    }
    return 1;
}

void streams_run(struct streams *streams, int64_t start_ns, int64_t warm_ns, int64_t end_ns, MPI_Request *others) {
    int is_stopped = 0, is_closed = 0;
    streams->warm_ns = warm_ns;
    streams->end_ns = end_ns;
    for (uint32_t index = 0; index < streams->count; index++) {
        struct stream_end *end = &streams->ends[index];
        end->start_ns = end->end_ns = start_ns > warm_ns ? start_ns : warm_ns;
        for (int slot = end->first; slot < end->first + end->slots; slot++) {
            post(streams, end, slot);
        }
    }
    /* Sources that have stopped notify their sinks once their window is empty; sinks continue until then. */
    while (has_open(streams) || !is_closed) {
        int count = 0;
        MPI_Testsome(streams->request_count, streams->requests, &count, streams->ready, streams->statuses);
        for (int index = 0; count != MPI_UNDEFINED && index < count; index++) {
            complete(streams, streams->ready[index], &streams->statuses[index]);
        }
        if (!is_stopped) {
            if (others) {
                MPI_Test(others, &is_stopped, MPI_STATUS_IGNORE);
            }
            is_stopped |= end_ns > 0 && now_ns() >= end_ns;
            if (is_stopped) {
                stop(streams);
            }
        }
        if (!is_closed && may_close(streams, is_stopped)) {
            is_closed = 1;
            say_over(streams);
        }
    }
}

uint32_t streams_rows(const struct streams *streams, struct stream_row *rows) {
    uint32_t count = 0;
    for (uint32_t index = 0; index < streams->count; index++) {
        const struct stream_end *end = &streams->ends[index];
        if (!end->is_source) {
            uint64_t bytes = (end->done - end->done_before) * end->stream.bytes;
            int64_t end_ns = is_endless(end) && streams->end_ns > 0 ? streams->end_ns : end->end_ns;
            rows[count++] = (struct stream_row){end->stream.source, end->stream.number, end->done, bytes,
                                                end->start_ns,      end_ns};
        }
    }
    return count;
}
