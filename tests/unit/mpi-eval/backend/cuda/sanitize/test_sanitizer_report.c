/* Reports as the four tools write them (Compute Sanitizer's manual and its samples), whole, cut off and hostile. */
#include "tests/support/expect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-eval/backend/cuda/sanitize/sanitizer.h"

#define HEAD "========= COMPUTE-SANITIZER\n"

static const struct {
    const char *report;
    enum atoll_sanitizer_state state;
    uint64_t errors, warnings;
    const char *text;
} rows[] = {
    {HEAD "========= ERROR SUMMARY: 0 errors\n", ATOLL_SANITIZER_CLEAN, 0, 0, ""},
    {HEAD "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n", ATOLL_SANITIZER_CLEAN,
     0, 0, ""},
    {HEAD "========= Warning: Race reported between Read access at lse+0x570\n"
          "=========     and Write access at lse+0x6a0 [128 hazards]\n"
          "=========\n"
          "========= RACECHECK SUMMARY: 3 hazards displayed (0 errors, 3 warnings)\n",
     ATOLL_SANITIZER_CLEAN, 0, 3, ""},
    {HEAD
     "========= Invalid __global__ read of size 4 bytes\n"
     "=========     at blend+0x90\n"
     "=========     by thread (32,0,0) in block (2,0,0)\n"
     "=========     Address 0x7f5a2ea00b00 is out of bounds\n"
     "=========     and is 1 bytes after the nearest allocation at 0x7f5a2ea00000 of size 2,816 bytes\n"
     "========= \n"
     "========= Invalid __global__ read of size 4 bytes\n"
     "=========     at blend+0x90\n"
     "========= \n"
     "========= ERROR SUMMARY: 1,312 errors\n"
     "========= ERROR SUMMARY: 1304 errors were not printed. Use --print-limit option to adjust the number "
     "of printed errors\n",
     ATOLL_SANITIZER_FOUND, 1312, 0,
     "Invalid __global__ read of size 4 bytes, at blend+0x90, by thread (32,0,0) in block (2,0,0), Address "
     "0x7f5a2ea00b00 is out of bounds"},
    {HEAD "========= Uninitialized __global__ memory read of size 4 bytes\n"
          "=========     at blend(const float *, float *)+0x130 in candidate.cu:8\n"
          "=========     by thread (0,0,0) in block (0,0,0)\n"
          "========= ERROR SUMMARY: 257 errors\n",
     ATOLL_SANITIZER_FOUND, 257, 0,
     "Uninitialized __global__ memory read of size 4 bytes, at blend(const float *, float *)+0x130 in "
     "candidate.cu:8, by thread (0,0,0) in block (0,0,0)"},
    {HEAD "========= Warning: Race reported between Read access at lse+0x570\n"
          "=========     and Write access at lse+0x6a0 [128 hazards]\n"
          "========= Error: Race reported between Write access at lse+0x90\n"
          "=========     and Read access at lse+0x100 [508 hazards]\n"
          "=========\n"
          "========= RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)\n",
     ATOLL_SANITIZER_FOUND, 1, 1,
     "Error: Race reported between Write access at lse+0x90, and Read access at lse+0x100 [508 hazards]"},
    {HEAD "========= ERROR: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :\n"
          "=========     Write Thread (0,0,0) at WAW()+0x2f0 in race.cu:20\n"
          "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
     ATOLL_SANITIZER_FOUND, 1, 0,
     "ERROR: Potential WAW hazard detected at __shared__ 0x0 in block (0,0,0) :, Write Thread (0,0,0) at "
     "WAW()+0x2f0 in race.cu:20"},
    {HEAD "========= Barrier error detected. Divergent thread(s) in block.\n"
          "=========     at f+0xf0\r\n"
          "=========     by thread (37,0,0) in block (0,0,0)\n"
          "=========         Device Frame: f+0xe40 in test.cu:60\n"
          "========= \n"
          "========= Target application returned an error\n"
          "========= ERROR SUMMARY: 17 errors\n",
     ATOLL_SANITIZER_FOUND, 17, 0,
     "Barrier error detected. Divergent thread(s) in block., at f+0xf0, by thread (37,0,0) in block (0,0,0), "
     "Device Frame: f+0xe40 in test.cu:60"},
    /* cut off behind a finding: a finding is one all the same */
    {HEAD "========= Invalid __shared__ write of size 8 bytes\n=========     at f+0x10",
     ATOLL_SANITIZER_FOUND, 0, 0, "Invalid __shared__ write of size 8 bytes, at f+0x10"},
    /* the tool's own trouble says nothing of the kernel, whatever is counted */
    {HEAD
     "========= Internal Sanitizer Error: The Sanitizer encountered an error while launching f and didn't "
     "track the launch. Errors might go undetected.\n"
     "========= ERROR SUMMARY: 0 errors\n",
     ATOLL_SANITIZER_UNFINISHED, 0, 0, "Internal Sanitizer Error: The Sanitizer encountered"},
    {HEAD "========= Error: Target application terminated before first instrumented API call\n",
     ATOLL_SANITIZER_UNFINISHED, 0, 0, "Error: Target application terminated before first"},
    {HEAD "========= Unable to find injection library libsanitizer-collection.so\n\n",
     ATOLL_SANITIZER_UNFINISHED, 0, 0, "Unable to find injection library libsanitizer-collection.so"},
    {HEAD
     "========= Error: process didn't terminate successfully\n"
     "=========     The application may have hit an error when dereferencing Unified Memory from the host.\n"
     "========= Target application returned an error\n"
     "========= ERROR SUMMARY: 1 error\n",
     ATOLL_SANITIZER_UNFINISHED, 1, 0, "Error: process didn't terminate successfully"},
    {HEAD "========= Something new\n========= ERROR SUMMARY: 2 errors\n", ATOLL_SANITIZER_UNFINISHED, 2, 0,
     "it counts 2 errors of a kind that is not known"},
    {HEAD, ATOLL_SANITIZER_UNFINISHED, 0, 0, ""},
    {"", ATOLL_SANITIZER_UNFINISHED, 0, 0, ""},
    /* lines without the mark are the program's */
    {HEAD
     "Invalid __global__ read of size 4 bytes\nERROR SUMMARY: 3 errors\n========= ERROR SUMMARY: 0 errors\n",
     ATOLL_SANITIZER_CLEAN, 0, 0, ""},
    {HEAD "========= Invalid \x1b[31m__global__\xff read\n========= ERROR SUMMARY: 1 error\n",
     ATOLL_SANITIZER_FOUND, 1, 0, "Invalid ?[31m__global__? read"},
    {HEAD "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n",
     ATOLL_SANITIZER_UNFINISHED, 1, 0, "of a kind that is not known"},
    {HEAD "========= ERROR SUMMARY: 99999999999999999999999999 errors\n", ATOLL_SANITIZER_UNFINISHED,
     9999999999999999999ull, 0, "of a kind that is not known"},
};

