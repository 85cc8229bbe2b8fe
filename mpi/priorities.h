#ifndef PRIORITIES_H
#define PRIORITIES_H

/* Variables and marks of sockets of a job's ranks. Both must stand before MPI opens a device, when a process knows its
   number from its launcher alone. */

/* Carries out a word `FIRST-LAST:NAME=VALUE` if this process is one of these ranks of all: sets the variable; of the names
   SOCKET_OCTET and SOCKET_PRIORITY, marks every socket of IP that this process opens or accepts from now on (ip(7): IP_TOS;
   socket(7): SO_PRIORITY). 0, or -1 when the word has another form. Ends the process where the launcher names no rank, and
   later where the host refuses a mark. */
int set_for_ranks(const char *word);

#endif
