/* Wrappers of collectives: kind, root and sizes, as docs/guide/record.md lists them. */
#include "recorder.h"

/* Sizes of blocks: `count` of each type, or counts of one type by member, or counts and types by member. */
struct blocks {
    const int *counts;
    const MPI_Count *large_counts; /* in place of the others, of functions for large counts */
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

static int64_t count_of(const struct blocks *blocks, int member) {
    return blocks->counts ? blocks->counts[member] : blocks->large_counts[member];
}

static int has_counts(const struct blocks *blocks) { return blocks->counts || blocks->large_counts; }

static void put_blocks(const struct blocks *blocks, int members) {
    for (int member = 0; member < members && has_counts(blocks); member++) {
        MPI_Datatype type = blocks->types ? blocks->types[member] : blocks->type;
        record_put((uint64_t)type_bytes(count_of(blocks, member), type));
    }
}

/* A collective with a list of sizes, or two; a member without a list has none. */
static void listed(const struct call *call, enum collective_kind kind, int root, MPI_Comm comm,
                   const MPI_Request *handle, struct blocks first, struct blocks second) {
    int members = communicator_of(comm)->size;
    begin(call, kind, root, comm, handle);
    record_put((uint64_t)(members * (has_counts(&first) + has_counts(&second))));
    put_blocks(&first, members);
    put_blocks(&second, members);
    record_end();
}

static int is_root(int root, MPI_Comm comm) {
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

/* Bytes of the block that a member has in any case: that which MPI_IN_PLACE leaves. */
static int64_t block(const void *sent, int64_t sent_count, MPI_Datatype sent_type, int64_t count, MPI_Datatype type) {
    return sent == MPI_IN_PLACE ? type_bytes(count, type) : type_bytes(sent_count, sent_type);
}

static int64_t sum(struct blocks blocks, MPI_Comm comm) {
    int64_t elements = 0;
    for (int member = 0; member < communicator_of(comm)->size; member++) {
        elements += count_of(&blocks, member);
    }
    return type_bytes(elements, blocks.type);
}

#define NONE ((struct blocks){.type = MPI_DATATYPE_NULL})
#define OF(COUNTS, TYPE) ((struct blocks){.COUNTS_FIELD = COUNTS, .type = TYPE})
#define OF_TYPES(COUNTS, TYPES) ((struct blocks){.COUNTS_FIELD = COUNTS, .types = TYPES})

/* The parameters between the buffers and the communicator, by their kind; the arguments are the same names. */
#define VECTOR const void *sent, void *buffer, COUNT count, MPI_Datatype type, MPI_Op op
#define VECTOR_NAMES sent, buffer, count, type, op
#define BLOCKS const void *sent, COUNT sent_count, MPI_Datatype sent_type, void *buffer, COUNT count, MPI_Datatype type
#define BLOCKS_NAMES sent, sent_count, sent_type, buffer, count, type

/* Both forms of a collective: its parameters, their names, and what leaves the record. */
#define FORMS(NAME, INAME, PARAMETERS, NAMES, RECORDED)                                                                \
    WRAPPER(NAME, (PARAMETERS, MPI_Comm comm), (NAMES, comm)) {                                                        \
        const MPI_Request *handle = NULL;                                                                              \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(NAME)(NAMES, comm);                                                                           \
        if (call_leave(&call)) {                                                                                       \
            RECORDED;                                                                                                  \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }                                                                                                                  \
    WRAPPER(INAME, (PARAMETERS, MPI_Comm comm, MPI_Request *handle), (NAMES, comm, handle)) {                          \
        struct call call = call_enter(__func__);                                                                       \
        call.code = REAL(INAME)(NAMES, comm, handle);                                                                  \
        if (call_leave(&call)) {                                                                                       \
            RECORDED;                                                                                                  \
        }                                                                                                              \
        return call_return(&call);                                                                                     \
    }
/* Those of neighbours are not recorded. */
#define NEIGHBORS(NAME, INAME, PARAMETERS, NAMES)                                                                      \
    UNSUPPORTED(NAME, (PARAMETERS, MPI_Comm comm), (NAMES, comm))                                                      \
    UNSUPPORTED(INAME, (PARAMETERS, MPI_Comm comm, MPI_Request *request), (NAMES, comm, request))
#define WORDS(...) __VA_ARGS__
#define ONE_SIZE(KIND, ROOT, BYTES) collective(&call, COLLECTIVE_##KIND, ROOT, BYTES, comm, handle)
#define LISTS(KIND, ROOT, FIRST, SECOND) listed(&call, COLLECTIVE_##KIND, ROOT, comm, handle, FIRST, SECOND)

/* Every collective with counts, and those of MPI 4 for large counts. */
#define COUNT int
#define PLACE int
#define COUNTS_FIELD counts
#define SIZED(NAME) NAME
#include "sized_collectives.h"
#if MPI_VERSION >= 4
#undef COUNT
#undef PLACE
#undef COUNTS_FIELD
#undef SIZED
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define COUNTS_FIELD large_counts
#define SIZED(NAME) NAME##_c
#include "sized_collectives.h"
#endif

WRAPPER(Barrier, (MPI_Comm comm), (comm)) {
    struct call call = call_enter(__func__);
    call.code = REAL(Barrier)(comm);
    if (call_leave(&call)) {
        collective(&call, COLLECTIVE_BARRIER, 0, 0, comm, NULL);
    }
    return call_return(&call);
}

WRAPPER(Ibarrier, (MPI_Comm comm, MPI_Request *handle), (comm, handle)) {
    struct call call = call_enter(__func__);
    call.code = REAL(Ibarrier)(comm, handle);
    if (call_leave(&call)) {
        collective(&call, COLLECTIVE_BARRIER, 0, 0, comm, handle);
    }
    return call_return(&call);
}
