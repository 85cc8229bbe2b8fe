/* Wrappers of messages with counts of the type COUNT, whose names are SIZED(NAME): see record_messages.c. */
SEND(SIZED(Send), MODE_STANDARD)
SEND(SIZED(Ssend), MODE_SYNCHRONOUS)
SEND(SIZED(Rsend), MODE_READY)
SEND(SIZED(Bsend), MODE_BUFFERED)
SEND_REQUEST(SIZED(Isend), MODE_STANDARD, posted)
SEND_REQUEST(SIZED(Issend), MODE_SYNCHRONOUS, posted)
SEND_REQUEST(SIZED(Irsend), MODE_READY, posted)
SEND_REQUEST(SIZED(Ibsend), MODE_BUFFERED, posted)
SEND_REQUEST(SIZED(Send_init), MODE_STANDARD, prepared)
SEND_REQUEST(SIZED(Ssend_init), MODE_SYNCHRONOUS, prepared)
SEND_REQUEST(SIZED(Rsend_init), MODE_READY, prepared)
SEND_REQUEST(SIZED(Bsend_init), MODE_BUFFERED, prepared)
RECEIVE_REQUEST(SIZED(Irecv), posted)
RECEIVE_REQUEST(SIZED(Recv_init), prepared)

WRAPPER(SIZED(Recv),
        (void *buffer, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status),
        (buffer, count, type, peer, tag, comm, status)) {
    MPI_Status own;
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(SIZED(Recv))(buffer, count, type, peer, tag, comm, status);
    if (call_leave(&call)) {
        received(&call, comm, status, NULL);
    }
    return call_return(&call);
}

WRAPPER(SIZED(Sendrecv),
        (const void *sent_buffer, COUNT sent_count, MPI_Datatype sent_type, int to, int sent_tag, void *buffer,
         COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status *status),
        (sent_buffer, sent_count, sent_type, to, sent_tag, buffer, count, type, from, tag, comm, status)) {
    MPI_Status own;
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(SIZED(Sendrecv))(sent_buffer, sent_count, sent_type, to, sent_tag, buffer, count, type, from, tag,
                                      comm, status);
    if (call_leave(&call)) {
        received(&call, comm, status, &(struct message){to, sent_tag, type_bytes(sent_count, sent_type), comm, NULL});
    }
    return call_return(&call);
}

WRAPPER(SIZED(Sendrecv_replace),
        (void *buffer, COUNT count, MPI_Datatype type, int to, int sent_tag, int from, int tag, MPI_Comm comm,
         MPI_Status *status),
        (buffer, count, type, to, sent_tag, from, tag, comm, status)) {
    MPI_Status own;
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(SIZED(Sendrecv_replace))(buffer, count, type, to, sent_tag, from, tag, comm, status);
    if (call_leave(&call)) {
        received(&call, comm, status, &(struct message){to, sent_tag, type_bytes(count, type), comm, NULL});
    }
    return call_return(&call);
}

WRAPPER(SIZED(Mrecv), (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
        (buffer, count, type, message, status)) {
    MPI_Status own;
    MPI_Message handle = *message;
    struct call call = call_enter(__func__);
    status = status == MPI_STATUS_IGNORE ? &own : status;
    call.code = REAL(SIZED(Mrecv))(buffer, count, type, message, status);
    if (call_leave(&call)) {
        struct matched *matched = take_matched(handle);
        record_begin(matched ? RECORD_RECEIVE : RECORD_OTHER, &call);
        if (matched) {
            put_received(matched->members, status);
            drop_matched(matched);
        }
        record_end();
    }
    return call_return(&call);
}

WRAPPER(SIZED(Imrecv), (void *buffer, COUNT count, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
        (buffer, count, type, message, request)) {
    MPI_Message handle = *message;
    struct call call = call_enter(__func__);
    call.code = REAL(SIZED(Imrecv))(buffer, count, type, message, request);
    if (call_leave(&call)) {
        struct matched *matched = take_matched(handle);
        if (matched) {
            int64_t bytes = type_bytes(count, type);
            struct message posted = {matched->peer, matched->tag, bytes, MPI_COMM_NULL, matched->members};
            begun(&call, &posted, -1, request_add(*request, request_of(&posted, -1, 0))->number);
            drop_matched(matched);
        } else {
            record_begin(RECORD_OTHER, &call);
            record_end();
        }
    }
    return call_return(&call);
}

#if MPI_VERSION >= 4
UNSUPPORTED(SIZED(Isendrecv),
            (const void *sent, COUNT sent_count, MPI_Datatype sent_type, int to, int sent_tag, void *buffer,
             COUNT count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request *request),
            (sent, sent_count, sent_type, to, sent_tag, buffer, count, type, from, tag, comm, request))
UNSUPPORTED(SIZED(Isendrecv_replace),
            (void *buffer, COUNT count, MPI_Datatype type, int to, int sent_tag, int from, int tag, MPI_Comm comm,
             MPI_Request *request),
            (buffer, count, type, to, sent_tag, from, tag, comm, request))
#endif
