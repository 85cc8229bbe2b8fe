/* Wrappers of messages between two ranks. */
#include <stdlib.h>

#include "recorder.h"

enum mode { MODE_STANDARD, MODE_SYNCHRONOUS, MODE_READY, MODE_BUFFERED };

/* Who sends what to whom. */
struct message {
    int peer, tag;
    int64_t bytes;
    MPI_Comm comm;
    struct communicator *members; /* known before a record of the message begins */
};

static void put_send(const struct message *message, int mode) {
    record_put((uint64_t)mode);
    record_put(message->members->number);
    record_put((uint64_t)message->members->worlds[message->peer]);
    record_put((uint64_t)message->tag);
    record_put((uint64_t)message->bytes);
}

static void put_received(const struct communicator *members, const MPI_Status *status) {
    record_put(members->number);
    record_put((uint64_t)members->worlds[status->MPI_SOURCE]);
    record_put((uint64_t)status->MPI_TAG);
    record_put((uint64_t)status_bytes(status));
}

static void sent(const struct call *call, struct message *message, int mode) {
    message->members = communicator_of(message->comm);
    if (message->peer == MPI_PROC_NULL) {
        record_begin(RECORD_OTHER, call);
    } else {
        record_begin(RECORD_SEND, call);
        put_send(message, mode);
    }
    record_end();
}

/* A number that may be a wildcard. */
static uint64_t or_any(int number, int any, uint64_t known) { return number == any ? 0 : known + 1; }

static void put_posted(const struct message *message) {
    uint64_t peer = message->peer == MPI_ANY_SOURCE ? 0 : (uint64_t)message->members->worlds[message->peer];
    record_put(message->members->number);
    record_put(or_any(message->peer, MPI_ANY_SOURCE, peer));
    record_put(or_any(message->tag, MPI_ANY_TAG, (uint64_t)message->tag));
    record_put((uint64_t)message->bytes);
}

/* An operation has begun; `mode` is -1 for a receive. */
static void begun(const struct call *call, const struct message *message, int mode, uint64_t number) {
    record_begin(mode < 0 ? RECORD_IRECEIVE : RECORD_ISEND, call);
    record_put(number);
    if (mode < 0) {
        put_posted(message);
    } else {
        put_send(message, mode);
    }
    record_end();
}

static struct request request_of(const struct message *message, int mode, int is_persistent) {
    return (struct request){request_number(), mode < 0,     is_persistent,  !is_persistent, mode,
                            message->peer,    message->tag, message->bytes, message->members};
}

static void posted(const struct call *call, struct message *message, int mode, MPI_Request handle) {
    message->members = communicator_of(message->comm);
    if (message->peer == MPI_PROC_NULL) {
        record_begin(RECORD_OTHER, call);
        record_end();
    } else {
        begun(call, message, mode, request_add(handle, request_of(message, mode, 0))->number);
    }
}

static void prepared(const struct call *call, struct message *message, int mode, MPI_Request handle) {
    record_begin(RECORD_OTHER, call);
    record_end();
    message->members = communicator_of(message->comm);
    request_add(handle, request_of(message, mode, 1));
}

/* A receive, and the message that the call sent too, if any. */
static void received(const struct call *call, MPI_Comm comm, const MPI_Status *status, struct message *message) {
    struct communicator *members = communicator_of(comm);
    int is_received = status->MPI_SOURCE != MPI_PROC_NULL;
    int is_sent = message && message->peer != MPI_PROC_NULL;
    enum record_kind both = is_received ? RECORD_SEND_RECEIVE : RECORD_SEND;
    enum record_kind one = is_received ? RECORD_RECEIVE : RECORD_OTHER;
    record_begin(is_sent ? both : one, call);
    if (is_sent) {
        message->members = members;
        put_send(message, MODE_STANDARD);
    }
    if (is_received) {
        put_received(members, status);
    }
    record_end();
}

/* Every start of a persistent request is an operation of its own. Requests that are not known are of collectives, or of
   messages in parts. */
static void started(struct call *call, int count, const MPI_Request *handles) {
    if (!call_leave(call)) {
        return;
    }
    struct call at_once = *call;
    at_once.entry_ns = call->exit_ns;
    int is_known = 1;
    for (int index = 0; index < count; index++) {
        struct request *request = request_find(handles[index]);
        is_known &= request != NULL;
        if (request && request->peer != MPI_PROC_NULL) {
            request->number = request_number();
            request->is_active = 1;
            struct message message = {request->peer, request->tag, request->bytes, MPI_COMM_NULL, request->members};
            begun(index == 0 ? call : &at_once, &message, request->mode, request->number);
        }
    }
    if (!is_known) {
        record_unsupported(&at_once, "MPI_Start of a persistent collective");
    }
}

WRAPPER(Start, (MPI_Request *request), (request)) {
    struct call call = call_enter(__func__);
    call.code = REAL(Start)(request);
    started(&call, 1, request);
    return call_return(&call);
}

