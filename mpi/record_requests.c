/* Wrappers of what completes requests, and of what looks for messages. */
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

/* Handles as they were before the call of a thread, and room for what is known of each afterwards. */
static _Thread_local struct {
    MPI_Request *handles;
    MPI_Status *statuses;
    int size;
} scratch __attribute__((tls_model("initial-exec")));

static void make_scratch(int count, const MPI_Request *handles) {
    if (count > scratch.size) {
        size_t size = (size_t)count;
        scratch.handles = realloc(scratch.handles, size * sizeof *scratch.handles);
        scratch.statuses = realloc(scratch.statuses, size * sizeof *scratch.statuses);
        if (!scratch.handles || !scratch.statuses) {
            PMPI_Abort(MPI_COMM_WORLD, 3);
        }
        scratch.size = count;
    }
    if (count > 0) {
        memcpy(scratch.handles, handles, (size_t)count * sizeof *handles);
    }
}

static void put_completed(MPI_Request handle, struct request *request, const MPI_Status *status) {
    int is_cancelled = 0;
    if (request->is_receive) {
        PMPI_Test_cancelled(status, &is_cancelled);
    }
    record_put(request->number + 1);
    record_put((uint64_t)(request->is_receive + is_cancelled));
    if (request->is_receive && !is_cancelled) {
        record_put((uint64_t)request->members->worlds[status->MPI_SOURCE]);
        record_put((uint64_t)status->MPI_TAG);
        record_put((uint64_t)status_bytes(status));
    }
    request->is_active = 0;
    if (!request->is_persistent) {
        request_remove(handle);
    }
}

/* Requests at `indices` of the scratch are complete, all of them without a list. Those to nobody are not known, and
   persistent ones may be inactive. */
static void completed(const struct call *call, int count, const int *indices, const MPI_Status *statuses) {
    record_begin(RECORD_COMPLETE, call);
    for (int at = 0; at < count; at++) {
        MPI_Request handle = scratch.handles[indices ? indices[at] : at];
        struct request *request = request_find(handle);
        int is_complete = call->code == MPI_SUCCESS || statuses[at].MPI_ERROR == MPI_SUCCESS;
        if (request && request->is_active && is_complete) {
            put_completed(handle, request, &statuses[at]);
        }
    }
    record_put(0);
    record_end();
}

/* Whether some requests of a list failed: then each status says whether its request is complete. */
static int has_failed_in_part(struct call *call) {
    int class = MPI_SUCCESS;
    if (call->is_recorded && call->code != MPI_SUCCESS) {
        PMPI_Error_class(call->code, &class);
        call->entry_ns = call->exit_ns;
    }
    return class == MPI_ERR_IN_STATUS;
}

WRAPPER(Wait, (MPI_Request *request, MPI_Status *status), (request, status)) {
    MPI_Status own;
    make_scratch(1, request);
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(Wait)(request, status);
    if (call_leave(&call)) {
        completed(&call, 1, NULL, status);
    }
    return call_return(&call);
}

WRAPPER(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses)) {
    make_scratch(count, requests);
    struct call call = call_enter(__func__);
    statuses = statuses == MPI_STATUSES_IGNORE ? scratch.statuses : statuses;
    call.code = REAL(Waitall)(count, requests, statuses);
    if (call_leave(&call) || has_failed_in_part(&call)) {
        completed(&call, count, NULL, statuses);
    }
    return call_return(&call);
}

WRAPPER(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status),
        (count, requests, index, status)) {
    MPI_Status own;
    make_scratch(count, requests);
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(Waitany)(count, requests, index, status);
    if (call_leave(&call)) {
        completed(&call, *index != MPI_UNDEFINED, index, status);
    }
    return call_return(&call);
}

WRAPPER(Waitsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
        (count, requests, done, indices, statuses)) {
    make_scratch(count, requests);
    struct call call = call_enter(__func__);
    statuses = statuses == MPI_STATUSES_IGNORE ? scratch.statuses : statuses;
    call.code = REAL(Waitsome)(count, requests, done, indices, statuses);
    if (call_leave(&call) || has_failed_in_part(&call)) {
        completed(&call, *done == MPI_UNDEFINED ? 0 : *done, indices, statuses);
    }
    return call_return(&call);
}

/* Tests without success leave no record, and those with success take no time: all of it counts as computation, during
   which messages go on. Programs that poll would be slowed down by clocks. */
WRAPPER(Test, (MPI_Request *request, int *is_done, MPI_Status *status), (request, is_done, status)) {
    MPI_Status own;
    make_scratch(1, request);
    struct call call = poll_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(Test)(request, is_done, status);
    if (poll_leave(&call, *is_done && scratch.handles[0] != MPI_REQUEST_NULL)) {
        completed(&call, 1, NULL, status);
    }
    return call_return(&call);
}

WRAPPER(Testall, (int count, MPI_Request requests[], int *is_done, MPI_Status statuses[]),
        (count, requests, is_done, statuses)) {
    make_scratch(count, requests);
    struct call call = poll_enter(__func__);
    statuses = statuses == MPI_STATUSES_IGNORE ? scratch.statuses : statuses;
    call.code = REAL(Testall)(count, requests, is_done, statuses);
    if (poll_leave(&call, *is_done) || has_failed_in_part(&call)) {
        completed(&call, count, NULL, statuses);
    }
    return call_return(&call);
}

WRAPPER(Testany, (int count, MPI_Request requests[], int *index, int *is_done, MPI_Status *status),
        (count, requests, index, is_done, status)) {
    MPI_Status own;
    make_scratch(count, requests);
    struct call call = poll_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(Testany)(count, requests, index, is_done, status);
    if (poll_leave(&call, *is_done && *index != MPI_UNDEFINED)) {
        completed(&call, 1, index, status);
    }
    return call_return(&call);
}

WRAPPER(Testsome, (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
        (count, requests, done, indices, statuses)) {
    make_scratch(count, requests);
    struct call call = poll_enter(__func__);
    statuses = statuses == MPI_STATUSES_IGNORE ? scratch.statuses : statuses;
    call.code = REAL(Testsome)(count, requests, done, indices, statuses);
    if (poll_leave(&call, *done != MPI_UNDEFINED && *done > 0) || has_failed_in_part(&call)) {
        completed(&call, *done, indices, statuses);
    }
    return call_return(&call);
}

WRAPPER(Request_free, (MPI_Request *request), (request)) {
    MPI_Request handle = *request;
    struct call call = call_enter(__func__);
    call.code = REAL(Request_free)(request);
    if (call_leave(&call)) {
        struct request *freed = request_find(handle);
        record_begin(freed && freed->is_active ? RECORD_FREE : RECORD_OTHER, &call);
        if (freed && freed->is_active) {
            record_put(freed->number);
        }
        request_remove(handle);
        record_end();
    }
    return call_return(&call);
}

/* A probe waits for a message that the receive after it takes. */
WRAPPER(Probe, (int source, int tag, MPI_Comm comm, MPI_Status *status), (source, tag, comm, status)) {
    struct call call = call_enter(__func__);
    call.code = REAL(Probe)(source, tag, comm, status);
    record_other(&call);
    return call_return(&call);
}
