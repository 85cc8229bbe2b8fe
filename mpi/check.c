/* Checks schedule files without MPI: one line for each; ends with 2 when one is wrong. */
#include <stdio.h>
#include <stdlib.h>

#include "schedule.h"

static int check(const char *name) {
    size_t size = 0;
    unsigned char *bytes = file_contents(name, &size);
    if (!bytes) {
        printf("%s: cannot be read\n", name);
        return 2;
    }
    struct schedule schedule;
    struct mistake mistake;
    int is_wrong = schedule_check(bytes, size, &schedule, &mistake) != 0;
    if (is_wrong) {
        printf("%s: byte %zu: %s\n", name, mistake.byte, mistake.text);
    } else {
        printf("%s: %u ranks, %u streams\n", name, schedule.ranks, schedule.streams);
    }
    free(bytes);
    return is_wrong ? 2 : 0;
}

int main(int count, char **words) {
    int worst = 0;
    for (int index = 1; index < count; index++) {
        worst |= check(words[index]);
    }
    return worst;
}
