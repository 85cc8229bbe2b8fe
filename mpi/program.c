#include "program.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clocks.h"

void give_up(int code, const char *form, ...) {
    va_list words;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "executor, rank %d: ", rank);
    va_start(words, form);
    vfprintf(stderr, form, words);
    va_end(words);
    fputc('\n', stderr);
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

void *memory(size_t count, size_t size) {
    size_t bytes = count > 0 && size > 0 ? count * size : 1;
    if (size > 0 && count > SIZE_MAX / size) {
        bytes = SIZE_MAX;
    }
    void *place = malloc(bytes);
    if (!place) {
        give_up(EXIT_PLACE, "no memory of %zu bytes", bytes);
    }
    memset(place, 0, bytes);
    return place;
}

static struct op compiled(const unsigned char *op) {
    uint32_t kind = read_u32(op) & 0xff;
    uint64_t amount = read_u64(op + 8);
    int is_rest = kind == OP_COMPUTE || kind == OP_SLEEP;
    struct op made = {
        .kind = (int32_t)kind,
        .peer = (int32_t)read_u32(op + 4),
        .tag = (int32_t)(read_u32(op) >> 8),
        .bytes = is_rest ? 0 : (int32_t)amount,
        .rest_ns = is_rest ? (int64_t)(amount / 1000 + (amount % 1000 >= 500)) : 0,
    };
    return made;
}

static const unsigned char *compile_block(struct block *block, const unsigned char *at) {
    uint32_t flags = read_u32(at);
    block->is_measured = (flags & BLOCK_MEASURED) != 0;
    block->is_warm_up = (flags & BLOCK_WARM_UP) != 0;
    block->repeat = read_u32(at + 4);
    block->count = read_u32(at + 8);
    block->ops = memory(block->count, sizeof *block->ops);
    for (uint32_t index = 0; index < block->count; index++) {
        block->ops[index] = compiled(at + 16 + (size_t)index * SCHEDULE_OP_BYTES);
    }
    return at + 16 + (size_t)block->count * SCHEDULE_OP_BYTES;
}

static size_t clamped(uint64_t wanted, uint64_t least) {
    uint64_t most = least > BUFFER_MAX ? least : BUFFER_MAX;
    return (size_t)(wanted < most ? wanted : most);
}

void program_make(struct program *program, const struct schedule *schedule, const unsigned char *section, MPI_Comm comm,
                  int is_verified) {
    struct demands demands;
    struct mistake mistake;
    if (section_demands(section, &demands, &mistake) != 0) {
        give_up(EXIT_SCHEDULE, "%s", mistake.text);
    }
    *program = (struct program){.comm = comm, .is_verified = is_verified, .ranks = (int)schedule->ranks};
    program->block_count = read_u32(section);
    program->blocks = memory(program->block_count, sizeof *program->blocks);
    const unsigned char *at = section + 8;
    for (uint32_t index = 0; index < program->block_count; index++) {
        at = compile_block(&program->blocks[index], at);
    }
    program->loops = section_loops(section);
    if (!program->loops.list) {
        give_up(EXIT_PLACE, "no memory for %u loops", program->loops.count);
    }
    program->send_buffer = memory((size_t)demands.message_bytes_max, 1);
    program->receive_bytes = clamped(demands.receive_bytes_max, demands.message_bytes_max);
    program->receive_buffer = memory(program->receive_bytes, 1);
    program->requests = memory((size_t)demands.requests_max, sizeof *program->requests);
    if (is_verified) {
        program->expected = memory((size_t)demands.requests_max, sizeof *program->expected);
        program->statuses = memory((size_t)demands.requests_max, sizeof *program->statuses);
    }
    program->row_max = demands.rows;
    program->rows = memory((size_t)demands.rows, sizeof *program->rows);
    program->sent = memory(schedule->ranks, sizeof *program->sent);
    program->received = memory(schedule->ranks, sizeof *program->received);
}

