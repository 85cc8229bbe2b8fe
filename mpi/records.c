#include "records.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 2, HOST_BYTES = MPI_MAX_PROCESSOR_NAME };

/* A row of iterations.bin: 32 bytes, little-endian as everything here. */
struct iteration {
    uint32_t job, rank, iteration, zero;
    int64_t start_ns, duration_ns;
};

/* What comes before a rank's lists. */
struct head {
    int64_t job, rank, rows, streams, messages;
    int64_t ahead_before_ns, error_before_ns, ahead_after_ns, error_after_ns, missed_ns, duration_ns;
    char host[HOST_BYTES];
};

/* Messages to and from a peer. */
struct exchange {
    int64_t peer;
    struct count sent, received;
};

/* A stream that ended here, its times from the agreed start on. */
struct arrival {
    int64_t source, number, messages, bytes, start_ns, end_ns;
};

/* All that a rank hands over. */
struct parcel {
    struct head head;
    struct iteration *iterations;
    struct exchange *exchanges;
    struct arrival *arrivals;
};

struct files {
    FILE *iterations, *ranks, *messages, *streams;
};

/* An instant of this rank's clock, counted from the agreed start. A clock that runs visibly faster or slower than that of
   rank 0 is corrected in proportion; a difference within what the two estimates may be wrong by is none. */
static int64_t since_start(const struct record *record, int64_t instant_ns) {
    int64_t drift_ns = record->after.ahead_ns - record->before.ahead_ns;
    int64_t span_ns = record->end_ns - record->start_ns, at_ns = instant_ns - record->start_ns;
    if (span_ns <= 0 || llabs(drift_ns) <= record->before.error_ns + record->after.error_ns) {
        return at_ns;
    }
    return at_ns - (int64_t)((double)drift_ns * ((double)at_ns / (double)span_ns));
}

static void pack_iterations(struct parcel *parcel, const struct record *record) {
    uint64_t count = record->program->row_count;
    parcel->iterations = memory((size_t)count, sizeof *parcel->iterations);
    for (uint64_t index = 0; index < count; index++) {
        const struct row *row = &record->program->rows[index];
        struct iteration made = {(uint32_t)record->job, (uint32_t)record->rank, (uint32_t)index, 0,
                                 since_start(record, row->start_ns), row->duration_ns};
        parcel->iterations[index] = made;
    }
    parcel->head.rows = (int64_t)count;
}

static void pack_exchanges(struct parcel *parcel, const struct record *record) {
    parcel->exchanges = memory((size_t)record->ranks, sizeof *parcel->exchanges);
    for (int peer = 0; peer < record->ranks; peer++) {
        struct exchange made = {peer, record->program->sent[peer], record->program->received[peer]};
        if (made.sent.messages + made.received.messages > 0) {
            parcel->exchanges[parcel->head.messages++] = made;
        }
    }
}

static void pack_streams(struct parcel *parcel, const struct record *record) {
    struct stream_row *rows = memory(record->streams->count, sizeof *rows);
    uint32_t count = streams_rows(record->streams, rows);
    parcel->arrivals = memory(count, sizeof *parcel->arrivals);
    for (uint32_t index = 0; index < count; index++) {
        const struct stream_row *row = &rows[index];
        struct arrival made = {row->source, row->number, (int64_t)row->messages, (int64_t)row->bytes,
                               since_start(record, row->start_ns), since_start(record, row->end_ns)};
        parcel->arrivals[index] = made;
    }
    parcel->head.streams = count;
    free(rows);
}

static struct parcel packed(const struct record *record) {
    struct parcel parcel = {.head = {.job = record->job,
                                     .rank = record->rank,
                                     .ahead_before_ns = record->before.ahead_ns,
                                     .error_before_ns = record->before.error_ns,
                                     .ahead_after_ns = record->after.ahead_ns,
                                     .error_after_ns = record->after.error_ns,
                                     .missed_ns = record->missed_ns,
                                     .duration_ns = record->end_ns - record->start_ns}};
    int length = 0;
    MPI_Get_processor_name(parcel.head.host, &length);
    pack_iterations(&parcel, record);
    pack_exchanges(&parcel, record);
    pack_streams(&parcel, record);
    return parcel;
}

