/* A ping-pong as anybody writes it: `pingpong BYTES WARM_UP ITERATIONS`. Two ranks; prints the time of every round trip on
   rank 0 [ns], a line each. What the executor takes beyond it is the executor's overhead. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "clocks.h"

int main(int count, char **words) {
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int bytes = count > 3 ? atoi(words[1]) : 0, warm_up = count > 3 ? atoi(words[2]) : 0;
    int rounds = count > 3 ? atoi(words[3]) : 0;
    if (bytes < 0 || warm_up < 0 || rounds <= 0) {
        fputs("pingpong: expected BYTES WARM_UP ITERATIONS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *buffer = calloc((size_t)bytes + 1, 1);
    int64_t *spans_ns = calloc((size_t)rounds, sizeof *spans_ns);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = -warm_up; round < rounds; round++) {
        int64_t start_ns = now_ns();
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
        if (round >= 0) {
            spans_ns[round] = now_ns() - start_ns;
        }
    }
    for (int round = 0; rank == 0 && round < rounds; round++) {
        printf("%lld\n", (long long)spans_ns[round]);
    }
    free(buffer);
    free(spans_ns);
    MPI_Finalize();
    return 0;
}
