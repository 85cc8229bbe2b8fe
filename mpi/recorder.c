#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clocks.h"

enum { VERSION = 1, BUFFER_BYTES = 1 << 20, NUMBER_BYTES = 10, TRIALS = 1000, EXIT_PLACE = 3 };
enum { NAME_BYTES = 4096, TEXT_MAX = 255 };

/* A communicator that has been used. */
struct communicator {
    MPI_Comm handle;
    uint64_t number;
    int size;
    int *worlds; /* of its members */
};

static struct {
    int depth, is_on;
    unsigned char bytes[BUFFER_BYTES + BUFFER_BYTES / 16];
    size_t used;
    int64_t last_ns; /* end of the last record */
    uint64_t records, cost_ns;
    int64_t ahead_ns;
    struct communicator *communicators;
    size_t communicator_count;
    uint64_t communicator_next;
} recorder;
/* Not open: -1. */
static int file = -1;

static void *grown(void *list, size_t bytes) {
    void *larger = realloc(list, bytes);
    if (!larger) {
        fputs("recorder: no memory\n", stderr);
        PMPI_Abort(MPI_COMM_WORLD, EXIT_PLACE);
    }
    return larger;
}

/* A file that cannot be written ends the recording, not the program. */
static void flush(void) {
    for (size_t at = 0; at < recorder.used && file >= 0;) {
        ssize_t written = write(file, recorder.bytes + at, recorder.used - at);
        if (written >= 0) {
            at += (size_t)written;
        } else if (errno != EINTR) {
            fprintf(stderr, "recorder: recording ends here: %s\n", strerror(errno));
            close(file);
            file = -1;
            recorder.is_on = 0;
        }
    }
    recorder.used = 0;
}

static void make_room(size_t bytes) {
    if (recorder.used + bytes > sizeof recorder.bytes) {
        flush();
    }
}

/* Seven bits in a byte, the lowest first (LEB128). */
void record_put(uint64_t number) {
    make_room(NUMBER_BYTES);
    for (; number > 127; number >>= 7) {
        recorder.bytes[recorder.used++] = (unsigned char)(number | 128);
    }
    recorder.bytes[recorder.used++] = (unsigned char)number;
}

static void put_text(const char *text) {
    size_t length = strnlen(text, TEXT_MAX);
    record_put(length);
    make_room(length);
    memcpy(recorder.bytes + recorder.used, text, length);
    recorder.used += length;
}

void record_begin(enum record_kind kind, const struct call *call) {
    make_room(1);
    recorder.bytes[recorder.used++] = (unsigned char)kind;
    record_put((uint64_t)(call->entry_ns - recorder.last_ns));
    record_put((uint64_t)(call->exit_ns - call->entry_ns));
    recorder.last_ns = call->exit_ns;
    recorder.records++;
}

/* Between calls only, so that a write to the file is no part of the program's time. */
void record_end(void) {
    if (recorder.used < BUFFER_BYTES) {
        return;
    }
    struct call pause = {now_ns(), 0, 1};
    flush();
    pause.exit_ns = now_ns();
    record_begin(RECORD_PAUSE, &pause);
}

struct call poll_enter(void) { return (struct call){0, 0, recorder.depth++ == 0 && recorder.is_on}; }

int poll_leave(struct call *call, int has_found) {
    recorder.depth--;
    if (call->is_recorded && has_found) {
        call->entry_ns = call->exit_ns = now_ns();
    }
    return call->is_recorded && has_found;
}

struct call call_enter(void) {
    struct call call = poll_enter();
    if (call.is_recorded) {
        call.entry_ns = now_ns();
    }
    return call;
}

int call_leave(struct call *call) {
    recorder.depth--;
    if (call->is_recorded) {
        call->exit_ns = now_ns();
    }
    return call->is_recorded;
}

void record_other(struct call *call) {
    if (call_leave(call)) {
        record_begin(RECORD_OTHER, call);
        record_end();
    }
}

void record_unsupported(struct call *call, const char *name) {
    if (call_leave(call)) {
        record_begin(RECORD_UNSUPPORTED, call);
        put_text(name);
        record_end();
    }
}

/* What a record costs [ns]: the mean of many that are not kept. */
static uint64_t record_cost_ns(void) {
    size_t used = recorder.used;
    uint64_t records = recorder.records;
    int64_t start_ns = now_ns(), last_ns = recorder.last_ns;
    for (int trial = 0; trial < TRIALS; trial++) {
        struct call call = {now_ns(), 0, 1};
        call.exit_ns = now_ns();
        recorder.last_ns = call.entry_ns;
        record_begin(RECORD_SEND, &call);
        record_put(communicator_number(MPI_COMM_WORLD));
        record_put(communicator_world(MPI_COMM_WORLD, 0));
        record_put(1);
        record_put(1 << 20);
        record_end();
        recorder.used = used;
    }
    recorder.records = records;
    recorder.last_ns = last_ns;
    return (uint64_t)(now_ns() - start_ns) / TRIALS;
}

