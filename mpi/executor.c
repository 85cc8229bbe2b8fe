/* Executes the schedules of jobs, as the simulator would, on real hosts: `executor [--verify] [--time-limit S]
   [--set FIRST-LAST:NAME=VALUE]... DIRECTORY FILE...`. The ranks of the first file's job come first, then those of the second. Ends with 0; 2 when a
   schedule is wrong; 3 when this place cannot run it; 4 when the time is over; 5 when a message was not as expected.

   See docs/guide/measure.md: what starts when, how clocks are aligned, what is recorded. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>
#include <signal.h>

#include "clocks.h"
#include "priorities.h"
#include "program.h"
#include "records.h"
#include "schedule.h"
#include "streams.h"

enum { TAG = 3 };

struct options {
    int is_verified;
    unsigned time_limit_s;
    const char *directory;
    char **files;
    int jobs;
};

/* A rank's part of its job. */
struct part {
    MPI_Comm comm;
    int job, rank;
    struct schedule schedule;
    unsigned char *beginning, *section;
};

static const char OVER[] = "executor: the time limit is over, nothing is kept\n";

/* Nothing that a handler may not call: the launcher ends the other ranks. */
static void time_over(int signal) {
    (void)signal;
    ssize_t written = write(STDERR_FILENO, OVER, sizeof OVER - 1);
    (void)written;
    _exit(EXIT_TIME);
}

/* 0, or -1 when the words are no call of this program. */
static int read_options(int count, char **words, struct options *options) {
    int at = 1;
    *options = (struct options){0, 0, NULL, NULL, 0};
    for (; at < count && strncmp(words[at], "--", 2) == 0; at++) {
        char *end = NULL;
        if (strcmp(words[at], "--verify") == 0) {
            options->is_verified = 1;
        } else if (strcmp(words[at], "--time-limit") == 0 && at + 1 < count) {
            unsigned long limit = strtoul(words[++at], &end, 10);
            if (*words[at] == '\0' || *end != '\0' || limit > INT_MAX) {
                return -1;
            }
            options->time_limit_s = (unsigned)limit;
        } else if (strcmp(words[at], "--set") == 0 && at + 1 < count) {
            if (set_for_ranks(words[++at]) != 0) {
                return -1;
            }
        } else {
            return -1;
        }
    }
    options->directory = at < count ? words[at] : NULL;
    options->files = words + at + 1;
    options->jobs = count - at - 1;
    return options->jobs > 0 ? 0 : -1;
}

/* Rank 0 reads all files and finds them sound; 0, or how the program ends. */
static int read_schedules(const struct options *options, struct schedule *schedules, int ranks) {
    uint64_t sum = 0;
    for (int job = 0; job < options->jobs; job++) {
        struct mistake mistake;
        size_t size = 0;
        unsigned char *bytes = file_contents(options->files[job], &size);
        if (!bytes) {
            fprintf(stderr, "executor: %s: %s\n", options->files[job], strerror(errno));
            return EXIT_SCHEDULE;
        }
        if (schedule_check(bytes, size, &schedules[job], &mistake) != 0) {
            fprintf(stderr, "executor: %s: byte %zu: %s\n", options->files[job], mistake.byte, mistake.text);
            return EXIT_SCHEDULE;
        }
        sum += schedules[job].ranks;
    }
    if (sum != (uint64_t)ranks) {
        fprintf(stderr, "executor: %d ranks were launched; expected %llu, as many as the schedules have\n", ranks,
                (unsigned long long)sum);
        return EXIT_PLACE;
    }
    return 0;
}

