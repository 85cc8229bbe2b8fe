/* Wrappers of collectives: kind, root and sizes, as docs/guide/record.md lists them. */
#include "recorder.h"

/* Sizes of blocks: `count` of each type, or counts of one type by member, or counts and types by member. */
struct blocks {
    const int *counts;
    MPI_Datatype type;
    const MPI_Datatype *types;
};

static void begin(const struct call *call, enum collective_kind kind, int root, MPI_Comm comm,
                  const MPI_Request *handle) {
    struct communicator *members = communicator_of(comm); /* before the record */
    record_begin(handle ? RECORD_ICOLLECTIVE : RECORD_COLLECTIVE, call);
    record_put((uint64_t)kind);
    record_put(members->number);
    if (handle) {
        struct request request = {.number = request_number(), .is_active = 1, .members = members};
        record_put(request_add(*handle, request)->number);
    }
    record_put((uint64_t)root);
}

/* A collective with one size. */
static void collective(const struct call *call, enum collective_kind kind, int root, int64_t bytes, MPI_Comm comm,
                       const MPI_Request *handle) {
    begin(call, kind, root, comm, handle);
    record_put(1);
    record_put((uint64_t)bytes);
    record_end();
}

static void put_blocks(struct blocks blocks, int members) {
    for (int member = 0; member < members; member++) {
        MPI_Datatype type = blocks.types ? blocks.types[member] : blocks.type;
        record_put((uint64_t)type_bytes(blocks.counts[member], type));
    }
}

/* A collective with a list of sizes, or two; a member without a list has none. */
static void listed(const struct call *call, enum collective_kind kind, int root, MPI_Comm comm,
                   const MPI_Request *handle, struct blocks first, struct blocks second) {
    int members = communicator_of(comm)->size;
    begin(call, kind, root, comm, handle);
    record_put((uint64_t)(members * ((first.counts != NULL) + (second.counts != NULL))));
    if (first.counts) {
        put_blocks(first, members);
    }
    if (second.counts) {
        put_blocks(second, members);
    }
    record_end();
}

static int is_root(int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

/* Bytes of the block that a member has in any case: that which MPI_IN_PLACE leaves. */
static int64_t block(const void *sent, int sent_count, MPI_Datatype sent_type, int count, MPI_Datatype type) {
    return sent == MPI_IN_PLACE ? type_bytes(count, type) : type_bytes(sent_count, sent_type);
}

static int64_t sum(const int counts[], MPI_Datatype type, MPI_Comm comm) {
    int64_t elements = 0;
    for (int member = 0; member < communicator_of(comm)->size; member++) {
        elements += counts[member];
    }
    return type_bytes(elements, type);
}

#define NONE ((struct blocks){NULL, MPI_DATATYPE_NULL, NULL})
#define OF(COUNTS, TYPE) ((struct blocks){COUNTS, TYPE, NULL})
#define OF_TYPES(COUNTS, TYPES) ((struct blocks){COUNTS, MPI_DATATYPE_NULL, TYPES})
#define WORDS(...) __VA_ARGS__


/* The parameters between the buffers and the communicator, by their kind; the arguments are the same names. */
#define VECTOR const void *sent, void *buffer, int count, MPI_Datatype type, MPI_Op op
#define VECTOR_NAMES sent, buffer, count, type, op
#define BLOCKS const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, int count, MPI_Datatype type
#define BLOCKS_NAMES sent, sent_count, sent_type, buffer, count, type

/* Both forms of a collective: its parameters, their names, and what leaves the record. */
#define FORMS(NAME, INAME, PARAMETERS, NAMES, RECORDED)                                                                \
    int MPI_##NAME(PARAMETERS, MPI_Comm comm) {                                                                        \
        const MPI_Request *handle = NULL;                                                                              \
        struct call call = call_enter(__func__);                                                                       \
        call.code = PMPI_##NAME(NAMES, comm);                                                                          \
        if (call_leave(&call)) {                                                                                       \
            RECORDED;                                                                                                  \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }                                                                                                                  \
    int MPI_##INAME(PARAMETERS, MPI_Comm comm, MPI_Request *handle) {                                                  \
        struct call call = call_enter(__func__);                                                                       \
        call.code = PMPI_##INAME(NAMES, comm, handle);                                                                 \
        if (call_leave(&call)) {                                                                                       \
            RECORDED;                                                                                                  \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }
#define WORDS(...) __VA_ARGS__
#define ONE_SIZE(KIND, ROOT, BYTES) collective(&call, COLLECTIVE_##KIND, ROOT, BYTES, comm, handle)
#define LISTS(KIND, ROOT, FIRST, SECOND) listed(&call, COLLECTIVE_##KIND, ROOT, comm, handle, FIRST, SECOND)

FORMS(Bcast, Ibcast, WORDS(void *buffer, int count, MPI_Datatype type, int root), WORDS(buffer, count, type, root),
      ONE_SIZE(BCAST, root, type_bytes(count, type)))
FORMS(Reduce, Ireduce, WORDS(VECTOR, int root), WORDS(VECTOR_NAMES, root),
      ONE_SIZE(REDUCE, root, type_bytes(count, type)))
FORMS(Allreduce, Iallreduce, WORDS(VECTOR), WORDS(VECTOR_NAMES), ONE_SIZE(ALLREDUCE, 0, type_bytes(count, type)))
FORMS(Scan, Iscan, WORDS(VECTOR), WORDS(VECTOR_NAMES), ONE_SIZE(SCAN, 0, type_bytes(count, type)))
FORMS(Exscan, Iexscan, WORDS(VECTOR), WORDS(VECTOR_NAMES), ONE_SIZE(EXSCAN, 0, type_bytes(count, type)))
FORMS(Reduce_scatter_block, Ireduce_scatter_block, WORDS(VECTOR), WORDS(VECTOR_NAMES),
      ONE_SIZE(REDUCE_SCATTER_BLOCK, 0, type_bytes(count, type)))
FORMS(Reduce_scatter, Ireduce_scatter,
      WORDS(const void *sent, void *buffer, const int counts[], MPI_Datatype type, MPI_Op op),
      WORDS(sent, buffer, counts, type, op), ONE_SIZE(REDUCE_SCATTER, 0, sum(counts, type, comm)))
FORMS(Allgather, Iallgather, WORDS(BLOCKS), WORDS(BLOCKS_NAMES),
      ONE_SIZE(ALLGATHER, 0, block(sent, sent_count, sent_type, count, type)))
FORMS(Alltoall, Ialltoall, WORDS(BLOCKS), WORDS(BLOCKS_NAMES),
      ONE_SIZE(ALLTOALL, 0, block(sent, sent_count, sent_type, count, type)))
FORMS(Gather, Igather, WORDS(BLOCKS, int root), WORDS(BLOCKS_NAMES, root),
      ONE_SIZE(GATHER, root,
               is_root(root, comm) ? type_bytes(count, type) : type_bytes(sent_count, sent_type)))
FORMS(Scatter, Iscatter, WORDS(BLOCKS, int root), WORDS(BLOCKS_NAMES, root),
      ONE_SIZE(SCATTER, root,
               is_root(root, comm) ? type_bytes(sent_count, sent_type) : type_bytes(count, type)))
FORMS(Gatherv, Igatherv,
      WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, const int counts[],
            const int places[], MPI_Datatype type, int root),
      WORDS(sent, sent_count, sent_type, buffer, counts, places, type, root),
      LISTS(GATHERV, root, is_root(root, comm) ? OF(counts, type) : NONE, NONE))
