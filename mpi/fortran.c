/* Which callers are MPI's functions for Fortran: those call functions for C by their profiling names, as MPI itself
   does when it exchanges messages of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>

#include "recorder.h"

/* A function of each library with those for Fortran: of mpif.h and `use mpi`, and of `use mpi_f08`. */
static const char *const ENTRIES[] = {"mpi_init_", "mpi_init_f08_"};
enum { ENTRY_COUNT = sizeof ENTRIES / sizeof *ENTRIES };

/* Addresses of a library; none where `low` and `high` are 0. */
struct bounds {
    uintptr_t low, high;
};
static struct bounds libraries[ENTRY_COUNT];

/* What is looked for: the library that has an address. */
struct search {
    uintptr_t address;
    struct bounds found;
};

static struct bounds bounds_of(const struct dl_phdr_info *library) {
    struct bounds all = {UINTPTR_MAX, 0};
    for (int at = 0; at < library->dlpi_phnum; at++) {
        uintptr_t low = library->dlpi_addr + library->dlpi_phdr[at].p_vaddr;
        uintptr_t high = low + library->dlpi_phdr[at].p_memsz;
        if (library->dlpi_phdr[at].p_type == PT_LOAD) {
            all.low = low < all.low ? low : all.low;
            all.high = high > all.high ? high : all.high;
        }
    }
    return all;
}

static int is_within(uintptr_t address, struct bounds bounds) {
    return address >= bounds.low && address < bounds.high;
}

static int compare(struct dl_phdr_info *library, size_t size, void *place) {
    (void)size;
    struct search *search = place;
    struct bounds bounds = bounds_of(library);
    if (!is_within(search->address, bounds)) {
        return 0;
    }
    search->found = bounds;
    return 1;
}

static struct bounds library_of(const char *name) {
    struct search search = {(uintptr_t)function_of(name), {0, 0}};
    if (search.address) {
        dl_iterate_phdr(compare, &search);
    }
    return search.found;
}

void *function_of(const char *name) { return dlsym(RTLD_NEXT, name); }

/* A library that has the functions for C as well is left out: its calls may be MPI's own. */
__attribute__((constructor)) static void find_libraries(void) {
    struct bounds own = library_of("PMPI_Comm_rank");
    for (size_t at = 0; at < ENTRY_COUNT; at++) {
        struct bounds found = library_of(ENTRIES[at]);
        libraries[at] = found.low == own.low ? (struct bounds){0, 0} : found;
    }
}

int is_from_fortran(const void *caller) {
    for (size_t at = 0; at < ENTRY_COUNT; at++) {
        if (is_within((uintptr_t)caller, libraries[at])) {
            return 1;
        }
    }
    return 0;
}
