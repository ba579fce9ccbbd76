/*
 * mute.c: a server that is of no use.
 *
 *     mute silent    takes connections and never says a word
 *     mute full      has no room for another one: what is sent to it is dropped, as by a firewall
 *
 * On a port of the loopback that it prints; ends with its standard input.
 */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ENOUGH 8 /* connections that fill a queue of one */

static int listen_somewhere(int backlog, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET,
                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd < 0 || bind(fd, (struct sockaddr *)address, size) != 0 || listen(fd, backlog) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &size) != 0)
        return -1;
    return fd;
}

int main(int argc, char **argv)
{
    struct sockaddr_in address;
    int full = argc == 2 && strcmp(argv[1], "full") == 0;
    if (!full && (argc != 2 || strcmp(argv[1], "silent") != 0)) {
        fprintf(stderr, "usage: mute silent | mute full\n");
        return 2;
    }
    if (listen_somewhere(full ? 0 : 1024, &address) < 0)
        return 1;
    for (int i = 0; full && i < ENOUGH; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fd, (struct sockaddr *)&address, sizeof address);
    }
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}
