/* signal_name.h - signals by the names that people and batch systems use.  Layer: base. */
#ifndef ATOLL_BASE_SIGNAL_NAME_H
#define ATOLL_BASE_SIGNAL_NAME_H

/* "TERM", "SIGTERM", "15": 15; -1 for another word. */
int atoll_signal_number(const char *name);

#endif
