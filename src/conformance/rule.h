/*
 * rule.h: a rule is a function that checks one property of a backend.
 */
#ifndef ETHOS_CONFORMANCE_RULE_H
#define ETHOS_CONFORMANCE_RULE_H

#include <stddef.h>

#define RULE_WHY_SIZE 1024 /* bytes of a reason, with terminator */

struct fixture;

struct rule {
    const char *name; /* of the function: test_what_is_written_reads_back */
    void (*run)(struct fixture *fixture);
};

#define RULE(function) RULE_NAMED(#function, function)

/* A rule with another name than its function, because that name is printed. */
#define RULE_NAMED(name, function)                                                                 \
    {                                                                                              \
        name, function                                                                             \
    }

enum rule_result { RULE_HOLDS, RULE_NOT_OFFERED, RULE_BROKEN };

/* Runs a rule, one at a time; `why` is what is broken or not offered, else "". */
enum rule_result rule_run(const struct rule *rule, struct fixture *fixture,
                          char why[RULE_WHY_SIZE]);

/* "what is written reads back" */
void rule_title(const struct rule *rule, char *out, size_t size);

#endif
