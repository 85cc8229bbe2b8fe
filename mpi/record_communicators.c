/* Wrappers of the beginning, the end and what makes communicators. Those are numbered in the order in which they are
   made, which all their members share. What they exchange meanwhile is not recorded. */
#include "recorder.h"

int MPI_Init(int *count, char ***words) {
    int code = PMPI_Init(count, words);
    if (code == MPI_SUCCESS) {
        recording_start();
    }
    return code;
}

/* Records are of one thread at a time: the program is given no more, and one that ignores it has what it needs. */
static int at_most_serialized(int level) {
    return level > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : level;
}

int MPI_Init_thread(int *count, char ***words, int required, int *provided) {
    int code = PMPI_Init_thread(count, words, required, provided);
    if (code == MPI_SUCCESS) {
        *provided = at_most_serialized(*provided);
        recording_start();
    }
    return code;
}

int MPI_Query_thread(int *provided) {
    int code = PMPI_Query_thread(provided);
    if (code == MPI_SUCCESS) {
        *provided = at_most_serialized(*provided);
    }
    return code;
}

int MPI_Finalize(void) {
    recording_end();
    return PMPI_Finalize();
}

static void made(struct call *call, MPI_Comm comm) {
    int is_inter = 0;
    record_other(call);
    if (call->is_recorded && call->code == MPI_SUCCESS && comm != MPI_COMM_NULL) {
        PMPI_Comm_test_inter(comm, &is_inter);
        if (is_inter) {
            call->entry_ns = call->exit_ns;
            record_unsupported(call, "an intercommunicator");
        } else {
            communicator_of(comm);
        }
    }
}

#define MAKES(NAME, PARAMETERS, NAMES)                                                                                 \
    int MPI_##NAME(PARAMETERS, MPI_Comm *comm) {                                                                       \
        struct call call = call_enter(__func__);                                                                       \
        call.code = PMPI_##NAME(NAMES, comm);                                                                          \
        made(&call, *comm);                                                                                            \
        return call_return(&call);                                                                                     \
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

MAKES(Dist_graph_create_adjacent,
      WORDS(MPI_Comm parent, int source_count, const int sources[], const int source_weights[], int count,
            const int targets[], const int weights[], MPI_Info info, int reorder),
      WORDS(parent, source_count, sources, source_weights, count, targets, weights, info, reorder))
MAKES(Dist_graph_create,
      WORDS(MPI_Comm parent, int count, const int sources[], const int degrees[], const int targets[],
            const int weights[], MPI_Info info, int reorder),
      WORDS(parent, count, sources, degrees, targets, weights, info, reorder))
#if MPI_VERSION >= 4
MAKES(Comm_create_from_group, WORDS(MPI_Group group, const char *name, MPI_Info info, MPI_Errhandler handler),
      WORDS(group, name, info, handler))
#endif

/* A duplicate may not be used before its request is complete, but has its group at once. */
#define DUPLICATES(NAME, PARAMETERS, NAMES)                                                                            \
    int MPI_##NAME(PARAMETERS, MPI_Comm *comm, MPI_Request *request) {                                                 \
        struct call call = call_enter(__func__);                                                                       \
        call.code = PMPI_##NAME(NAMES, comm, request);                                                                 \
        made(&call, *comm);                                                                                            \
        return call_return(&call);                                                                                     \
    }

DUPLICATES(Comm_idup, MPI_Comm parent, parent)
#if MPI_VERSION >= 4
DUPLICATES(Comm_idup_with_info, WORDS(MPI_Comm parent, MPI_Info info), WORDS(parent, info))
#endif

#define FREES(NAME)                                                                                                    \
    int MPI_##NAME(MPI_Comm *comm) {                                                                                   \
        struct call call = call_enter(__func__);                                                                       \
        if (call.is_recorded) {                                                                                        \
            communicator_forget(*comm);                                                                                \
        }                                                                                                              \
        call.code = PMPI_##NAME(comm);                                                                                 \
        record_other(&call);                                                                                           \
        return call_return(&call);                                                                                     \
    }

