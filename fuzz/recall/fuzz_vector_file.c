/*
 * fuzz_vector_file.c: a file of vectors that is damaged in any way is read within its bounds, and can be written.
 *
 * Input: the bytes of a file of model 7. Its images are 1111 and 2222.
 */
#undef NDEBUG
#include <assert.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/view.h"
#include "recall/vector_file.h"

#define MODEL 7
#define NAME "scope.vec"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int folder = -1;
static char path[] = "/tmp/ethos-fuzz-XXXXXX";

static void remove_folder(void)
{
    unlinkat(folder, NAME, 0);
    rmdir(path);
}

static void open_folder(void)
{
    if (folder >= 0)
        return;
    if (!mkdtemp(path))
        abort();
    folder = open(path, O_RDONLY | O_DIRECTORY);
    assert(folder >= 0);
    atexit(remove_folder);
}

static unsigned sum_passages(struct vector_file *file, uint64_t image)
{
    struct image_vectors found;
    struct passage_vectors vectors;
    unsigned sum = 0;
    assert(vector_file_find(file, image, &found) == ETHOS_OK);
    for (uint32_t passage = 0; passage < 64; passage++) {
        if (!image_vectors_find(&found, passage, &vectors))
            continue;
        for (size_t i = 0; i < ENCODER_WHOLE; i++)
            sum += (unsigned char)vectors.whole[i];
        for (size_t i = 0; i < (size_t)vectors.words * ENCODER_TOKEN; i++)
            sum += (unsigned char)vectors.tokens[i];
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint64_t images[] = {1111, 2222};
    struct vector_file *file;
    struct passage_vectors vectors;
    open_folder();
    int fd = openat(folder, NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
    assert(vector_file_open(folder, NAME, MODEL, &file, NULL) == ETHOS_OK);
    unsigned sum = sum_passages(file, images[0]) + sum_passages(file, images[1]);
    vector_file_known(file, sum, &vectors);
    vector_file_is_whole(file);
    assert(vector_file_save(file, folder, NAME, images, 2, true, NULL) == ETHOS_OK);
    vector_file_close(file);
    return 0;
}
