/*
 * main_db.c: the program ethos-db: ethos with the session store.
 */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
