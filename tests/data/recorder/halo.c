#include <mpi.h>

/* In a ring: what is blocking, from anybody, persistent, freed; then collectives. */
int main(int count, char **words) {
    int rank, ranks, done = 0, at;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int up = (rank + 1) % ranks, down = (rank + ranks - 1) % ranks;
    int lengths[8], places[8], others[8];
    double a[512] = {0}, b[512];
    MPI_Status status;
    MPI_Request requests[4];
    MPI_Comm copy, part;
    MPI_Sendrecv(a, 100, MPI_CHAR, up, 7, b, 100, MPI_CHAR, down, 7, MPI_COMM_WORLD, &status);
    MPI_Irecv(b, 400, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(a, 150, MPI_CHAR, up, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, -rank, &part);
    MPI_Recv_init(b, 100, MPI_INT, down, 7, copy, &requests[0]);
    MPI_Send_init(a, 100, MPI_INT, up, 7, copy, &requests[1]);
    for (int round = 0; round < 2; round++) {
        MPI_Startall(2, requests);
        MPI_Waitany(2, requests, &at, &status);
        MPI_Waitany(2, requests, &at, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(b, 512, MPI_CHAR, down, 11, copy, &requests[2]);
    MPI_Irecv(b + 8, 512, MPI_CHAR, down, 11, copy, &requests[3]);
    MPI_Isend(a, 10, MPI_CHAR, up, 11, copy, &requests[0]);
    MPI_Isend(a, 20, MPI_CHAR, up, 11, copy, &requests[1]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) {
        MPI_Send(a, 30, MPI_CHAR, up, 12, copy);
    }
    MPI_Probe(down, MPI_ANY_TAG, copy, &status);
    MPI_Recv(b, 512, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, copy, &status);
    if (rank > 0) {
        MPI_Send(a, 30, MPI_CHAR, up, 12, copy);
    }
    MPI_Send(a, 9, MPI_CHAR, MPI_PROC_NULL, 1, copy);
    MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, part);
    MPI_Bcast(a, 512, MPI_DOUBLE, 1, copy);
    for (int member = 0; member < ranks; member++) {
        lengths[member] = 8 * (10 * rank + member);
        others[member] = 8 * (10 * member + rank);
        places[member] = 0;
    }
    MPI_Alltoallv(a, lengths, places, MPI_CHAR, b, others, places, MPI_CHAR, MPI_COMM_WORLD);
    MPI_Iallreduce(a, b, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    while (!done) {
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&part);
    MPI_Barrier(copy);
    MPI_Finalize();
    return 0;
}