static void reads_reports(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct atoll_sanitizer_report r;
        memset(&r, 0x55, sizeof(r));
        atoll_sanitizer_report_read(rows[i].report, strlen(rows[i].report), &r);
        int is_whole = rows[i].state == ATOLL_SANITIZER_FOUND || !rows[i].text[0];
        int is_text = is_whole ? strcmp(r.text, rows[i].text) == 0 : strstr(r.text, rows[i].text) != NULL;
        if (r.state != rows[i].state || !is_text || r.warnings != rows[i].warnings ||
            r.errors != rows[i].errors)
            fail_msg("row %zu: state %d, %llu errors, %llu warnings, \"%s\"", i, (int)r.state,
                     (unsigned long long)r.errors, (unsigned long long)r.warnings, r.text);
    }
}

/* Every prefix of every report, without a byte behind it, is an answer (address sanitizer looks on); a cut report is never
 * a clean one. */
static void survives_every_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        for (size_t n = 0, all = strlen(rows[i].report); n < all; n++) {
            struct atoll_sanitizer_report r;
            char *exact = malloc(n ? n : 1);
            assert_non_null(exact);
            memcpy(exact, rows[i].report, n);
            atoll_sanitizer_report_read(exact, n, &r);
            assert_non_null(memchr(r.text, 0, sizeof(r.text)));
            if (r.state == ATOLL_SANITIZER_CLEAN && rows[i].state != ATOLL_SANITIZER_CLEAN)
                fail_msg("row %zu is clean when cut at %zu", i, n);
            free(exact);
        }
}

/* Lines without end, findings without end: what is kept is bounded. */
static void keeps_texts_short(void **state)
{
    enum { BYTES = 1 << 16 };
    char *bytes = malloc(BYTES);
    struct atoll_sanitizer_report r;
    (void)state;
    assert_non_null(bytes);
    memset(bytes, 'x', BYTES);
    memcpy(bytes, "========= Invalid ", 18);
    for (size_t i = 1; i < 8; i++)
        memcpy(bytes + 4096 * i, "\n=========     ", 15);
    atoll_sanitizer_report_read(bytes, BYTES, &r);
    assert_int_equal(r.state, ATOLL_SANITIZER_FOUND);
    assert_true(strlen(r.text) == sizeof(r.text) - 1);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_reports), cmocka_unit_test(survives_every_cut),
                                       cmocka_unit_test(keeps_texts_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
