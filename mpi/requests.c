#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

enum { SIZE_FIRST = 1024 };

/* Open addressing with linear probing; entries of one handle stay in the order in which they came. */
struct entry {
    MPI_Request handle;
    int is_used;
    struct request request;
};

static struct {
    struct entry *entries;
    size_t size, used; /* the size is a power of two */
    uint64_t next;
    MPI_Request shared; /* what MPI gives for an operation that is complete at once */
} table;

static struct entry *entries_of(size_t size) {
    struct entry *entries = calloc(size, sizeof *entries);
    if (!entries) {
        PMPI_Abort(MPI_COMM_WORLD, 3);
    }
    return entries;
}

void requests_start(void) {
    table.size = SIZE_FIRST;
    table.entries = entries_of(table.size);
    PMPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &table.shared);
    MPI_Request sent = table.shared;
    PMPI_Wait(&sent, MPI_STATUS_IGNORE);
}

uint64_t request_number(void) { return table.next++; }

/* Handles are pointers or numbers; Fibonacci hashing spreads either. */
static size_t home(MPI_Request handle) {
    uint64_t bits = 0;
    memcpy(&bits, &handle, sizeof handle);
    return (size_t)(bits * 0x9E3779B97F4A7C15u >> 32) & (table.size - 1);
}

static size_t next(size_t at) { return (at + 1) & (table.size - 1); }

static struct entry *put(MPI_Request handle, struct request request) {
    size_t at = home(handle);
    while (table.entries[at].is_used) {
        at = next(at);
    }
    table.entries[at] = (struct entry){handle, 1, request};
    table.used++;
    return &table.entries[at];
}

/* From the first free place on, so that what shares a handle keeps its order. */
static void grow(void) {
    struct entry *old = table.entries;
    size_t size = table.size, first = 0;
    table.size *= 2;
    table.used = 0;
    table.entries = entries_of(table.size);
    while (old[first].is_used) {
        first++;
    }
    for (size_t step = 0; step < size; step++) {
        const struct entry *entry = &old[(first + step) & (size - 1)];
        if (entry->is_used) {
            put(entry->handle, entry->request);
        }
    }
    free(old);
}

struct request *request_find(MPI_Request handle) {
    if (handle == MPI_REQUEST_NULL) {
        return NULL;
    }
    for (size_t at = home(handle); table.entries[at].is_used; at = next(at)) {
        if (table.entries[at].handle == handle) {
            return &table.entries[at].request;
        }
    }
    return NULL;
}

struct request *request_add(MPI_Request handle, struct request request) {
    struct request *stale = handle == table.shared ? NULL : request_find(handle);
    communicator_hold(request.members);
    if (stale) {
        communicator_release(stale->members);
        *stale = request;
        return stale;
    }
    if (2 * table.used >= table.size) {
        grow();
    }
    return &put(handle, request)->request;
}

/* Moves entries up that would not be found behind a gap. */
static void close_gap(size_t gap) {
    for (size_t at = next(gap); table.entries[at].is_used; at = next(at)) {
        size_t from_home = (at - home(table.entries[at].handle)) & (table.size - 1);
        if (from_home >= ((at - gap) & (table.size - 1))) {
            table.entries[gap] = table.entries[at];
            gap = at;
        }
    }
    table.entries[gap].is_used = 0;
}

void request_remove(MPI_Request handle) {
    struct request *found = request_find(handle);
    if (found) {
        communicator_release(found->members);
        struct entry *entry = (struct entry *)((unsigned char *)found - offsetof(struct entry, request));
        close_gap((size_t)(entry - table.entries));
        table.used--;
    }
}
