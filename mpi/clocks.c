#include "clocks.h"

/* Of so many round trips the shortest counts (Cristian, Distributed Computing 3, 1989). */
enum { ROUNDS = 30 };
enum { TAG = 1 };
/* Every rank must receive the start before it is due: LEAD_TRIPS times the longest round trip, within bounds. */
static const int64_t LEAD_NS = 20000000, LEAD_NS_MAX = 1000000000, LEAD_RANK_NS = 20000;
enum { LEAD_TRIPS = 8 };
/* Sleeps end late; the last stretch is spun. */
static const int64_t SPIN_NS = 200000;

/* Rank 0's side: the peer's clock, read in the middle of the shortest round trip. */
static struct offset measured(MPI_Comm comm, int peer) {
    struct offset best = {0, INT64_MAX, 0};
    for (int round = 0; round < ROUNDS; round++) {
        int64_t theirs_ns = 0, sent_ns = now_ns();
        MPI_Send(&sent_ns, 1, MPI_INT64_T, peer, TAG, comm);
        MPI_Recv(&theirs_ns, 1, MPI_INT64_T, peer, TAG, comm, MPI_STATUS_IGNORE);
        int64_t half_ns = (now_ns() - sent_ns) / 2;
        if (half_ns < best.error_ns) {
            best.ahead_ns = theirs_ns - (sent_ns + half_ns);
            best.error_ns = half_ns;
        }
        best.longest_ns = 2 * half_ns > best.longest_ns ? 2 * half_ns : best.longest_ns;
    }
    MPI_Send(&best, 3, MPI_INT64_T, peer, TAG, comm);
    return best;
}

struct offset clock_offset(MPI_Comm comm) {
    int rank, ranks;
    struct offset offset = {0, 0, 0};
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int peer = 1; rank == 0 && peer < ranks; peer++) {
        measured(comm, peer);
    }
    for (int round = 0; rank != 0 && round < ROUNDS; round++) {
        int64_t theirs_ns, mine_ns;
        MPI_Recv(&theirs_ns, 1, MPI_INT64_T, 0, TAG, comm, MPI_STATUS_IGNORE);
        mine_ns = now_ns();
        MPI_Send(&mine_ns, 1, MPI_INT64_T, 0, TAG, comm);
    }
    if (rank != 0) {
        MPI_Recv(&offset, 3, MPI_INT64_T, 0, TAG, comm, MPI_STATUS_IGNORE);
    }
    return offset;
}

int64_t lead_ns(int64_t longest_ns, int ranks) {
    int64_t lead = LEAD_NS_MAX / LEAD_TRIPS < longest_ns ? LEAD_NS_MAX : LEAD_TRIPS * longest_ns;
    return (lead < LEAD_NS ? LEAD_NS : lead) + LEAD_RANK_NS * ranks;
}

int64_t agreed_start_ns(MPI_Comm comm, struct offset offset) {
    int ranks;
    int64_t start_ns, longest_ns = 0;
    MPI_Comm_size(comm, &ranks);
    /* Nobody goes on before all are here, so it stands for the barrier as well. */
    MPI_Allreduce(&offset.longest_ns, &longest_ns, 1, MPI_INT64_T, MPI_MAX, comm);
    start_ns = now_ns() + lead_ns(longest_ns, ranks);
    MPI_Bcast(&start_ns, 1, MPI_INT64_T, 0, comm);
    return start_ns + offset.ahead_ns;
}

int64_t wait_until_ns(int64_t instant_ns) {
    int64_t left_ns = instant_ns - SPIN_NS - now_ns();
    if (left_ns > 0) {
        struct timespec rest = {.tv_sec = (time_t)(left_ns / 1000000000), .tv_nsec = (long)(left_ns % 1000000000)};
        while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) != 0) {
        }
    }
    int64_t missed_ns;
    do {
        missed_ns = now_ns() - instant_ns;
    } while (missed_ns < 0);
    return missed_ns;
}
