/*
 * stranger.c: a shared object that is no module.
 */
int stranger(void);

int stranger(void)
{
    return 1;
}
