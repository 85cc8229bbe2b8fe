/*
 * What a simulation on several processes does between its meetings: loaded before the MPI library, it counts windows, messages and
 * bytes, and measures by processor time how long the slowest process of each window served events. So a busy machine, or fewer
 * processors than processes, changes nothing but waits, which are not counted. At the end it times the exchange of a window alone.
 * The first process writes all as JSON to the file that ETHERWEAVE_WINDOWS names.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { EXCHANGES = 20000, AGREED_WORDS = 8 };

static double *served;
static long long windows, room;
static long long counts[2]; /* messages, bytes: sent to other processes */
static double resumed = -1;
static double begin_s, end_s; /* real time after the first meeting and at the last: processes start at different times */

static double processor_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int MPI_Alltoall(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int count, MPI_Datatype type,
                 MPI_Comm comm)
{
    if (resumed >= 0) {
        if (windows == room)
            served = realloc(served, (room = 2 * room + 1024) * sizeof *served);
        served[windows++] = processor_s() - resumed;
        end_s = MPI_Wtime();
    }
    return PMPI_Alltoall(sent, sent_count, sent_type, received, count, type, comm);
}

int MPI_Alltoallv(const void *sent, const int *sent_counts, const int *sent_starts, MPI_Datatype sent_type, void *received,
                  const int *sizes, const int *starts, MPI_Datatype type, MPI_Comm comm)
{
    int rank, processes, width;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &processes);
    MPI_Type_size(sent_type, &width);
    for (int to = 0; to < processes; to++)
        if (to != rank && sent_counts[to] > 0) {
            counts[0]++;
            counts[1] += (long long)sent_counts[to] * width;
        }
    int code = PMPI_Alltoallv(sent, sent_counts, sent_starts, sent_type, received, sizes, starts, type, comm);
    if (resumed < 0)
        begin_s = MPI_Wtime();
    resumed = processor_s();
    return code;
}

/* The shortest time of an exchange with the mean number of bytes of a window, as the simulation makes it. */
static double exchange_s(int processes, long long bytes_per_pair)
{
    int *sizes = calloc(processes, sizeof *sizes), *starts = calloc(processes, sizeof *starts);
    int *words = calloc(processes, AGREED_WORDS * sizeof *words), *agreed = calloc(processes, AGREED_WORDS * sizeof *agreed);
    for (int to = 0; to < processes; to++) {
        sizes[to] = (int)bytes_per_pair;
        starts[to] = to * sizes[to];
    }
    char *sent = calloc(processes, bytes_per_pair + 1), *received = calloc(processes, bytes_per_pair + 1);
    double least = 1e9;
    for (int number = 0; number < EXCHANGES; number++) {
        double begin = MPI_Wtime();
        PMPI_Alltoall(words, AGREED_WORDS, MPI_INT, agreed, AGREED_WORDS, MPI_INT, MPI_COMM_WORLD);
        PMPI_Alltoallv(sent, sizes, starts, MPI_BYTE, received, sizes, starts, MPI_BYTE, MPI_COMM_WORLD);
        double taken = MPI_Wtime() - begin;
        least = taken < least ? taken : least;
    }
    double longest;
    PMPI_Reduce(&least, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return longest;
}

int MPI_Finalize(void)
{
    int rank, processes;
    long long sums[2], most;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    PMPI_Allreduce(counts, sums, 2, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    PMPI_Allreduce(&windows, &most, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
    served = realloc(served, (most + 1) * sizeof *served);
    double *slowest = calloc(most + 1, sizeof *slowest), *all = calloc(most + 1, sizeof *all);
    PMPI_Reduce(served, slowest, (int)most, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    PMPI_Reduce(served, all, (int)most, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    long long pairs = most * processes * (processes > 1 ? processes - 1 : 1);
    double exchange = exchange_s(processes, most ? sums[1] / pairs : 0);
    const char *path = getenv("ETHERWEAVE_WINDOWS");
    FILE *file = rank == 0 && path ? fopen(path, "w") : NULL;
    if (file) {
        double longest = 0, work = 0;
        for (long long window = 0; window < most; window++) {
            longest += slowest[window];
            work += all[window];
        }
        fprintf(file, "{\"windows\": %lld, \"messages\": %lld, \"bytes\": %lld, ", most, sums[0], sums[1]);
        fprintf(file, "\"wall_s\": %.6f, ", end_s - begin_s);
        fprintf(file, "\"served_s\": %.6f, \"slowest_s\": %.6f, \"exchange_us\": %.3f}\n", work, longest, 1e6 * exchange);
        fclose(file);
    }
    return PMPI_Finalize();
}
