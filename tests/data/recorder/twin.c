    MPI_Request q[2];
    MPI_Comm part;
    int at, is_done = 0;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &part);
    MPI_Irecv(b, 10, MPI_DOUBLE, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &q[0]);
    MPI_Isend(a, 10, MPI_DOUBLE, up, 5, MPI_COMM_WORLD, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    MPI_Send_init(a, 20, MPI_DOUBLE, up, 6, MPI_COMM_WORLD, &q[0]);
    MPI_Recv_init(b, 20, MPI_DOUBLE, down, 6, MPI_COMM_WORLD, &q[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, q);
        MPI_Waitany(2, q, &at, MPI_STATUS_IGNORE);
        MPI_Waitany(2, q, &at, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Sendrecv(a, 30, MPI_DOUBLE, up, 7, b, 30, MPI_DOUBLE, down, 7, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Bcast(a, 40, MPI_DOUBLE, 1, part);
    MPI_Allreduce(a, b, 50, MPI_DOUBLE, MPI_SUM, part);
    MPI_Iallreduce(a, b, 60, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &q[0]);
    while (!is_done) {
        MPI_Test(&q[0], &is_done, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&part);
