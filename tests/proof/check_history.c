/*
 * check_history.c: check_history DIR... reads the history of memory directories strictly and says
 * what it found; --pending allows what a killed writer leaves to the next one.
 */
#include <string.h>

#include "support/ledger.h"
#include "support/proof.h"

int main(int argc, char **argv)
{
    unsigned flags = 0;
    proof_begin(argc, argv);
    for (int i = 1; i < argc; i++) {
        struct ledger ledger;
        if (strcmp(argv[i], "--pending") == 0) {
            flags |= LEDGER_PENDING;
            continue;
        }
        ledger_check(&ledger, argv[i], flags, NULL, NULL);
        proof_say(ledger.errors == 0,
                  "%s: %zu lines of %u keys, %u rebuilt, %u voids, %u external, %u seen, "
                  "%u events, %u errors",
                  argv[i], ledger.count, ledger.keys, ledger.rebuilt, ledger.voids, ledger.external,
                  ledger.seen, ledger.events, ledger.errors);
        ledger_free(&ledger);
    }
    return proof_end();
}