static void compute(int64_t rest_ns) {
    int64_t until_ns = now_ns() + rest_ns;
    while (now_ns() < until_ns) {
    }
}

static void sleep_for(int64_t rest_ns) {
    struct timespec rest = {.tv_sec = (time_t)(rest_ns / 1000000000), .tv_nsec = (long)(rest_ns % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) != 0) {
    }
}

/* What has come must be what the program expects. */
static void verify(struct program *program) {
    for (int index = 0; index < program->open; index++) {
        int bytes = 0;
        if (program->expected[index] < 0) {
            continue;
        }
        MPI_Get_count(&program->statuses[index], MPI_BYTE, &bytes);
        if (bytes != program->expected[index]) {
            give_up(EXIT_WRONG, "%d bytes from rank %d of the job; expected %d", bytes,
                    program->statuses[index].MPI_SOURCE, program->expected[index]);
        }
    }
}

static void wait_all(struct program *program) {
    if (program->is_verified) {
        MPI_Waitall(program->open, program->requests, program->statuses);
        verify(program);
    } else {
        MPI_Waitall(program->open, program->requests, MPI_STATUSES_IGNORE);
    }
    program->open = 0;
    program->receive_at = 0;
}

static void count(struct count *count, const struct op *op) {
    count->messages++;
    count->bytes += (uint64_t)op->bytes;
}

static void isend(struct program *program, const struct op *op) {
    if (program->is_verified) {
        program->expected[program->open] = -1;
    }
    MPI_Isend(program->send_buffer, op->bytes, MPI_BYTE, op->peer, op->tag, program->comm,
              &program->requests[program->open++]);
    count(&program->sent[op->peer], op);
}

static void irecv(struct program *program, const struct op *op) {
    /* Receives that are open at once have a place each, as long as there is room. */
    if (program->receive_bytes - program->receive_at < (size_t)op->bytes) {
        program->receive_at = 0;
    }
    if (program->is_verified) {
        program->expected[program->open] = op->bytes;
    }
    MPI_Irecv(program->receive_buffer + program->receive_at, op->bytes, MPI_BYTE, op->peer, op->tag, program->comm,
              &program->requests[program->open++]);
    program->receive_at += (size_t)op->bytes;
    count(&program->received[op->peer], op);
}

static void run_block(struct program *program, const struct block *block) {
    const struct op *end = block->ops + block->count;
    for (uint32_t pass = 0; pass < block->repeat; pass++) {
        for (const struct op *op = block->ops; op < end; op++) {
            switch (op->kind) {
            case OP_ISEND:
                isend(program, op);
                break;
            case OP_IRECV:
                irecv(program, op);
                break;
            case OP_WAIT_ALL:
                wait_all(program);
                break;
            case OP_COPY:
                memcpy(program->receive_buffer, program->send_buffer, (size_t)op->bytes);
                break;
            case OP_COMPUTE:
                compute(op->rest_ns);
                break;
            case OP_SLEEP:
                sleep_for(op->rest_ns);
                break;
            case OP_ITERATION_START:
                program->start_ns = now_ns();
                break;
            case OP_ITERATION_END:
                if (block->is_measured && program->row_count < program->row_max) {
                    program->rows[program->row_count++] = (struct row){program->start_ns, now_ns() - program->start_ns};
                }
                break;
            }
        }
    }
}

void program_run(struct program *program, int is_warm_up) {
    uint32_t index = 0;
    while (index < program->block_count) {
        int is_own = program->blocks[index].is_warm_up == is_warm_up;
        if (is_own) {
            run_block(program, &program->blocks[index]);
        }
        /* No loop has blocks of both. */
        index = is_own ? block_behind(&program->loops, index) : index + 1;
    }
    wait_all(program);
    if (is_warm_up) {
        memset(program->sent, 0, (size_t)program->ranks * sizeof *program->sent);
        memset(program->received, 0, (size_t)program->ranks * sizeof *program->received);
    }
}