static void put_fixed(uint64_t number, int bytes) {
    make_room(8);
    for (int at = 0; at < bytes; at++) {
        recorder.bytes[recorder.used++] = (unsigned char)(number >> 8 * at);
    }
}

static void put_head(struct offset offset) {
    char host[MPI_MAX_PROCESSOR_NAME], library[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank, ranks, length;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    PMPI_Get_processor_name(host, &length);
    PMPI_Get_library_version(library, &length);
    library[strcspn(library, ",\n")] = '\0';
    memcpy(recorder.bytes, "EWRECORD", 8);
    recorder.used = 8;
    put_fixed(VERSION, 4);
    put_fixed((uint64_t)rank, 4);
    put_fixed((uint64_t)ranks, 4);
    put_fixed(0, 4);
    put_fixed((uint64_t)(recorder.last_ns - offset.ahead_ns), 8);
    put_fixed((uint64_t)offset.error_ns, 8);
    put_text(host);
    put_text(library);
}

/* By calls that are not the program's. */
static struct offset compared_clocks(void) {
    recorder.depth++;
    struct offset offset = clock_offset(MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    recorder.depth--;
    return offset;
}

void recording_start(void) {
    const char *directory = getenv("ETHERWEAVE_RECORD");
    char name[NAME_BYTES];
    int rank;
    if (!directory) {
        return;
    }
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int length = snprintf(name, sizeof name, "%s/%d.ewr", directory, rank);
    file = length > 0 && length < NAME_BYTES ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;
    if (file < 0) {
        fprintf(stderr, "recorder: %s: %s\n", name, strerror(errno));
        PMPI_Abort(MPI_COMM_WORLD, EXIT_PLACE);
    }
    struct offset offset = compared_clocks();
    recorder.ahead_ns = offset.ahead_ns;
    recorder.last_ns = now_ns();
    put_head(offset);
    struct call pause = {recorder.last_ns, 0, 1};
    communicator_number(MPI_COMM_WORLD);
    recorder.cost_ns = record_cost_ns();
    requests_start();
    pause.exit_ns = now_ns();
    record_begin(RECORD_PAUSE, &pause);
    recorder.is_on = 1;
}

void recording_end(void) {
    struct call call = call_enter();
    if (call_leave(&call)) {
        int64_t drift_ns = compared_clocks().ahead_ns - recorder.ahead_ns;
        record_begin(RECORD_END, &call);
        record_put(recorder.records);
        record_put(recorder.cost_ns);
        record_put(drift_ns < 0 ? 2 * (uint64_t)-drift_ns - 1 : 2 * (uint64_t)drift_ns);
        recorder.is_on = 0;
        flush();
    }
    if (file >= 0 && close(file) != 0) {
        fprintf(stderr, "recorder: %s\n", strerror(errno));
    }
    file = -1;
}

static int *world_ranks(MPI_Comm comm, int size) {
    MPI_Group group, world;
    int *members = grown(NULL, (size_t)size * sizeof *members), *worlds = grown(NULL, (size_t)size * sizeof *worlds);
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int member = 0; member < size; member++) {
        members[member] = member;
    }
    PMPI_Group_translate_ranks(group, size, members, world, worlds);
    PMPI_Group_free(&group);
    PMPI_Group_free(&world);
    free(members);
    return worlds;
}

/* Its record stands before that of the call which uses it, and takes no time. */
static void put_communicator(const struct communicator *made) {
    struct call call = {recorder.last_ns, recorder.last_ns, 1};
    record_begin(RECORD_COMMUNICATOR, &call);
    record_put(made->number);
    record_put((uint64_t)made->size);
    for (int member = 0; member < made->size; member++) {
        record_put((uint64_t)made->worlds[member]);
    }
}

static struct communicator *known(MPI_Comm comm) {
    struct communicator *list = recorder.communicators;
    for (size_t index = 0; index < recorder.communicator_count; index++) {
        if (list[index].handle == comm) {
            return &list[index];
        }
    }
    size_t count = recorder.communicator_count++;
    recorder.communicators = grown(list, (count + 1) * sizeof *list);
    struct communicator *made = &recorder.communicators[count];
    *made = (struct communicator){comm, recorder.communicator_next++, 0, NULL};
    PMPI_Comm_size(comm, &made->size);
    made->worlds = world_ranks(comm, made->size);
    put_communicator(made);
    return made;
}

uint64_t communicator_number(MPI_Comm comm) { return known(comm)->number; }

uint64_t communicator_world(MPI_Comm comm, int rank) { return (uint64_t)known(comm)->worlds[rank]; }

int communicator_size(MPI_Comm comm) { return known(comm)->size; }

void communicator_forget(MPI_Comm comm) {
    for (size_t index = 0; index < recorder.communicator_count; index++) {
        if (recorder.communicators[index].handle == comm) {
            free(recorder.communicators[index].worlds);
            recorder.communicators[index] = recorder.communicators[--recorder.communicator_count];
            return;
        }
    }
}

int64_t type_bytes(int64_t count, MPI_Datatype type) {
    int bytes = 0;
    PMPI_Type_size(type, &bytes);
    return count * bytes;
}

int64_t status_bytes(const MPI_Status *status) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : bytes;
}
