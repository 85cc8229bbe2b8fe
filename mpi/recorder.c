#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clocks.h"

enum { VERSION = 1, BUFFER_BYTES = 1 << 20, NUMBER_BYTES = 10, TRIALS = 1000, EXIT_PLACE = 3 };
enum { NAME_BYTES = 4096, TEXT_MAX = 255 };
/* Where the head has the part of the time that the rank waited for a processor [ppm]. */
enum { WAITED_AT = 20, WAITED_BYTES = 4 };

static struct {
    int has_started, is_on;
    unsigned char bytes[BUFFER_BYTES + BUFFER_BYTES / 16];
    size_t used;
    int64_t last_ns; /* end of the last record */
    uint64_t records, cost_ns;
    int64_t ahead_ns;
    int64_t start_ns, waited_ns; /* when recording began, and how long the thread had waited for a processor then */
    struct communicator **communicators; /* whose handles are not freed */
    size_t communicator_count;
    uint64_t communicator_next;
} recorder;
/* Not open: -1. */
static int file = -1;
/* Calls that this thread is in: one of the program, and those that MPI makes in it. */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));
/* Whether a thread is in a call of the program or writes its record, and whether another one has been at the same time:
   records are of one thread at a time, and end then. */
static atomic_int is_inside, are_concurrent;

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
    struct call pause = {now_ns(), 0, 1, NULL, MPI_SUCCESS};
    flush();
    pause.exit_ns = now_ns();
    record_begin(RECORD_PAUSE, &pause);
}

struct call poll_enter(const char *name) {
    struct call call = {.name = name, .code = MPI_SUCCESS};
    if (depth++ > 0 || !recorder.is_on) {
        return call;
    }
    if (atomic_exchange_explicit(&is_inside, 1, memory_order_acquire)) {
        atomic_store_explicit(&are_concurrent, 1, memory_order_relaxed);
    }
    call.is_recorded = !atomic_load_explicit(&are_concurrent, memory_order_relaxed);
    return call;
}

int call_return(const struct call *call) {
    if (--depth == 0) {
        atomic_store_explicit(&is_inside, 0, memory_order_release);
    }
    return call->code;
}

/* What has failed may have left anything in the places of its results. */
static int has_failed(const struct call *call) {
    if (call->code == MPI_SUCCESS) {
        return 0;
    }
    char text[TEXT_MAX];
    snprintf(text, sizeof text, "%s that failed", call->name);
    record_begin(RECORD_UNSUPPORTED, call);
    put_text(text);
    record_end();
    return 1;
}

static int is_recorded(struct call *call) {
    call->is_recorded &= !atomic_load_explicit(&are_concurrent, memory_order_relaxed);
    return call->is_recorded;
}

int poll_leave(struct call *call, int has_found) {
    if (!is_recorded(call) || (!has_found && call->code == MPI_SUCCESS)) {
        return 0;
    }
    call->entry_ns = call->exit_ns = now_ns();
    return !has_failed(call);
}

struct call call_enter(const char *name) {
    struct call call = poll_enter(name);
    if (call.is_recorded) {
        call.entry_ns = now_ns();
    }
    return call;
}

