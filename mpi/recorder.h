/* A recorder of MPI programs, to be loaded before them (LD_PRELOAD): what a rank calls, and when. Wrappers call the
   program's MPI by its profiling interface (MPI 4.0, section 15.2).

   See docs/guide/record.md: how it is used, the layout of its files, what is not recorded. */
#ifndef ETHERWEAVE_RECORDER_H
#define ETHERWEAVE_RECORDER_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

/* What a record is about. */
enum record_kind {
    RECORD_END,
    RECORD_COMMUNICATOR,
    RECORD_PAUSE,       /* the recorder wrote to its file */
    RECORD_SEND,        /* ends when the call ends */
    RECORD_RECEIVE,
    RECORD_SEND_RECEIVE,
    RECORD_ISEND,       /* ends when its request is complete */
    RECORD_IRECEIVE,
    RECORD_COMPLETE,    /* of requests, by waiting or testing */
    RECORD_FREE,        /* of a request, which completes unseen */
    RECORD_COLLECTIVE,
    RECORD_ICOLLECTIVE,
    RECORD_OTHER,       /* takes time in MPI, and exchanges nothing that is recorded */
    RECORD_UNSUPPORTED, /* exchanges messages that are not recorded */
};

enum collective_kind {
    COLLECTIVE_BARRIER,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_BCAST,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_REDUCE,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_REDUCE_SCATTER_BLOCK,
    COLLECTIVE_SCAN,
    COLLECTIVE_EXSCAN,
    COLLECTIVE_GATHERV,
    COLLECTIVE_SCATTERV,
    COLLECTIVE_ALLGATHERV,
    COLLECTIVE_ALLTOALLV,
};

/* A call of the program. */
struct call {
    int64_t entry_ns, exit_ns;
    int is_recorded; /* 0 for calls that MPI makes itself, and before and after recording */
    const char *name;
    int code; /* what MPI returned */
};

/* A communicator that has been used. Requests keep it after the program has freed its handle. */
struct communicator {
    MPI_Comm handle;
    uint64_t number;
    int size;
    int *worlds;      /* ranks in the world of its members */
    uint64_t holders; /* the handle, and requests */
};

/* A request that has not been seen complete, or a persistent one. */
struct request {
    uint64_t number;
    int is_receive, is_persistent;
    int is_active; /* not of a persistent one before its start and after its completion */
    int mode;      /* of a send, -1 for a receive */
    int peer, tag; /* of a persistent one, in its communicator */
    int64_t bytes;
    struct communicator *members;
};

/* Starts and ends recording; between MPI_Init and MPI_Finalize. */
void recording_start(void);
void recording_end(void);

struct call call_enter(const char *name);
/* Takes the time of the exit; whether the call is recorded and did not fail. One that failed has its name recorded. */
int call_leave(struct call *call);
/* The same of a call that waits for nothing: no time, and a record only if it found something. */
struct call poll_enter(const char *name);
int poll_leave(struct call *call, int has_found);
/* The end of a wrapper, when its records are written; what MPI returned. */
int call_return(const struct call *call);

/* A record: its beginning, its numbers, its end. */
void record_begin(enum record_kind kind, const struct call *call);
void record_put(uint64_t number);
void record_end(void);

/* The end of a call that has a record without numbers, or with a name. */
void record_other(struct call *call);
void record_unsupported(struct call *call, const char *name);

/* The communicator of a handle; its first use writes its members. */
struct communicator *communicator_of(MPI_Comm comm);
/* The handle is free, and may come again for another communicator. */
void communicator_forget(MPI_Comm comm);
void communicator_hold(struct communicator *members);
void communicator_release(struct communicator *members);

int64_t type_bytes(int64_t count, MPI_Datatype type);
int64_t status_bytes(const MPI_Status *status);

/* A function of the libraries behind the recorder. */
void *function_of(const char *name);
/* Whether an address is in MPI's functions for Fortran. */
int is_from_fortran(const void *caller);

/* A wrapper: its name without MPI_, its parameters and their names, each in parentheses; its body follows. The function
   of MPI itself is REAL(NAME). The profiling name is called by functions for Fortran, and by MPI for messages of its
   own. */
#define WRAPPER(NAME, PARAMETERS, NAMES) WRAPPER_OF(NAME, PARAMETERS, NAMES)
#define WRAPPER_OF(NAME, PARAMETERS, NAMES)                                                                            \
    static __typeof__(&PMPI_##NAME) real_##NAME;                                                                       \
    __attribute__((constructor)) static void find_##NAME(void) {                                                       \
        *(void **)&real_##NAME = function_of("PMPI_" #NAME);                                                           \
    }                                                                                                                  \
    int PMPI_##NAME PARAMETERS {                                                                                       \
        return is_from_fortran(__builtin_return_address(0)) ? MPI_##NAME NAMES : real_##NAME NAMES;                    \
    }                                                                                                                  \
    int MPI_##NAME PARAMETERS
#define REAL(NAME) REAL_OF(NAME)
#define REAL_OF(NAME) real_##NAME

/* A wrapper of what exchanges messages that no record has: a replay refuses such a recording. */
#define UNSUPPORTED(NAME, PARAMETERS, NAMES)                                                                           \
    WRAPPER(NAME, PARAMETERS, NAMES) {                                                                                 \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME) NAMES;                                                                                  \
        record_unsupported(&call, call.name);                                                                          \
        return call_return(&call);                                                                                     \
    }

/* Requests by handle. Handles that MPI shares between operations that are complete at once have several entries. */
void requests_start(void);
struct request *request_add(MPI_Request handle, struct request request);
struct request *request_find(MPI_Request handle);
void request_remove(MPI_Request handle);
uint64_t request_number(void);

#endif
