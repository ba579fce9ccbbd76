/*
 * adder.c: a program that appends one paragraph durably and does nothing else.
 */
#include <stdio.h>

#include "by_hand.h"

static char buffer[1 << 20];

int main(int argc, char **argv)
{
    if (argc != 3 || hand_add(argv[1], argv[2], buffer, sizeof buffer) != 0) {
        perror("adder");
        return 1;
    }
    puts("written");
    return 0;
}
