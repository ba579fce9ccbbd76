/*
 * embed.c: one turn of an agent with the library: prefetch before, sync after.
 *
 *     cc embed.c $(pkg-config --cflags --libs libethos) -o embed
 *     ./embed [HOME]
 *
 * Prints the block that would go into the prompt, then remembers something, then prints again.
 */
#include <ethos/ethos.h>

#include <stdio.h>
#include <string.h>

static int show_prompt(struct ethos_turn *turn, struct ethos_error *error)
{
    struct ethos_block *block;
    int code = ethos_prefetch(turn, NULL, &block, error);
    if (code != ETHOS_OK)
        return code;
    if (block)
        printf("%s\n", block->text);
    else
        printf("(no memory yet)\n");
    ethos_block_free(block);
    return ETHOS_OK;
}

static int remember(struct ethos_turn *turn, struct ethos_error *error)
{
    static const char fact[] = "The build runs on every push.";
    static const char person[] = "Prefers examples over explanations.";
    struct ethos_update updates[2];

    memset(updates, 0, sizeof updates);
    updates[0].action = ETHOS_ACTION_ADD; /* store NULL: MEMORY.md of the active personality */
    updates[0].text.data = fact;
    updates[0].text.size = sizeof fact - 1;
    updates[1].action = ETHOS_ACTION_REPLACE;
    updates[1].store = "user"; /* USER.md of the person at this machine */
    updates[1].text.data = person;
    updates[1].text.size = sizeof person - 1;
    return ethos_sync(turn, updates, 2, NULL, error);
}

int main(int argc, char **argv)
{
    struct ethos_options options;
    struct ethos_error error;
    struct ethos *memory = NULL;
    struct ethos_turn *turn = NULL;
    int code;

    memset(&options, 0, sizeof options);
    options.home = argc > 1 ? argv[1] : NULL;
    code = ethos_open(&options, &memory, &error);
    if (code == ETHOS_OK)
        code = ethos_turn_new(memory, NULL, &turn, &error);
    if (code == ETHOS_OK)
        code = show_prompt(turn, &error);
    if (code == ETHOS_OK)
        code = remember(turn, &error);
    if (code == ETHOS_OK)
        code = show_prompt(turn, &error);
    if (code != ETHOS_OK)
        fprintf(stderr, "embed: %s: %s\n", ethos_code_name(code), error.text);
    ethos_turn_free(turn);
    ethos_close(memory);
    return code == ETHOS_OK ? 0 : 1;
}
