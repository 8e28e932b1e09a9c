/* entry.h - how a function that programs call is defined. */
#ifndef TIDEMARK_REHEARSAL_ENTRY_H
#define TIDEMARK_REHEARSAL_ENTRY_H

/* An entry point: visible, and declared where it is defined, for only programs call it. */
#define API(type, name, ...)                                                                       \
    __attribute__((visibility("default"))) type name(__VA_ARGS__);                                 \
    type name(__VA_ARGS__)

#endif
