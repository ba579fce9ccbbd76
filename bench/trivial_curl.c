/* trivial_curl.c: the floor of a program that asks a server: libcurl is loaded and initialised, nothing else. */
#include <curl/curl.h>

int main(void)
{
    if (curl_global_init(CURL_GLOBAL_ALL) != 0)
        return 1;
    CURL *handle = curl_easy_init();
    curl_easy_cleanup(handle);
    curl_global_cleanup();
    return handle ? 0 : 1;
}
