#include "schedule.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_BACKGROUND 1u
/* More are a slip of the pen: each is memory. */
#define REQUESTS_MAX (UINT64_C(1) << 24)
#define ROWS_MAX (UINT64_C(1) << 27)
/* MPI counts the bytes of a message in an int. */
#define MESSAGE_MAX ((uint64_t)INT_MAX)

/* Bytes, and how far they have been read. */
struct cursor {
    const unsigned char *bytes;
    size_t size, at;
    struct mistake *mistake;
};

unsigned char *file_contents(const char *name, size_t *size) {
    FILE *file = fopen(name, "rb");
    unsigned char *bytes = NULL;
    long length = -1;
    if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0) {
        rewind(file);
        bytes = malloc((size_t)length + 1);
        *size = bytes ? fread(bytes, 1, (size_t)length, file) : 0;
    }
    if (file) {
        fclose(file);
    }
    return bytes;
}

uint32_t read_u32(const unsigned char *at) {
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint64_t read_u64(const unsigned char *at) {
    return (uint64_t)read_u32(at) | (uint64_t)read_u32(at + 4) << 32;
}

static int wrong(struct mistake *mistake, size_t byte, const char *form, ...) {
    va_list words;
    va_start(words, form);
    mistake->byte = byte;
    vsnprintf(mistake->text, sizeof mistake->text, form, words);
    va_end(words);
    return -1;
}

/* Passes over `count` bytes; NULL when there are not so many. */
static const unsigned char *take(struct cursor *cursor, uint64_t count) {
    size_t left = cursor->size - cursor->at;
    if (count > left) {
        wrong(cursor->mistake, cursor->at, "the file ends after %zu bytes; expected %llu more", left,
              (unsigned long long)count);
        return NULL;
    }
    cursor->at += (size_t)count;
    return cursor->bytes + (cursor->at - (size_t)count);
}

/* Passes over a list and the zeros up to the next word of eight bytes. */
static const unsigned char *take_padded(struct cursor *cursor, uint64_t count) {
    const unsigned char *list = take(cursor, count);
    uint64_t padding = (8 - count % 8) % 8;
    const unsigned char *zeros = list ? take(cursor, padding) : NULL;
    for (uint64_t index = 0; zeros && index < padding; index++) {
        if (zeros[index] != 0) {
            wrong(cursor->mistake, cursor->at - (size_t)padding, "expected zeros");
            return NULL;
        }
    }
    return zeros ? list : NULL;
}

void schedule_open(const unsigned char *bytes, struct schedule *schedule) {
    schedule->bytes = bytes;
    schedule->is_background = (read_u32(bytes + 12) & FLAG_BACKGROUND) != 0;
    schedule->ranks = read_u32(bytes + 16);
    schedule->tags = read_u32(bytes + 20);
    schedule->streams = read_u32(bytes + 24);
    schedule->name_bytes = read_u32(bytes + 28);
    schedule->size = (size_t)read_u64(bytes + 32);
    schedule->start_ps = read_u64(bytes + 40);
    schedule->end_ps = read_u64(bytes + 48);
    schedule->warm_up_ps = read_u64(bytes + 56);
    schedule->name = bytes + SCHEDULE_HEADER_BYTES;
    schedule->tag_list = schedule->name + ((size_t)schedule->name_bytes + 7) / 8 * 8;
    schedule->stream_list = schedule->tag_list + ((size_t)schedule->tags * 4 + 7) / 8 * 8;
    schedule->offsets = schedule->stream_list + (size_t)schedule->streams * SCHEDULE_STREAM_BYTES;
}

struct stream schedule_stream(const struct schedule *schedule, uint32_t number) {
    const unsigned char *at = schedule->stream_list + (size_t)number * SCHEDULE_STREAM_BYTES;
    struct stream stream = {read_u32(at),      read_u32(at + 4),  read_u32(at + 8),
                            read_u32(at + 12), read_u64(at + 16), read_u64(at + 24)};
    return stream;
}

const unsigned char *schedule_section(const struct schedule *schedule, uint32_t rank, size_t *size) {
    uint64_t begin = read_u64(schedule->offsets + (size_t)rank * 8);
    *size = (size_t)(read_u64(schedule->offsets + (size_t)rank * 8 + 8) - begin);
    return schedule->bytes + begin;
}

static int check_header(struct cursor *cursor) {
    const unsigned char *header = take(cursor, SCHEDULE_HEADER_BYTES);
    if (!header) {
        return -1;
    }
    if (memcmp(header, "EWSCHED\n", 8) != 0) {
        return wrong(cursor->mistake, 0, "no schedule; expected one that Etherweave wrote");
    }
    if (read_u32(header + 8) != 1) {
        return wrong(cursor->mistake, 8, "version %u; expected 1", read_u32(header + 8));
    }
    if ((read_u32(header + 12) & ~FLAG_BACKGROUND) != 0) {
        return wrong(cursor->mistake, 12, "flags %#x; expected at most 0x1", read_u32(header + 12));
    }
    if (read_u64(header + 32) != cursor->size) {
        return wrong(cursor->mistake, 32, "a file of %llu bytes; expected %zu",
                     (unsigned long long)read_u64(header + 32), cursor->size);
    }
    return 0;
}

static int check_streams(const struct schedule *schedule, struct mistake *mistake) {
    for (uint32_t number = 0; number < schedule->streams; number++) {
        struct stream stream = schedule_stream(schedule, number);
        size_t byte = (size_t)(schedule->stream_list - schedule->bytes) + (size_t)number * SCHEDULE_STREAM_BYTES;
        if (stream.source >= schedule->ranks || stream.destination >= schedule->ranks ||
            stream.source == stream.destination) {
            return wrong(mistake, byte, "a stream from rank %u to %u; expected two of %u", stream.source,
                         stream.destination, schedule->ranks);
        }
        if (stream.outstanding == 0 || stream.bytes == 0) {
            return wrong(mistake, byte, "an empty stream; expected a window and messages of 1 or more");
        }
        if (stream.outstanding > REQUESTS_MAX) {
            return wrong(mistake, byte, "a window of %u messages; expected at most %llu", stream.outstanding,
                         (unsigned long long)REQUESTS_MAX);
        }
        if (stream.bytes > MESSAGE_MAX) {
            return wrong(mistake, byte, "a message of %llu bytes; MPI sends at most %llu",
                         (unsigned long long)stream.bytes, (unsigned long long)MESSAGE_MAX);
        }
        if (stream.messages == STREAM_ENDLESS && schedule->end_ps == 0 && !schedule->is_background) {
            return wrong(mistake, byte, "an endless stream; expected an end of the run, or a job in the background");
        }
    }
    return 0;
}

static int check_offsets(struct cursor *cursor, uint32_t ranks) {
    const unsigned char *offsets = take(cursor, ((uint64_t)ranks + 1) * 8);
    if (!offsets) {
        return -1;
    }
    uint64_t last = cursor->at;
    for (uint32_t index = 0; index <= ranks; index++) {
        uint64_t offset = read_u64(offsets + (size_t)index * 8);
        if (offset < last || offset > cursor->size || (index == 0 && offset != last)) {
            return wrong(cursor->mistake, (size_t)(offsets - cursor->bytes) + (size_t)index * 8,
                         "a section at byte %llu; expected %llu or more", (unsigned long long)offset,
                         (unsigned long long)last);
        }
        last = offset;
        if (index == UINT32_MAX) {
            break;
        }
    }
    return last == cursor->size ? 0 : wrong(cursor->mistake, cursor->at - 8, "expected the end of the file");
}

static int check_op(const unsigned char *op, size_t byte, const struct schedule *schedule, uint32_t rank,
                    struct mistake *mistake) {
    uint32_t kind = read_u32(op) & 0xff, place = read_u32(op) >> 8, peer = read_u32(op + 4);
    uint64_t amount = read_u64(op + 8);
    if (kind > OP_COPY) {
        return wrong(mistake, byte, "operation %u; expected one of 0 to 7", kind);
    }
    if (kind == OP_COPY && place == 0 && peer == 0) {
        return amount <= MESSAGE_MAX ? 0 : wrong(mistake, byte, "a copy of %llu bytes; a message has at most %llu",
                                                 (unsigned long long)amount, (unsigned long long)MESSAGE_MAX);
    }
    if (kind != OP_ISEND && kind != OP_IRECV) {
        int is_rest = kind == OP_COMPUTE || kind == OP_SLEEP;
        return place == 0 && peer == 0 && (is_rest || amount == 0)
                   ? 0
                   : wrong(mistake, byte, "a peer, a tag or an amount; expected none here");
    }
    if (peer >= schedule->ranks || peer == rank) {
        return wrong(mistake, byte, "peer %u of rank %u; expected another of %u", peer, rank, schedule->ranks);
    }
    if (place >= schedule->tags) {
        return wrong(mistake, byte, "tag %u; expected one of %u", place, schedule->tags);
    }
    return amount <= MESSAGE_MAX ? 0
                                 : wrong(mistake, byte, "a message of %llu bytes; MPI sends at most %llu",
                                         (unsigned long long)amount, (unsigned long long)MESSAGE_MAX);
}

static int check_block(struct cursor *cursor, const struct schedule *schedule, uint32_t rank, int *is_past) {
    size_t byte = cursor->at;
    const unsigned char *block = take(cursor, 16);
    if (!block) {
        return -1;
    }
    uint32_t flags = read_u32(block), count = read_u32(block + 8);
    int is_warm_up = (flags & BLOCK_WARM_UP) != 0;
    if ((flags & ~3u) != 0 || flags == 3 || (is_warm_up && *is_past)) {
        return wrong(cursor->mistake, byte, "flags %#x; expected the warm-up first and not measured", flags);
    }
    *is_past = !is_warm_up;
    if (read_u32(block + 4) == 0 || count == 0 || read_u32(block + 12) != 0) {
        return wrong(cursor->mistake, byte + 4, "an empty block; expected operations and repetitions");
    }
    const unsigned char *ops = take(cursor, (uint64_t)count * SCHEDULE_OP_BYTES);
    for (uint32_t index = 0; ops && index < count; index++) {
        size_t place = (size_t)index * SCHEDULE_OP_BYTES;
        if (check_op(ops + place, byte + 16 + place, schedule, rank, cursor->mistake) != 0) {
            return -1;
        }
    }
    return ops ? 0 : -1;
}

static int check_section(const struct schedule *schedule, uint32_t rank, struct mistake *mistake) {
    size_t size;
    const unsigned char *section = schedule_section(schedule, rank, &size);
    struct cursor cursor = {schedule->bytes, 0, (size_t)(section - schedule->bytes), mistake};
    cursor.size = cursor.at + size;
    const unsigned char *head = take(&cursor, 8);
    if (!head) {
        return -1;
    }
    uint32_t blocks = read_u32(head);
    if (read_u32(head + 4) != 0 || (blocks > 0 && schedule->streams > 0)) {
        return wrong(mistake, cursor.at - 8, "streams and programs; expected either");
    }
    int is_past = 0;
    for (uint32_t index = 0; index < blocks; index++) {
        if (check_block(&cursor, schedule, rank, &is_past) != 0) {
            return -1;
        }
    }
    struct demands demands;
    return cursor.at == cursor.size ? section_demands(section, &demands, mistake)
                                    : wrong(mistake, cursor.at, "expected the end of the section of rank %u", rank);
}

static int check_tags(const struct schedule *schedule, struct mistake *mistake) {
    for (uint32_t index = 1; index < schedule->tags; index++) {
        const unsigned char *tag = schedule->tag_list + (size_t)index * 4;
        if (read_u32(tag) <= read_u32(tag - 4)) {
            return wrong(mistake, (size_t)(tag - schedule->bytes), "tag %u; expected one above the last",
                         read_u32(tag));
        }
    }
    return 0;
}

int schedule_check(const unsigned char *bytes, size_t size, struct schedule *schedule, struct mistake *mistake) {
    struct cursor cursor = {bytes, size, 0, mistake};
    if (check_header(&cursor) != 0) {
        return -1;
    }
    schedule_open(bytes, schedule);
    if (!take_padded(&cursor, schedule->name_bytes) || !take_padded(&cursor, (uint64_t)schedule->tags * 4) ||
        !take(&cursor, (uint64_t)schedule->streams * SCHEDULE_STREAM_BYTES) ||
        check_offsets(&cursor, schedule->ranks) != 0 || check_tags(schedule, mistake) != 0 ||
        check_streams(schedule, mistake) != 0) {
        return -1;
    }
    for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
        if (check_section(schedule, rank, mistake) != 0) {
            return -1;
        }
    }
    return 0;
}

