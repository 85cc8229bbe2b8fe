/* Collectives with counts of the type COUNT and displacements of the type PLACE, whose names are SIZED(NAME): see
   record_collectives.c. */
FORMS(SIZED(Bcast), SIZED(Ibcast), WORDS(void *buffer, COUNT count, MPI_Datatype type, int root),
      WORDS(buffer, count, type, root),
      ONE_SIZE(BCAST, root, type_bytes(count, type)))
FORMS(SIZED(Reduce), SIZED(Ireduce), WORDS(VECTOR, int root), WORDS(VECTOR_NAMES, root),
      ONE_SIZE(REDUCE, root, type_bytes(count, type)))
FORMS(SIZED(Allreduce), SIZED(Iallreduce), WORDS(VECTOR), WORDS(VECTOR_NAMES),
      ONE_SIZE(ALLREDUCE, 0, type_bytes(count, type)))
FORMS(SIZED(Scan), SIZED(Iscan), WORDS(VECTOR), WORDS(VECTOR_NAMES), ONE_SIZE(SCAN, 0, type_bytes(count, type)))
FORMS(SIZED(Exscan), SIZED(Iexscan), WORDS(VECTOR), WORDS(VECTOR_NAMES), ONE_SIZE(EXSCAN, 0, type_bytes(count, type)))
FORMS(SIZED(Reduce_scatter_block), SIZED(Ireduce_scatter_block), WORDS(VECTOR), WORDS(VECTOR_NAMES),
      ONE_SIZE(REDUCE_SCATTER_BLOCK, 0, type_bytes(count, type)))
FORMS(SIZED(Reduce_scatter), SIZED(Ireduce_scatter),
      WORDS(const void *sent, void *buffer, const COUNT counts[], MPI_Datatype type, MPI_Op op),
      WORDS(sent, buffer, counts, type, op), ONE_SIZE(REDUCE_SCATTER, 0, sum(OF(counts, type), comm)))
FORMS(SIZED(Allgather), SIZED(Iallgather), WORDS(BLOCKS), WORDS(BLOCKS_NAMES),
      ONE_SIZE(ALLGATHER, 0, block(sent, sent_count, sent_type, count, type)))
FORMS(SIZED(Alltoall), SIZED(Ialltoall), WORDS(BLOCKS), WORDS(BLOCKS_NAMES),
      ONE_SIZE(ALLTOALL, 0, block(sent, sent_count, sent_type, count, type)))
FORMS(SIZED(Gather), SIZED(Igather), WORDS(BLOCKS, int root), WORDS(BLOCKS_NAMES, root),
      ONE_SIZE(GATHER, root,
               is_root(root, comm) ? type_bytes(count, type) : type_bytes(sent_count, sent_type)))
FORMS(SIZED(Scatter), SIZED(Iscatter), WORDS(BLOCKS, int root), WORDS(BLOCKS_NAMES, root),
      ONE_SIZE(SCATTER, root,
               is_root(root, comm) ? type_bytes(sent_count, sent_type) : type_bytes(count, type)))
FORMS(SIZED(Gatherv), SIZED(Igatherv),
      WORDS(const void *sent, COUNT sent_count, MPI_Datatype sent_type, void *buffer, const COUNT counts[],
            const PLACE places[], MPI_Datatype type, int root),
      WORDS(sent, sent_count, sent_type, buffer, counts, places, type, root),
      LISTS(GATHERV, root, is_root(root, comm) ? OF(counts, type) : NONE, NONE))
FORMS(SIZED(Scatterv), SIZED(Iscatterv),
      WORDS(const void *sent, const COUNT counts[], const PLACE places[], MPI_Datatype sent_type, void *buffer,
            COUNT count, MPI_Datatype type, int root),
      WORDS(sent, counts, places, sent_type, buffer, count, type, root),
      LISTS(SCATTERV, root, is_root(root, comm) ? OF(counts, sent_type) : NONE, NONE))
FORMS(SIZED(Allgatherv), SIZED(Iallgatherv),
      WORDS(const void *sent, COUNT sent_count, MPI_Datatype sent_type, void *buffer, const COUNT counts[],
            const PLACE places[], MPI_Datatype type),
      WORDS(sent, sent_count, sent_type, buffer, counts, places, type), LISTS(ALLGATHERV, 0, OF(counts, type), NONE))
FORMS(SIZED(Alltoallv), SIZED(Ialltoallv),
      WORDS(const void *sent, const COUNT sent_counts[], const PLACE sent_places[], MPI_Datatype sent_type,
            void *buffer, const COUNT counts[], const PLACE places[], MPI_Datatype type),
      WORDS(sent, sent_counts, sent_places, sent_type, buffer, counts, places, type),
      LISTS(ALLTOALLV, 0, sent == MPI_IN_PLACE ? OF(counts, type) : OF(sent_counts, sent_type), OF(counts, type)))
FORMS(SIZED(Alltoallw), SIZED(Ialltoallw),
      WORDS(const void *sent, const COUNT sent_counts[], const PLACE sent_places[], const MPI_Datatype sent_types[],
            void *buffer, const COUNT counts[], const PLACE places[], const MPI_Datatype types[]),
      WORDS(sent, sent_counts, sent_places, sent_types, buffer, counts, places, types),
      LISTS(ALLTOALLV, 0, sent == MPI_IN_PLACE ? OF_TYPES(counts, types) : OF_TYPES(sent_counts, sent_types),
            OF_TYPES(counts, types)))

NEIGHBORS(SIZED(Neighbor_allgather), SIZED(Ineighbor_allgather),
          WORDS(BLOCKS), WORDS(BLOCKS_NAMES))
NEIGHBORS(SIZED(Neighbor_allgatherv), SIZED(Ineighbor_allgatherv),
          WORDS(const void *sent, COUNT sent_count, MPI_Datatype sent_type, void *buffer, const COUNT counts[],
                const PLACE places[], MPI_Datatype type),
          WORDS(sent, sent_count, sent_type, buffer, counts, places, type))
NEIGHBORS(SIZED(Neighbor_alltoall), SIZED(Ineighbor_alltoall),
          WORDS(BLOCKS), WORDS(BLOCKS_NAMES))
NEIGHBORS(SIZED(Neighbor_alltoallv), SIZED(Ineighbor_alltoallv),
          WORDS(const void *sent, const COUNT sent_counts[], const PLACE sent_places[], MPI_Datatype sent_type,
                void *buffer, const COUNT counts[], const PLACE places[], MPI_Datatype type),
          WORDS(sent, sent_counts, sent_places, sent_type, buffer, counts, places, type))
NEIGHBORS(SIZED(Neighbor_alltoallw), SIZED(Ineighbor_alltoallw),
          WORDS(const void *sent, const COUNT sent_counts[], const MPI_Aint sent_places[],
                const MPI_Datatype sent_types[], void *buffer, const COUNT counts[], const MPI_Aint places[],
                const MPI_Datatype types[]),
          WORDS(sent, sent_counts, sent_places, sent_types, buffer, counts, places, types))
