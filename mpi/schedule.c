#include "schedule.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLAG_BACKGROUND 1u
/* Each loop is gone through twice. */
#define NESTED_MAX 8
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
    if (read_u32(header + 8) != 2) {
        return wrong(cursor->mistake, 8, "version %u; expected 2", read_u32(header + 8));
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

static const unsigned char *next_block(const unsigned char *block) {
    return block + 16 + (size_t)read_u32(block + 8) * SCHEDULE_OP_BYTES;
}

/* Whether one of the blocks from `first` up to `end` waits. */
static int waits(const unsigned char *section, uint32_t first, uint32_t end) {
    const unsigned char *block = section + 8;
    for (uint32_t index = 0; index < end; index++, block = next_block(block)) {
        for (uint32_t op = 0; index >= first && op < read_u32(block + 8); op++) {
            if ((read_u32(block + 16 + (size_t)op * SCHEDULE_OP_BYTES) & 0xff) == OP_WAIT_ALL) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether a loop stands behind or around those before it. `passes` of each is how many are within each other. */
static int is_nested(struct loop *one, const struct loop *before, uint32_t count) {
    uint32_t from = one->first;
    one->passes = 1;
    if (count > 0 && before[count - 1].end > one->end) {
        return 0;
    }
    for (uint32_t index = count; index > 0 && before[index - 1].end > from; index--) {
        if (before[index - 1].first < from) {
            return 0;
        }
        one->passes = before[index - 1].passes >= one->passes ? before[index - 1].passes + 1 : one->passes;
    }
    return one->passes <= NESTED_MAX;
}

/* `before` blocks are of the warm-up. */
static int check_loops(struct cursor *cursor, const unsigned char *section, uint32_t before) {
    uint32_t blocks = read_u32(section), count = read_u32(section + 4);
    size_t byte = cursor->at;
    if (!take(cursor, (uint64_t)count * SCHEDULE_LOOP_BYTES)) {
        return -1;
    }
    struct loops loops = section_loops(section);
    int found = loops.list ? 0 : wrong(cursor->mistake, byte, "%u loops; there is no memory for them", count);
    for (uint32_t index = 0; found == 0 && index < count; index++, byte += SCHEDULE_LOOP_BYTES) {
        struct loop *one = &loops.list[index];
        if (one->first >= one->end || one->end > blocks || one->times == 0 ||
            (one->first < before && one->end > before) || read_u32(cursor->bytes + byte + 12) != 0) {
            found = wrong(cursor->mistake, byte, "a loop of blocks %u to %u, %u times; expected some of %u",
                          one->first, one->end, one->times, blocks);
        } else if (!is_nested(one, loops.list, index)) {
            found = wrong(cursor->mistake, byte,
                          "a loop of blocks %u to %u; expected loops in order, apart or at most %d within each other",
                          one->first, one->end, NESTED_MAX);
        } else if (!waits(section, one->first, one->end)) {
            found = wrong(cursor->mistake, byte, "a loop without a wait; expected one in its blocks");
        }
    }
    free(loops.list);
    return found;
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
    uint32_t blocks = read_u32(head), before = 0;
    if (blocks > 0 && schedule->streams > 0) {
        return wrong(mistake, cursor.at - 8, "streams and programs; expected either");
    }
    int is_past = 0;
    for (uint32_t index = 0; index < blocks; index++) {
        if (check_block(&cursor, schedule, rank, &is_past) != 0) {
            return -1;
        }
        before += !is_past;
    }
    if (check_loops(&cursor, section, before) != 0) {
        return -1;
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

struct loops section_loops(const unsigned char *section) {
    struct loops loops = {NULL, read_u32(section + 4)};
    const unsigned char *at = section + 8;
    for (uint32_t left = read_u32(section); left > 0; left--) {
        at = next_block(at);
    }
    loops.list = calloc((size_t)loops.count + 1, sizeof *loops.list);
    for (uint32_t index = 0; loops.list && index < loops.count; index++, at += SCHEDULE_LOOP_BYTES) {
        loops.list[index] = (struct loop){read_u32(at), read_u32(at + 4), read_u32(at + 8), 0};
    }
    return loops;
}

uint32_t block_behind(struct loops *loops, uint32_t block) {
    for (uint32_t index = 0; index < loops->count; index++) {
        struct loop *one = &loops->list[index];
        if (one->end != block + 1) {
            continue;
        }
        if (++one->passes < one->times) {
            return one->first;
        }
        one->passes = 0;
    }
    return block + 1;
}

/* All repetitions of a block, of which two show what all ask for. */
static void demand(const unsigned char *block, struct open *open, struct demands *demands) {
    uint32_t repeat = read_u32(block + 4), count = read_u32(block + 8);
    struct open before = *open;
    int is_waiting = pass(block + 16, count, open, demands);
    if (is_waiting && repeat > 1) { /* The second repetition begins with what the first left open, as all later ones. */
        pass(block + 16, count, open, demands);
    } else if (!is_waiting) {
        uint64_t requests = open->requests - before.requests, bytes = open->bytes - before.bytes;
        open->requests = before.requests + requests * repeat;
        open->bytes = bytes > 0 && repeat > (UINT64_MAX / 2) / bytes ? UINT64_MAX / 2 : before.bytes + bytes * repeat;
        demands->requests_max = open->requests > demands->requests_max ? open->requests : demands->requests_max;
        demands->receive_bytes_max = open->bytes > demands->receive_bytes_max ? open->bytes : demands->receive_bytes_max;
    }
}

/* Measured iterations of a block, with the loops around it; more than ROWS_MAX when there are more. */
static uint64_t block_rows(const unsigned char *block, uint32_t number, const struct loops *loops) {
    if ((read_u32(block) & BLOCK_MEASURED) == 0) {
        return 0;
    }
    uint64_t rows = iteration_ends(block + 16, read_u32(block + 8)) * read_u32(block + 4);
    for (uint32_t index = 0; index < loops->count && rows <= ROWS_MAX; index++) {
        const struct loop *one = &loops->list[index];
        rows *= one->first <= number && number < one->end ? one->times : 1;
    }
    return rows;
}

/* Of the repetitions of loops, too, two show what all ask for: each waits. */
static void shorten(struct loops *loops) {
    for (uint32_t index = 0; index < loops->count; index++) {
        loops->list[index].times = loops->list[index].times > 2 ? 2 : loops->list[index].times;
    }
}

/* Places of the blocks of a section, to be freed. */
static const unsigned char **block_places(const unsigned char *section) {
    uint32_t count = read_u32(section);
    const unsigned char **places = calloc((size_t)count + 1, sizeof *places), *at = section + 8;
    for (uint32_t number = 0; places && number < count; number++, at = next_block(at)) {
        places[number] = at;
    }
    return places;
}

static int demands_of(const unsigned char *section, const unsigned char **blocks, struct loops *loops,
                      struct demands *demands, struct mistake *mistake) {
    uint32_t count = read_u32(section);
    struct open open = {0, 0};
    for (uint32_t number = 0; number < count && demands->rows <= ROWS_MAX; number++) {
        demands->rows += block_rows(blocks[number], number, loops);
    }
    if (demands->rows > ROWS_MAX) {
        return wrong(mistake, 0, "%llu iterations of a rank; expected at most %llu", (unsigned long long)demands->rows,
                     (unsigned long long)ROWS_MAX);
    }
    shorten(loops);
    for (uint32_t number = 0; number < count && demands->requests_max <= REQUESTS_MAX;) {
        demand(blocks[number], &open, demands);
        number = block_behind(loops, number);
    }
    if (demands->requests_max > REQUESTS_MAX) {
        return wrong(mistake, 0, "%llu requests outstanding at once; expected at most %llu",
                     (unsigned long long)demands->requests_max, (unsigned long long)REQUESTS_MAX);
    }
    return 0;
}

int section_demands(const unsigned char *section, struct demands *demands, struct mistake *mistake) {
    struct loops loops = section_loops(section);
    const unsigned char **blocks = block_places(section);
    *demands = (struct demands){0, 0, 0, 0};
    int found = loops.list && blocks ? demands_of(section, blocks, &loops, demands, mistake)
                                     : wrong(mistake, 0, "there is no memory for a program");
    free(loops.list);
    free(blocks);
    return found;
}