FREES(Comm_free)
FREES(Comm_disconnect)

/* What exchanges messages that no record has: a replay refuses such a recording. */
#define UNSUPPORTED(NAME, PARAMETERS, NAMES)                                                                           \
    int MPI_##NAME(PARAMETERS) {                                                                                       \
        struct call call = call_enter(__func__);                                                                       \
        call.code = PMPI_##NAME(NAMES);                                                                                \
        record_unsupported(&call, "MPI_" #NAME);                                                                       \
        return call_return(&call);                                                                                     \
    }

#define SPAWN MPI_Info info, int root, MPI_Comm comm, MPI_Comm *children
#define SPAWN_NAMES info, root, comm, children

UNSUPPORTED(Win_create, WORDS(void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
            WORDS(base, bytes, unit, info, comm, window))
UNSUPPORTED(Win_allocate, WORDS(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            WORDS(bytes, unit, info, comm, base, window))
UNSUPPORTED(Win_allocate_shared,
            WORDS(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            WORDS(bytes, unit, info, comm, base, window))
UNSUPPORTED(Win_create_dynamic, WORDS(MPI_Info info, MPI_Comm comm, MPI_Win *window), WORDS(info, comm, window))
UNSUPPORTED(Comm_spawn, WORDS(const char *command, char *words[], int most, SPAWN, int codes[]),
            WORDS(command, words, most, SPAWN_NAMES, codes))
UNSUPPORTED(Comm_spawn_multiple,
            WORDS(int count, char *commands[], char **words[], const int most[], const MPI_Info infos[], int root,
                  MPI_Comm comm, MPI_Comm *children, int codes[]),
            WORDS(count, commands, words, most, infos, root, comm, children, codes))
UNSUPPORTED(Comm_accept, WORDS(const char *port, SPAWN), WORDS(port, SPAWN_NAMES))
UNSUPPORTED(Comm_connect, WORDS(const char *port, SPAWN), WORDS(port, SPAWN_NAMES))
UNSUPPORTED(Comm_join, WORDS(int socket, MPI_Comm *comm), WORDS(socket, comm))

/* Collectives of neighbours, also those that go on. */
#define NEIGHBORS(NAME, PARAMETERS, NAMES)                                                                             \
    UNSUPPORTED(Neighbor_##NAME, WORDS(PARAMETERS, MPI_Comm comm), WORDS(NAMES, comm))                                 \
    UNSUPPORTED(Ineighbor_##NAME, WORDS(PARAMETERS, MPI_Comm comm, MPI_Request *request), WORDS(NAMES, comm, request))

NEIGHBORS(allgather,
          WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, int count, MPI_Datatype type),
          WORDS(sent, sent_count, sent_type, buffer, count, type))
NEIGHBORS(allgatherv,
          WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, const int counts[],
                const int places[], MPI_Datatype type),
          WORDS(sent, sent_count, sent_type, buffer, counts, places, type))
NEIGHBORS(alltoall,
          WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, int count, MPI_Datatype type),
          WORDS(sent, sent_count, sent_type, buffer, count, type))
NEIGHBORS(alltoallv,
          WORDS(const void *sent, const int sent_counts[], const int sent_places[], MPI_Datatype sent_type,
                void *buffer, const int counts[], const int places[], MPI_Datatype type),
          WORDS(sent, sent_counts, sent_places, sent_type, buffer, counts, places, type))
NEIGHBORS(alltoallw,
          WORDS(const void *sent, const int sent_counts[], const MPI_Aint sent_places[],
                const MPI_Datatype sent_types[], void *buffer, const int counts[], const MPI_Aint places[],
                const MPI_Datatype types[]),
          WORDS(sent, sent_counts, sent_places, sent_types, buffer, counts, places, types))
