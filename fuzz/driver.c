/*
 * driver.c: runs a fuzz target over the files of its corpus, once each, without libFuzzer.
 *
 *     fuzz_update fuzz/corpus/update one-more-file
 *
 * Directories are read one level deep. This is how the check replays every input that ever mattered;
 * a sanitizer or a failed assertion ends the program. An empty corpus is a failure: a target that
 * was given nothing has shown nothing.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path)
{
    perror(path);
    exit(1);
}

/* The block is exactly as large as the input, so that one byte too far is seen. */
static void run_file(const char *path, size_t size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);

    if (!file || !data || fread(data, 1, size, file) != size)
        fail(path);
    fclose(file);
    /* Named first: when the target dies, the last line says on what. */
    fprintf(stderr, "%s\n", path);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static size_t run_path(const char *path, int depth)
{
    struct stat st;
    struct dirent **names;
    size_t count = 0;
    int total;

    if (stat(path, &st) != 0)
        fail(path);
    if (!S_ISDIR(st.st_mode)) {
        run_file(path, (size_t)st.st_size);
        return 1;
    }
    total = depth > 0 ? scandir(path, &names, NULL, alphasort) : 0;
    if (total < 0)
        fail(path);
    for (int i = 0; i < total; i++) {
        char child[4096];

        snprintf(child, sizeof(child), "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            count += run_path(child, depth - 1);
        free(names[i]);
    }
    if (depth > 0)
        free(names);
    return count;
}

int main(int argc, char **argv)
{
    size_t count = 0;

    for (int i = 1; i < argc; i++)
        count += run_path(argv[i], 1);
    printf("%zu inputs\n", count);
    return count ? 0 : 1;
}
