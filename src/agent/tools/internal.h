/*
 * internal.h: what the groups of tools implement.
 */
#ifndef ETHOS_AGENT_TOOLS_INTERNAL_H
#define ETHOS_AGENT_TOOLS_INTERNAL_H

#include "agent/tools/toolbox.h"

/* A call that has passed the gate: the arguments are an object. */
struct toolbox_call {
    struct toolbox *box;
    const char *name;
    const json_t *args;
    const char *id;
    struct str *out;
    enum toolbox_text *text;
};

struct tool_group {
    /* Adds its tools by toolbox_add. */
    int (*add)(struct toolbox *self, struct ethos_error *error);
    /* Whether a name is one of its tools. */
    bool (*has)(const char *name);
    /* As toolbox_call. */
    bool (*call)(const struct toolbox_call *call);
    bool foreign;
};

extern const struct tool_group memory_tools, file_tools;

/* Strings are borrowed as long as the toolbox; takes the schema. */
int toolbox_add(struct toolbox *self, const char *name, const char *description, json_t *schema,
                struct ethos_error *error);

/* Appends the sentence; false. */
bool toolbox_refuse(const struct toolbox_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
