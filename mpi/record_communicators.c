/* Wrappers of the beginning, the end and what makes communicators. Those are numbered in the order in which they are
   made, which all their members share. What they exchange meanwhile is not recorded. */
#include "recorder.h"

int MPI_Init(int *count, char ***words) {
    int code = PMPI_Init(count, words);
    recording_start();
    return code;
}

/* Records are of one thread at a time: MPI may provide less than is required. */
int MPI_Init_thread(int *count, char ***words, int required, int *provided) {
    required = required > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : required;
    int code = PMPI_Init_thread(count, words, required, provided);
    recording_start();
    return code;
}

int MPI_Finalize(void) {
    recording_end();
    return PMPI_Finalize();
}

static void made(struct call *call, MPI_Comm comm) {
    int is_recorded = call->is_recorded, is_inter = 0;
    record_other(call);
    if (is_recorded && comm != MPI_COMM_NULL) {
        PMPI_Comm_test_inter(comm, &is_inter);
        struct call at_once = call_enter();
        if (is_inter) {
            record_unsupported(&at_once, "an intercommunicator");
        } else if (call_leave(&at_once)) {
            communicator_number(comm);
        }
    }
}

#define MAKES(NAME, PARAMETERS, NAMES)                                                                                 \
    int MPI_##NAME(PARAMETERS, MPI_Comm *comm) {                                                                       \
        struct call call = call_enter();                                                                               \
        int code = PMPI_##NAME(NAMES, comm);                                                                           \
        made(&call, *comm);                                                                                            \
        return code;                                                                                                   \
    }
#define WORDS(...) __VA_ARGS__

MAKES(Comm_dup, MPI_Comm parent, parent)
MAKES(Comm_dup_with_info, WORDS(MPI_Comm parent, MPI_Info info), WORDS(parent, info))
MAKES(Comm_split, WORDS(MPI_Comm parent, int colour, int key), WORDS(parent, colour, key))
MAKES(Comm_split_type, WORDS(MPI_Comm parent, int type, int key, MPI_Info info), WORDS(parent, type, key, info))
MAKES(Comm_create, WORDS(MPI_Comm parent, MPI_Group group), WORDS(parent, group))
MAKES(Comm_create_group, WORDS(MPI_Comm parent, MPI_Group group, int tag), WORDS(parent, group, tag))
MAKES(Cart_create, WORDS(MPI_Comm parent, int axes, const int extents[], const int rings[], int reorder),
      WORDS(parent, axes, extents, rings, reorder))
MAKES(Cart_sub, WORDS(MPI_Comm parent, const int axes[]), WORDS(parent, axes))
MAKES(Graph_create, WORDS(MPI_Comm parent, int nodes, const int index[], const int edges[], int reorder),
      WORDS(parent, nodes, index, edges, reorder))
MAKES(Intercomm_create, WORDS(MPI_Comm local, int leader, MPI_Comm peers, int remote, int tag),
      WORDS(local, leader, peers, remote, tag))
MAKES(Intercomm_merge, WORDS(MPI_Comm parent, int is_high), WORDS(parent, is_high))

int MPI_Comm_free(MPI_Comm *comm) {
    struct call call = call_enter();
    if (call.is_recorded) {
        communicator_forget(*comm);
    }
    int code = PMPI_Comm_free(comm);
    record_other(&call);
    return code;
}

/* What exchanges messages that no record has: a replay refuses such a recording. */
#define UNSUPPORTED(NAME, PARAMETERS, NAMES)                                                                           \
    int MPI_##NAME(PARAMETERS) {                                                                                       \
        struct call call = call_enter();                                                                               \
        int code = PMPI_##NAME(NAMES);                                                                                 \
        record_unsupported(&call, "MPI_" #NAME);                                                                       \
        return code;                                                                                                   \
    }

UNSUPPORTED(Win_create,
            WORDS(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
            WORDS(base, bytes, unit, info, comm, window))
UNSUPPORTED(Win_allocate,
            WORDS(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            WORDS(bytes, unit, info, comm, base, window))
UNSUPPORTED(Win_create_dynamic, WORDS(MPI_Info info, MPI_Comm comm, MPI_Win *window), WORDS(info, comm, window))
UNSUPPORTED(Neighbor_allgather,
            WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, int count, MPI_Datatype type,
                  MPI_Comm comm),
            WORDS(sent, sent_count, sent_type, buffer, count, type, comm))
UNSUPPORTED(Neighbor_alltoall,
            WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, int count, MPI_Datatype type,
                  MPI_Comm comm),
            WORDS(sent, sent_count, sent_type, buffer, count, type, comm))
