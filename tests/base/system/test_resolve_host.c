/*
 * test_resolve_host.c: addresses of names, and a resolver who is asked and says nothing.
 */
#include "base/system/resolve_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../support/temp.h"
#include "base/system/os.h"

static void assert_finds(const char *host, const char *number)
{
    struct addrinfo *list = NULL;
    char found[NI_MAXHOST] = "";
    assert_int_equal(resolve_host(host, "80", os_monotonic_ms() + 10000, &list), 0);
    assert_int_equal(
        getnameinfo(list->ai_addr, list->ai_addrlen, found, sizeof found, NULL, 0, NI_NUMERICHOST),
        0);
    freeaddrinfo(list);
    if (number)
        assert_string_equal(found, number);
}

static void test_numbers_and_names_are_found(void **state)
{
    (void)state;
    assert_finds("127.0.0.1", "127.0.0.1");
    assert_finds("::1", "::1");
    assert_finds("localhost", NULL);
}

static void test_what_is_no_name_has_no_address(void **state)
{
    struct addrinfo *list = NULL;
    char endless[4096];
    (void)state;
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_int_not_equal(resolve_host(endless, "80", os_monotonic_ms() + 10000, &list), 0);
    assert_null(list);
}

/* ---- one who says nothing -------------------------------------------------------------------- */

/* A network of our own, in which he is the only one to be asked, for ten minutes. His socket; -1: not allowed. */
static int open_silence(const struct temp *temp)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(53)};
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    char path[300];
    temp_write(temp, "resolv.conf", "nameserver 127.0.0.1\noptions timeout:30 attempts:20\n");
    snprintf(path, sizeof path, "%s/resolv.conf", temp->path);
    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0)
        return -1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    return fd;
}

static void test_one_who_says_nothing_is_not_waited_for(void **state)
{
    struct temp temp;
    struct addrinfo *list = NULL;
    (void)state;
    temp_make(&temp);
    int fd = open_silence(&temp);
    if (fd < 0) {
        temp_remove(&temp);
        skip();
    }
    int64_t began = os_monotonic_ms();
    assert_int_equal(resolve_host("slow.example.org", "80", began + 200, &list), EAI_AGAIN);
    assert_null(list);
    struct pollfd asked = {fd, POLLIN, 0};
    assert_int_equal(os_poll(&asked, 1, 10000), 1);
    assert_true(os_monotonic_ms() - began < 60000); // he has ten minutes
    assert_int_equal(umount2("/etc/resolv.conf", MNT_DETACH), 0);
    close(fd);
    temp_remove(&temp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_and_names_are_found),
        cmocka_unit_test(test_what_is_no_name_has_no_address),
        cmocka_unit_test(test_one_who_says_nothing_is_not_waited_for), // the last: it moves
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
