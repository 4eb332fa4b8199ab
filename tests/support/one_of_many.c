/* one_of_many.c - the unit tests of a module as one program: `tests_<module> NOUN`.  ATOLL_TEST_LIST names the list, a row each. */
#include <stdio.h>
#include <string.h>

#define TEST(noun) int main_of_##noun(void);
#include ATOLL_TEST_LIST
#undef TEST

static const struct {
    const char *noun;
    int (*run)(void);
} tests[] = {
#define TEST(noun) {#noun, main_of_##noun},
#include ATOLL_TEST_LIST
#undef TEST
};

int main(int argc, char **argv)
{
    size_t count = sizeof(tests) / sizeof(tests[0]);
    for (size_t i = 0; argc == 2 && i < count; i++)
        if (strcmp(argv[1], tests[i].noun) == 0)
            return tests[i].run();
    fprintf(stderr, "usage: %s NOUN; one of:\n", argv[0]);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "%s\n", tests[i].noun);
    return 64;
}
