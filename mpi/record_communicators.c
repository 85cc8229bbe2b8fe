/* Wrappers of the beginning, the end and what makes communicators. Those are numbered in the order in which they are
   made, which all their members share. What they exchange meanwhile is not recorded. */
#include "recorder.h"

WRAPPER(Init, (int *count, char ***words), (count, words)) {
    int code = REAL(Init)(count, words);
    if (code == MPI_SUCCESS) {
        recording_start();
    }
    return code;
}

/* Records are of one thread at a time: the program is given no more, and one that ignores it has what it needs. */
static int at_most_serialized(int level) {
    return level > MPI_THREAD_SERIALIZED ? MPI_THREAD_SERIALIZED : level;
}

WRAPPER(Init_thread, (int *count, char ***words, int required, int *provided), (count, words, required, provided)) {
    int code = REAL(Init_thread)(count, words, required, provided);
    if (code == MPI_SUCCESS) {
        *provided = at_most_serialized(*provided);
        recording_start();
    }
    return code;
}

WRAPPER(Query_thread, (int *provided), (provided)) {
    int code = REAL(Query_thread)(provided);
    if (code == MPI_SUCCESS) {
        *provided = at_most_serialized(*provided);
    }
    return code;
}

WRAPPER(Finalize, (void), ()) {
    recording_end();
    return REAL(Finalize)();
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
    WRAPPER(NAME, (PARAMETERS, MPI_Comm *comm), (NAMES, comm)) {                                                       \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(NAMES, comm);                                                                           \
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
    WRAPPER(NAME, (PARAMETERS, MPI_Comm *comm, MPI_Request *request), (NAMES, comm, request)) {                        \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(NAMES, comm, request);                                                                  \
        made(&call, *comm);                                                                                            \
        return call_return(&call);                                                                                     \
    }

DUPLICATES(Comm_idup, MPI_Comm parent, parent)
#if MPI_VERSION >= 4
DUPLICATES(Comm_idup_with_info, WORDS(MPI_Comm parent, MPI_Info info), WORDS(parent, info))
#endif

#define FREES(NAME)                                                                                                    \
    WRAPPER(NAME, (MPI_Comm *comm), (comm)) {                                                                          \
        struct call call = call_enter(__func__);                                                                       \
        if (call.is_recorded) {                                                                                        \
            communicator_forget(*comm);                                                                                \
        }                                                                                                              \
        call.code = REAL(NAME)(comm);                                                                                  \
        record_other(&call);                                                                                           \
        return call_return(&call);                                                                                     \
    }

FREES(Comm_free)
FREES(Comm_disconnect)

/* What exchanges messages that no record has. */
#define SPAWN MPI_Info info, int root, MPI_Comm comm, MPI_Comm *children
#define SPAWN_NAMES info, root, comm, children

UNSUPPORTED(Win_create, (void *base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
            (base, bytes, unit, info, comm, window))
UNSUPPORTED(Win_allocate, (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            (bytes, unit, info, comm, base, window))
UNSUPPORTED(Win_allocate_shared,
            (MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            (bytes, unit, info, comm, base, window))
#if MPI_VERSION >= 4
UNSUPPORTED(Win_create_c,
            (void *base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, MPI_Win *window),
            (base, bytes, unit, info, comm, window))
UNSUPPORTED(Win_allocate_c,
            (MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            (bytes, unit, info, comm, base, window))
UNSUPPORTED(Win_allocate_shared_c,
            (MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window),
            (bytes, unit, info, comm, base, window))
#endif
UNSUPPORTED(Win_create_dynamic, (MPI_Info info, MPI_Comm comm, MPI_Win *window), (info, comm, window))
UNSUPPORTED(Comm_spawn, (const char *command, char *words[], int most, SPAWN, int codes[]),
            (command, words, most, SPAWN_NAMES, codes))
UNSUPPORTED(Comm_spawn_multiple,
            (int count, char *commands[], char **words[], const int most[], const MPI_Info infos[], int root,
                  MPI_Comm comm, MPI_Comm *children, int codes[]),
            (count, commands, words, most, infos, root, comm, children, codes))
UNSUPPORTED(Comm_accept, (const char *port, SPAWN), (port, SPAWN_NAMES))
UNSUPPORTED(Comm_connect, (const char *port, SPAWN), (port, SPAWN_NAMES))
UNSUPPORTED(Comm_join, (int socket, MPI_Comm *comm), (socket, comm))