/* Rank 0 sends a list to another rank, or keeps it. */
static unsigned char *handed(int to, const unsigned char *list, uint64_t size) {
    unsigned char *kept = NULL;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && to == 0) {
        kept = memory((size_t)size, 1);
        memcpy(kept, list, (size_t)size);
    } else if (rank == 0) {
        MPI_Send(&size, 1, MPI_UINT64_T, to, TAG, MPI_COMM_WORLD);
        MPI_Send(list, (int)size, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
    } else if (rank == to) {
        MPI_Recv(&size, 1, MPI_UINT64_T, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        kept = memory((size_t)size, 1);
        MPI_Recv(kept, (int)size, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return kept;
}

static void keep(unsigned char **place, unsigned char *list) { *place = list ? list : *place; }

/* Every rank gets the beginning of its job's file, and its own section: only rank 0 needs the files. */
static struct part distribute(struct schedule *schedules, int jobs) {
    struct part part = {.job = -1};
    int world, first = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &world);
    for (int job = 0; job < jobs; job++) {
        int ranks = (int)schedules[job].ranks;
        MPI_Bcast(&ranks, 1, MPI_INT, 0, MPI_COMM_WORLD);
        for (int rank = 0; rank < ranks; rank++) {
            size_t beginning = 0, size = 0;
            const unsigned char *section = NULL;
            if (world == 0) {
                section = schedule_section(&schedules[job], (uint32_t)rank, &size);
                beginning = (size_t)(schedules[job].offsets - schedules[job].bytes);
                if (beginning > INT_MAX || size > INT_MAX) {
                    give_up(EXIT_SCHEDULE, "a section of %zu bytes; expected at most %d", size, INT_MAX);
                }
            }
            keep(&part.beginning, handed(first + rank, schedules[job].bytes, beginning));
            keep(&part.section, handed(first + rank, section, size));
        }
        if (world >= first && world < first + ranks) {
            part.job = job;
        }
        first += ranks;
    }
    schedule_open(part.beginning, &part.schedule);
    MPI_Comm_split(MPI_COMM_WORLD, part.job, world, &part.comm);
    MPI_Comm_rank(part.comm, &part.rank);
    return part;
}

static void check_tags(const struct schedule *schedule) {
    int *most = NULL, has = 0;
    uint32_t tags = schedule->tags > schedule->streams ? schedule->tags : schedule->streams;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&most, &has);
    if (has && tags > 0 && tags - 1 > (uint32_t)*most) {
        give_up(EXIT_PLACE, "%u tags; this MPI has %d", tags, *most);
    }
}

static int64_t nearest_ns(uint64_t ps) { return (int64_t)(ps / 1000 + (ps % 1000 >= 500)); }

/* Runs this rank's part from the agreed start to its end. Ranks whose end counts say so by a barrier that nobody waits in
   while it works: when it completes, what is in the background may stop. */
static void perform(struct part *part, struct program *program, struct streams *streams, struct record *record) {
    const struct schedule *schedule = &part->schedule;
    int64_t begin_ns = record->start_ns;
    int64_t start_ns = begin_ns + nearest_ns(schedule->start_ps);
    int64_t end_ns = schedule->end_ps > 0 ? begin_ns + nearest_ns(schedule->end_ps) : 0;
    MPI_Request all_done;
    if (schedule->is_background) {
        MPI_Ibarrier(MPI_COMM_WORLD, &all_done);
    }
    record->missed_ns = wait_until_ns(start_ns);
    program_run(program, 0);
    streams_run(streams, start_ns, begin_ns + nearest_ns(schedule->warm_up_ps), end_ns,
                schedule->is_background ? &all_done : NULL);
    record->end_ns = now_ns();
    if (!schedule->is_background) {
        MPI_Ibarrier(MPI_COMM_WORLD, &all_done);
    }
    MPI_Wait(&all_done, MPI_STATUS_IGNORE);
}

static void execute(struct part *part, const struct options *options) {
    struct program program;
    struct streams streams;
    check_tags(&part->schedule);
    program_make(&program, &part->schedule, part->section, part->comm, options->is_verified);
    streams_make(&streams, &part->schedule, part->rank, part->comm);
    program_run(&program, 1);
    streams_warm_up(&streams);
    struct record record = {part->job, part->rank, (int)part->schedule.ranks, &program, &streams,
                            {0, 0, 0}, {0, 0, 0},  0,                         0,        0};
    MPI_Barrier(MPI_COMM_WORLD);
    record.before = clock_offset(MPI_COMM_WORLD);
    record.start_ns = agreed_start_ns(MPI_COMM_WORLD, record.before);
    perform(part, &program, &streams, &record);
    record.after = clock_offset(MPI_COMM_WORLD);
    records_write(options->directory, &record);
}

int main(int count, char **words) {
    struct options options;
    int rank, ranks, status = 0;
    int is_mistaken = read_options(count, words, &options) != 0; /* Before MPI reads variables and opens sockets. */
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (is_mistaken) {
        if (rank == 0) {
            fputs("executor: expected [--verify] [--time-limit SECONDS] [--set FIRST-LAST:NAME=VALUE]... DIRECTORY FILE...\n",
                  stderr);
        }
        MPI_Finalize();
        return EXIT_SCHEDULE;
    }
    signal(SIGALRM, time_over);
    alarm(options.time_limit_s);
    struct schedule *schedules = memory((size_t)options.jobs, sizeof *schedules);
    if (rank == 0) {
        status = read_schedules(&options, schedules, ranks);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (status == 0) {
        struct part part = distribute(schedules, options.jobs);
        execute(&part, &options);
    }
    MPI_Finalize();
    return status;
}
