    COUNT counts[3] = {1, 2, 3};
    PLACE places[3] = {0, 1, 3};
    MPI_Request q[2];
    SIZED(MPI_Isend)(a, 10, MPI_DOUBLE, up, 5, MPI_COMM_WORLD, &q[0]);
    SIZED(MPI_Recv)(b, 10, MPI_DOUBLE, down, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    SIZED(MPI_Recv_init)(b, 20, MPI_DOUBLE, down, 6, MPI_COMM_WORLD, &q[0]);
    SIZED(MPI_Ssend_init)(a, 20, MPI_DOUBLE, up, 6, MPI_COMM_WORLD, &q[1]);
    MPI_Startall(2, q);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    SIZED(MPI_Sendrecv)(a, 30, MPI_DOUBLE, up, 7, b, 30, MPI_DOUBLE, down, 7, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
    SIZED(MPI_Bcast)(a, 40, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    SIZED(MPI_Gatherv)(a, rank + 1, MPI_DOUBLE, b, counts, places, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    SIZED(MPI_Reduce_scatter)(a, b, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int at = 0; at < 3; at++) {
        counts[at] = 1;
    }
    SIZED(MPI_Ialltoallv)(a, counts, places, MPI_DOUBLE, b, counts, places, MPI_DOUBLE,
                          MPI_COMM_WORLD, q);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