/* In pieces that MPI can count. */
static void send(const void *list, size_t bytes) {
    for (size_t at = 0; at < bytes; at += BUFFER_MAX) {
        size_t piece = bytes - at < BUFFER_MAX ? bytes - at : BUFFER_MAX;
        MPI_Send((const unsigned char *)list + at, (int)piece, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void *receive(int source, int64_t count, size_t size) {
    unsigned char *list = memory((size_t)count, size);
    size_t bytes = (size_t)count * size;
    for (size_t at = 0; at < bytes; at += BUFFER_MAX) {
        size_t piece = bytes - at < BUFFER_MAX ? bytes - at : BUFFER_MAX;
        MPI_Recv(list + at, (int)piece, MPI_BYTE, source, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return list;
}

/* A rank sends when it is asked to: its lists do not crowd the memory of rank 0. */
static void hand_over(const struct parcel *parcel) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send(&parcel->head, sizeof parcel->head);
    send(parcel->iterations, (size_t)parcel->head.rows * sizeof *parcel->iterations);
    send(parcel->exchanges, (size_t)parcel->head.messages * sizeof *parcel->exchanges);
    send(parcel->arrivals, (size_t)parcel->head.streams * sizeof *parcel->arrivals);
}

static struct parcel taken_from(int source) {
    struct parcel parcel;
    MPI_Send(NULL, 0, MPI_BYTE, source, TAG, MPI_COMM_WORLD);
    struct head *head = receive(source, 1, sizeof *head);
    parcel.head = *head;
    free(head);
    parcel.iterations = receive(source, parcel.head.rows, sizeof *parcel.iterations);
    parcel.exchanges = receive(source, parcel.head.messages, sizeof *parcel.exchanges);
    parcel.arrivals = receive(source, parcel.head.streams, sizeof *parcel.arrivals);
    return parcel;
}

static FILE *opened(const char *directory, const char *name, const char *head) {
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "wb") : NULL;
    if (!file) {
        give_up(EXIT_PLACE, "%s/%s: %s", directory, name, strerror(errno));
    }
    fputs(head, file);
    return file;
}

static struct files open_files(const char *directory) {
    struct files files = {
        .iterations = opened(directory, "iterations.bin", ""),
        .ranks = opened(directory, "ranks.csv",
                        "job,rank,host,clock_ahead_ns,clock_error_ns,clock_ahead_after_ns,clock_error_after_ns,"
                        "start_missed_ns,duration_ns\n"),
        .messages = opened(directory, "messages.csv",
                           "job,rank,peer,sent_messages,sent_bytes,received_messages,received_bytes\n"),
        .streams = opened(directory, "streams.csv", "job,source,rank,stream,messages,bytes,start_ns,end_ns\n"),
    };
    return files;
}

static void close_files(struct files *files) {
    FILE *all[] = {files->iterations, files->ranks, files->messages, files->streams};
    for (size_t index = 0; index < sizeof all / sizeof *all; index++) {
        if (ferror(all[index]) | fclose(all[index])) {
            give_up(EXIT_PLACE, "results cannot be written: %s", strerror(errno));
        }
    }
}

/* A host's name as one field of a table. */
static void clean(char *host) {
    host[HOST_BYTES - 1] = '\0';
    for (; *host; host++) {
        *host = *host == ',' || *host == '"' || *host < ' ' ? '_' : *host;
    }
}

/* The rest of a line. */
static void write_numbers(FILE *file, const int64_t *numbers, size_t count) {
    for (size_t index = 0; index < count; index++) {
        fprintf(file, ",%" PRId64, numbers[index]);
    }
    fputc('\n', file);
}

static void write_parcel(struct files *files, struct parcel *parcel) {
    struct head *head = &parcel->head;
    clean(head->host);
    fwrite(parcel->iterations, sizeof *parcel->iterations, (size_t)head->rows, files->iterations);
    fprintf(files->ranks, "%" PRId64 ",%" PRId64 ",%s", head->job, head->rank, head->host);
    const int64_t times[] = {head->ahead_before_ns, head->error_before_ns, head->ahead_after_ns,
                             head->error_after_ns,  head->missed_ns,       head->duration_ns};
    write_numbers(files->ranks, times, sizeof times / sizeof *times);
    for (int64_t index = 0; index < head->messages; index++) {
        const struct exchange *with = &parcel->exchanges[index];
        const int64_t numbers[] = {head->rank,
                                   with->peer,
                                   (int64_t)with->sent.messages,
                                   (int64_t)with->sent.bytes,
                                   (int64_t)with->received.messages,
                                   (int64_t)with->received.bytes};
        fprintf(files->messages, "%" PRId64, head->job);
        write_numbers(files->messages, numbers, sizeof numbers / sizeof *numbers);
    }
    for (int64_t index = 0; index < head->streams; index++) {
        const struct arrival *one = &parcel->arrivals[index];
        const int64_t numbers[] = {one->source, head->rank,  one->number, one->messages,
                                   one->bytes,  one->start_ns, one->end_ns};
        fprintf(files->streams, "%" PRId64, head->job);
        write_numbers(files->streams, numbers, sizeof numbers / sizeof *numbers);
    }
}

static void drop(struct parcel *parcel) {
    free(parcel->iterations);
    free(parcel->exchanges);
    free(parcel->arrivals);
}

void records_write(const char *directory, const struct record *record) {
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    struct parcel parcel = packed(record);
    if (rank != 0) {
        hand_over(&parcel);
    } else {
        struct files files = open_files(directory);
        write_parcel(&files, &parcel);
        for (int source = 1; source < ranks; source++) {
            struct parcel theirs = taken_from(source);
            write_parcel(&files, &theirs);
            drop(&theirs);
        }
        close_files(&files);
    }
    drop(&parcel);
}
