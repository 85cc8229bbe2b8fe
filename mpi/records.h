/* What ranks have recorded, gathered and written by rank 0 of the world. */
#ifndef ETHERWEAVE_RECORDS_H
#define ETHERWEAVE_RECORDS_H

#include <stdint.h>

#include "clocks.h"
#include "program.h"
#include "streams.h"

/* A rank and all that it has recorded. */
struct record {
    int job, rank, ranks; /* of the job */
    const struct program *program;
    const struct streams *streams;
    struct offset before, after; /* its clock's offset before and after the run */
    int64_t start_ns, missed_ns; /* the agreed start by its clock, and by how much it came late */
    int64_t end_ns;              /* when all its work was done, by its clock */
};

/* Writes iterations.bin, ranks.csv, messages.csv and streams.csv into a directory; all ranks call it. */
void records_write(const char *directory, const struct record *record);

#endif
