/* A rank's program, ready to run: nothing is looked up, allocated or asked of the system between two operations. */
#ifndef ETHERWEAVE_PROGRAM_H
#define ETHERWEAVE_PROGRAM_H

#include <mpi.h>
#include <stdint.h>

#include "schedule.h"

struct op {
    int32_t kind, peer, tag, bytes;
    int64_t rest_ns;
};

struct block {
    struct op *ops;
    uint32_t count, repeat;
    int is_measured, is_warm_up;
};

/* A measured iteration, by this rank's clock. */
struct row {
    int64_t start_ns, duration_ns;
};

struct count {
    uint64_t messages, bytes;
};

struct program {
    MPI_Comm comm;
    struct block *blocks;
    uint32_t block_count;
    struct loops loops;
    int64_t start_ns; /* of the present iteration */
    int is_verified;
    unsigned char *send_buffer, *receive_buffer;
    size_t receive_bytes, receive_at;
    MPI_Request *requests;
    int *expected;        /* bytes of each request's message, -1 for a send; only when verified */
    MPI_Status *statuses; /* only when verified */
    int open;
    struct row *rows;
    uint64_t row_count, row_max;
    struct count *sent, *received; /* by peer */
    int ranks;
};

/* Makes the program of a checked section; ends all ranks when memory is missing. */
void program_make(struct program *program, const struct schedule *schedule, const unsigned char *section, MPI_Comm comm,
                  int is_verified);

/* Executes the warm-up, which records neither rows nor counts, or the program itself. */
void program_run(struct program *program, int is_warm_up);

/* Memory of this size, written once, so that no page is missing later; ends all ranks when there is none. */
void *memory(size_t count, size_t size);

/* Says why, and ends all ranks. */
_Noreturn void give_up(int code, const char *form, ...);

/* Receives and streams share this much memory at most, or one message [B]. */
#define BUFFER_MAX ((size_t)256 << 20)

enum exit_code { EXIT_SCHEDULE = 2, EXIT_PLACE = 3, EXIT_TIME = 4, EXIT_WRONG = 5 };

#endif