/* Requests and received bytes that are outstanding. */
struct open {
    uint64_t requests, bytes;
};

/* One repetition of a block; whether it waits. */
static int pass(const unsigned char *ops, uint32_t count, struct open *open, struct demands *demands) {
    int waits = 0;
    for (uint32_t index = 0; index < count; index++) {
        const unsigned char *op = ops + (size_t)index * SCHEDULE_OP_BYTES;
        uint32_t kind = read_u32(op) & 0xff;
        uint64_t amount = read_u64(op + 8);
        if (kind == OP_WAIT_ALL) {
            waits = 1;
            *open = (struct open){0, 0};
        } else if (kind == OP_ISEND || kind == OP_IRECV) {
            open->requests++;
            open->bytes += kind == OP_IRECV ? amount : 0;
        }
        if (kind == OP_ISEND || kind == OP_IRECV || kind == OP_COPY) {
            demands->message_bytes_max = amount > demands->message_bytes_max ? amount : demands->message_bytes_max;
        }
        demands->requests_max = open->requests > demands->requests_max ? open->requests : demands->requests_max;
        uint64_t received = kind == OP_COPY && amount > open->bytes ? amount : open->bytes;
        demands->receive_bytes_max = received > demands->receive_bytes_max ? received : demands->receive_bytes_max;
    }
    return waits;
}