FORMS(Scatterv, Iscatterv,
      WORDS(const void *sent, const int counts[], const int places[], MPI_Datatype sent_type, void *buffer, int count,
            MPI_Datatype type, int root),
      WORDS(sent, counts, places, sent_type, buffer, count, type, root),
      LISTS(SCATTERV, root, is_root(root, comm) ? OF(counts, sent_type) : NONE, NONE))
FORMS(Allgatherv, Iallgatherv,
      WORDS(const void *sent, int sent_count, MPI_Datatype sent_type, void *buffer, const int counts[],
            const int places[], MPI_Datatype type),
      WORDS(sent, sent_count, sent_type, buffer, counts, places, type), LISTS(ALLGATHERV, 0, OF(counts, type), NONE))
FORMS(Alltoallv, Ialltoallv,
      WORDS(const void *sent, const int sent_counts[], const int sent_places[], MPI_Datatype sent_type, void *buffer,
            const int counts[], const int places[], MPI_Datatype type),
      WORDS(sent, sent_counts, sent_places, sent_type, buffer, counts, places, type),
      LISTS(ALLTOALLV, 0, sent == MPI_IN_PLACE ? OF(counts, type) : OF(sent_counts, sent_type), OF(counts, type)))
FORMS(Alltoallw, Ialltoallw,
      WORDS(const void *sent, const int sent_counts[], const int sent_places[], const MPI_Datatype sent_types[],
            void *buffer, const int counts[], const int places[], const MPI_Datatype types[]),
      WORDS(sent, sent_counts, sent_places, sent_types, buffer, counts, places, types),
      LISTS(ALLTOALLV, 0, sent == MPI_IN_PLACE ? OF_TYPES(counts, types) : OF_TYPES(sent_counts, sent_types),
            OF_TYPES(counts, types)))

int MPI_Barrier(MPI_Comm comm) {
    struct call call = call_enter(__func__);
    call.code = PMPI_Barrier(comm);
    if (call_leave(&call)) {
        collective(&call, COLLECTIVE_BARRIER, 0, 0, comm, NULL);
    }
    return call_return(&call);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *handle) {
    struct call call = call_enter(__func__);
    call.code = PMPI_Ibarrier(comm, handle);
    if (call_leave(&call)) {
        collective(&call, COLLECTIVE_BARRIER, 0, 0, comm, handle);
    }
    return call_return(&call);
}
