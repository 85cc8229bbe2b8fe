/* A schedule file, as docs/guide/measure.md lays it out: found sound before anything of it is used. */
#ifndef ETHERWEAVE_SCHEDULE_H
#define ETHERWEAVE_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

enum { SCHEDULE_HEADER_BYTES = 64, SCHEDULE_STREAM_BYTES = 32, SCHEDULE_OP_BYTES = 16, SCHEDULE_LOOP_BYTES = 16 };
enum { BLOCK_MEASURED = 1, BLOCK_WARM_UP = 2 };
enum op_kind { OP_ISEND, OP_IRECV, OP_WAIT_ALL, OP_COMPUTE, OP_SLEEP, OP_ITERATION_START, OP_ITERATION_END, OP_COPY };

/* What is wrong with a file, and where. */
struct mistake {
    size_t byte;
    char text[160];
};

/* Places in a file that has been checked; all pointers point into its bytes. */
struct schedule {
    const unsigned char *bytes;
    size_t size;
    int is_background;
    uint32_t ranks, tags, streams, name_bytes;
    uint64_t start_ps, end_ps, warm_up_ps;
    const unsigned char *name, *tag_list, *stream_list, *offsets;
};

/* Messages of one size from a rank to another; `messages` is STREAM_ENDLESS until the run ends. */
struct stream {
    uint32_t source, destination, number, outstanding;
    uint64_t bytes, messages;
};
#define STREAM_ENDLESS UINT64_MAX

/* Blocks of a section from `first` up to the one before `end`, performed `times` over. */
struct loop {
    uint32_t first, end, times;
    uint32_t passes; /* how often it has been performed, of `times` */
};

/* Loops in order of their ends, those within others first. */
struct loops {
    struct loop *list;
    uint32_t count;
};

/* What a rank's section asks of memory. */
struct demands {
    uint64_t requests_max;      /* outstanding at once */
    uint64_t receive_bytes_max; /* of all outstanding receives, at most */
    uint64_t message_bytes_max; /* of one message */
    uint64_t rows;              /* measured iterations */
};

uint32_t read_u32(const unsigned char *at);
uint64_t read_u64(const unsigned char *at);

/* The bytes of a file, to be freed; NULL when it cannot be read. */
unsigned char *file_contents(const char *name, size_t *size);

/* Checks a whole file; returns 0, or -1 and the mistake. */
int schedule_check(const unsigned char *bytes, size_t size, struct schedule *schedule, struct mistake *mistake);

/* Places of a file's beginning that is known to be sound: all but its sections. */
void schedule_open(const unsigned char *bytes, struct schedule *schedule);

/* The section of a rank in a whole file. */
const unsigned char *schedule_section(const struct schedule *schedule, uint32_t rank, size_t *size);

struct stream schedule_stream(const struct schedule *schedule, uint32_t number);

/* The loops of a section, to be freed; a NULL list when memory is missing. */
struct loops section_loops(const unsigned char *section);

/* The block behind one that is over: the first of the innermost loop that ends there and is not over. */
uint32_t block_behind(struct loops *loops, uint32_t block);

/* What a section asks for; 0, or -1 when it is more than any rank has. */
int section_demands(const unsigned char *section, struct demands *demands, struct mistake *mistake);

#endif
