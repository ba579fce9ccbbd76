/*
 * bare.c: the floor of an HTTP reply: libmicrohttpd, one buffer, no questions asked.
 *
 *     bare THREADS FILE
 *
 * Answers every request with the bytes of FILE, on a port that it prints; ends with its standard input.
 */
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST 1048576 /* bytes of a reply */

static char reply[MOST];
static size_t reply_size;

/* Queued in the second call: else keep-alive is lost. */
static enum MHD_Result answer(void *arg, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *upload,
                              size_t *upload_size, void **state)
{
    (void)arg, (void)url, (void)method, (void)version, (void)upload, (void)upload_size;
    if (!*state) {
        *state = reply;
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(reply_size, reply,
                                                                    MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[2], "r") : NULL;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (!file) {
        fprintf(stderr, "usage: bare THREADS FILE\n");
        return 2;
    }
    reply_size = fread(reply, 1, sizeof reply, file);
    fclose(file);
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, &address,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)strtoul(argv[1], NULL, 10), MHD_OPTION_END);
    if (!daemon)
        return 1;
    printf("%u\n", MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    MHD_stop_daemon(daemon);
    return 0;
}