static uint64_t iteration_ends(const unsigned char *ops, uint32_t count) {
    uint64_t ends = 0;
    for (uint32_t index = 0; index < count; index++) {
        ends += (read_u32(ops + (size_t)index * SCHEDULE_OP_BYTES) & 0xff) == OP_ITERATION_END;
    }
    return ends;
}

int section_demands(const unsigned char *section, struct demands *demands, struct mistake *mistake) {
    struct open open = {0, 0};
    const unsigned char *block = section + 8;
    *demands = (struct demands){0, 0, 0, 0};
    for (uint32_t left = read_u32(section); left > 0; left--) {
        uint32_t flags = read_u32(block), repeat = read_u32(block + 4), count = read_u32(block + 8);
        const unsigned char *ops = block + 16;
        struct open before = open;
        int waits = pass(ops, count, &open, demands);
        if (waits && repeat > 1) { /* The second repetition begins with what the first left open, as all later ones. */
            pass(ops, count, &open, demands);
        } else if (!waits) {
            uint64_t requests = open.requests - before.requests, bytes = open.bytes - before.bytes;
            open.requests = before.requests + requests * repeat;
            open.bytes = bytes > 0 && repeat > (UINT64_MAX / 2) / bytes ? UINT64_MAX / 2 : before.bytes + bytes * repeat;
            demands->requests_max = open.requests > demands->requests_max ? open.requests : demands->requests_max;
            demands->receive_bytes_max =
                open.bytes > demands->receive_bytes_max ? open.bytes : demands->receive_bytes_max;
        }
        if (demands->requests_max > REQUESTS_MAX) {
            return wrong(mistake, 0, "%llu requests outstanding at once; expected at most %llu",
                         (unsigned long long)demands->requests_max, (unsigned long long)REQUESTS_MAX);
        }
        demands->rows += flags & BLOCK_MEASURED ? iteration_ends(ops, count) * repeat : 0;
        if (demands->rows > ROWS_MAX) {
            return wrong(mistake, 0, "%llu iterations of a rank; expected at most %llu",
                         (unsigned long long)demands->rows, (unsigned long long)ROWS_MAX);
        }
        block = ops + (size_t)count * SCHEDULE_OP_BYTES;
    }
    return 0;
}