int call_leave(struct call *call) {
    if (!is_recorded(call)) {
        return 0;
    }
    call->exit_ns = now_ns();
    return !has_failed(call);
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
        struct call call = {now_ns(), 0, 1, NULL, MPI_SUCCESS};
        call.exit_ns = now_ns();
        recorder.last_ns = call.entry_ns;
        record_begin(RECORD_SEND, &call);
        const struct communicator *world = communicator_of(MPI_COMM_WORLD);
        record_put(world->number);
        record_put((uint64_t)world->worlds[0]);
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

/* How long this thread has been ready to run without a processor [ns]: the second number of schedstat (proc(5)); 0 where
   the kernel does not count it. */
static int64_t waited_ns(void) {
    long long used = 0, waited = 0;
    FILE *counts = fopen("/proc/thread-self/schedstat", "r");
    if (counts) {
        if (fscanf(counts, "%lld %lld", &used, &waited) != 2) {
            waited = 0;
        }
        fclose(counts);
    }
    return waited;
}

/* Into the head, whose place for it has 0 until the end. */
static void write_waited(int64_t waited, int64_t end_ns) {
    int64_t elapsed_ns = end_ns - recorder.start_ns;
    int64_t millionths = elapsed_ns > 0 ? (int64_t)(1e6 * (double)waited / (double)elapsed_ns) : 0;
    unsigned char bytes[WAITED_BYTES];
    for (int at = 0; at < WAITED_BYTES; at++) {
        bytes[at] = (unsigned char)(millionths >> 8 * at);
    }
    if (file >= 0 && pwrite(file, bytes, sizeof bytes, WAITED_AT) != (ssize_t)sizeof bytes) {
        fprintf(stderr, "recorder: %s\n", strerror(errno));
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
    depth++;
    struct offset offset = clock_offset(MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    depth--;
    return offset;
}

/* Opens the file of a rank, unless any rank finds one: that of a program which ran before, or which started this one. */
static int open_file(const char *directory) {
    char name[NAME_BYTES];
    int rank, is_there;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int length = snprintf(name, sizeof name, "%s/%d.ewr", directory, rank);
    file = length > 0 && length < NAME_BYTES ? open(name, O_WRONLY | O_CREAT | O_EXCL, 0666) : -1;
    is_there = file < 0 && errno == EEXIST;
    if (file < 0 && !is_there) {
        fprintf(stderr, "recorder: %s: %s\n", name, strerror(errno));
        PMPI_Abort(MPI_COMM_WORLD, EXIT_PLACE);
    }
    PMPI_Allreduce(MPI_IN_PLACE, &is_there, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (is_there && file >= 0) {
        close(file);
        unlink(name);
        file = -1;
    }
    if (is_there && rank == 0) {
        fprintf(stderr, "recorder: %s has the recording of another program, so this one is not recorded\n", directory);
    }
    return file >= 0;
}

void recording_start(void) {
    const char *directory = getenv("ETHERWEAVE_RECORD");
    if (!directory || !open_file(directory)) {
        return;
    }
    recorder.has_started = 1;
    struct offset offset = compared_clocks();
    recorder.ahead_ns = offset.ahead_ns;
    recorder.last_ns = now_ns();
    put_head(offset);
    struct call pause = {recorder.last_ns, 0, 1, NULL, MPI_SUCCESS};
    communicator_of(MPI_COMM_WORLD);
    recorder.cost_ns = record_cost_ns();
    requests_start();
    /* The clock is read before the count here and after it at the end, so that no wait lies outside of the time. */
    recorder.start_ns = now_ns();
    recorder.waited_ns = waited_ns();
    pause.exit_ns = now_ns();
    record_begin(RECORD_PAUSE, &pause);
    recorder.is_on = 1;
}

void recording_end(void) {
    if (!recorder.has_started) {
        return;
    }
    /* On all ranks, whether or not the file of one could be written. */
    int64_t waited = waited_ns() - recorder.waited_ns;
    struct call call = {now_ns(), 0, 1, NULL, MPI_SUCCESS};
    int64_t drift_ns = compared_clocks().ahead_ns - recorder.ahead_ns;
    call.exit_ns = call.entry_ns;
    if (are_concurrent) {
        record_begin(RECORD_UNSUPPORTED, &call);
        put_text("calls of several threads at once");
    }
    if (recorder.is_on) {
        record_begin(RECORD_END, &call);
        record_put(recorder.records);
        record_put(recorder.cost_ns);
        record_put(drift_ns < 0 ? 2 * (uint64_t)-drift_ns - 1 : 2 * (uint64_t)drift_ns);
        recorder.is_on = 0;
        flush();
        write_waited(waited, call.entry_ns);
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
    struct call call = {recorder.last_ns, recorder.last_ns, 1, NULL, MPI_SUCCESS};
    record_begin(RECORD_COMMUNICATOR, &call);
    record_put(made->number);
    record_put((uint64_t)made->size);
    for (int member = 0; member < made->size; member++) {
        record_put((uint64_t)made->worlds[member]);
    }
}

struct communicator *communicator_of(MPI_Comm comm) {
    for (size_t index = 0; index < recorder.communicator_count; index++) {
        if (recorder.communicators[index]->handle == comm) {
            return recorder.communicators[index];
        }
    }
    size_t count = recorder.communicator_count++;
    recorder.communicators = grown(recorder.communicators, (count + 1) * sizeof *recorder.communicators);
    struct communicator *made = grown(NULL, sizeof *made);
    *made = (struct communicator){comm, recorder.communicator_next++, 0, NULL, 1};
    recorder.communicators[count] = made;
    PMPI_Comm_size(comm, &made->size);
    made->worlds = world_ranks(comm, made->size);
    put_communicator(made);
    return made;
}

void communicator_forget(MPI_Comm comm) {
    for (size_t index = 0; index < recorder.communicator_count; index++) {
        struct communicator *freed = recorder.communicators[index];
        if (freed->handle == comm) {
            recorder.communicators[index] = recorder.communicators[--recorder.communicator_count];
            communicator_release(freed);
            return;
        }
    }
}

void communicator_hold(struct communicator *members) { members->holders++; }

void communicator_release(struct communicator *members) {
    if (--members->holders == 0) {
        free(members->worlds);
        free(members);
    }
}

int64_t type_bytes(int64_t count, MPI_Datatype type) {
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return count * bytes;
}

int64_t status_bytes(const MPI_Status *status) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes < 0 ? 0 : bytes;
}
