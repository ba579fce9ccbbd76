/*
 * trivial.c: the least a dynamically linked program does: one line, and out.
 */
#include <stdio.h>

int main(void)
{
    puts("hello");
    return 0;
}