WRAPPER(Startall, (int count, MPI_Request requests[]), (count, requests)) {
    struct call call = call_enter(__func__);
    call.code = REAL(Startall)(count, requests);
    started(&call, count, requests);
    return call_return(&call);
}

/* A message that a probe has set aside for a receive of its own. */
struct matched {
    MPI_Message handle;
    struct communicator *members;
    int peer, tag;
    struct matched *next;
};
static struct matched *all_matched;

static void keep_matched(MPI_Message handle, MPI_Comm comm, const MPI_Status *status) {
    struct matched *made = malloc(sizeof *made);
    if (!made) {
        PMPI_Abort(MPI_COMM_WORLD, 3);
        return;
    }
    *made = (struct matched){handle, communicator_of(comm), status->MPI_SOURCE, status->MPI_TAG, all_matched};
    communicator_hold(made->members);
    all_matched = made;
}

/* Takes one out of the list; none of a message from nobody. */
static struct matched *take_matched(MPI_Message handle) {
    for (struct matched **at = &all_matched; *at; at = &(*at)->next) {
        if ((*at)->handle == handle) {
            struct matched *found = *at;
            *at = found->next;
            return found;
        }
    }
    return NULL;
}

static void drop_matched(struct matched *matched) {
    communicator_release(matched->members);
    free(matched);
}

WRAPPER(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
        (source, tag, comm, message, status)) {
    MPI_Status own;
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(Mprobe)(source, tag, comm, message, status);
    record_other(&call);
    if (call.is_recorded && call.code == MPI_SUCCESS && status->MPI_SOURCE != MPI_PROC_NULL) {
        keep_matched(*message, comm, status);
    }
    return call_return(&call);
}

WRAPPER(Improbe, (int source, int tag, MPI_Comm comm, int *is_there, MPI_Message *message, MPI_Status *status),
        (source, tag, comm, is_there, message, status)) {
    MPI_Status own;
    struct call call = poll_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(Improbe)(source, tag, comm, is_there, message, status);
    if (poll_leave(&call, *is_there) && status->MPI_SOURCE != MPI_PROC_NULL) {
        keep_matched(*message, comm, status);
    }
    return call_return(&call);
}

#define SEND(NAME, MODE)                                                                                               \
    WRAPPER(NAME, (const void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm),              \
            (buffer, count, type, peer, tag, comm)) {                                                                  \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(buffer, count, type, peer, tag, comm);                                                  \
        if (call_leave(&call)) {                                                                                       \
            sent(&call, &(struct message){peer, tag, type_bytes(count, type), comm, NULL}, MODE);                      \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }

#define SEND_REQUEST(NAME, MODE, RECORDED)                                                                             \
    WRAPPER(NAME, (const void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,               \
                   MPI_Request *request),                                                                              \
            (buffer, count, type, peer, tag, comm, request)) {                                                         \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(buffer, count, type, peer, tag, comm, request);                                         \
        if (call_leave(&call)) {                                                                                       \
            RECORDED(&call, &(struct message){peer, tag, type_bytes(count, type), comm, NULL}, MODE, *request);        \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }

#define RECEIVE_REQUEST(NAME, RECORDED)                                                                                \
    WRAPPER(NAME, (void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,                     \
                   MPI_Request *request),                                                                              \
            (buffer, count, type, peer, tag, comm, request)) {                                                         \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(buffer, count, type, peer, tag, comm, request);                                         \
        if (call_leave(&call)) {                                                                                       \
            RECORDED(&call, &(struct message){peer, tag, type_bytes(count, type), comm, NULL}, -1, *request);          \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }

/* Every function with a count, and those of MPI 4 for large counts. */
#define COUNT int
#define SIZED(NAME) NAME
#include "sized_messages.h"
#if MPI_VERSION >= 4
#undef COUNT
#undef SIZED
#define COUNT MPI_Count
#define SIZED(NAME) NAME##_c
#include "sized_messages.h"

/* Messages in parts: what starts them sends nothing that is recorded, and is no persistent collective. */
static void partitioned(struct call *call, MPI_Comm comm, const MPI_Request *handle) {
    record_unsupported(call, call->name);
    if (call->is_recorded && call->code == MPI_SUCCESS) {
        struct request request = {.is_persistent = 1, .peer = MPI_PROC_NULL, .members = communicator_of(comm)};
        request_add(*handle, request);
    }
}

#define PARTITIONED(NAME, BUFFER)                                                                                      \
    WRAPPER(NAME, (BUFFER, int parts, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,            \
                   MPI_Info info, MPI_Request *request),                                                               \
            (buffer, parts, count, type, peer, tag, comm, info, request)) {                                            \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(buffer, parts, count, type, peer, tag, comm, info, request);                            \
        partitioned(&call, comm, request);                                                                             \
        return call_return(&call);                                                                                     \
    }

PARTITIONED(Psend_init, const void *buffer)
PARTITIONED(Precv_init, void *buffer)
#endif
