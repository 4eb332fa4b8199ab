/* test_check.c - the steps of a check, against the fault server as an endpoint and a real gateway as a client's. */
#include "tests/support/expect.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "llm-gateway/check/check.h"
#include "llm-gateway/server/gateway.h"
#include "tests/provider/launch.h"

#define TEXT_BYTES 32768

static char folder[] = "/tmp/atoll-check-XXXXXX";

/* "e.tls=skipped(...)\n" a step. */
static void note(void *context, const struct atoll_check_step *step)
{
    char *text = context;
    size_t used = strlen(text);
    assert_true(step->elapsed_s >= 0 && !strchr(step->text, '\n') && step->text[0]);
    snprintf(text + used, TEXT_BYTES - used, "%s.%s%s%s=%s (%s)\n", step->subject, step->name,
             step->model[0] ? "." : "", step->model, atoll_check_result_name(step->result), step->text);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static struct atoll_gateway_config *load_text(const char *text)
{
    char path[256];
    struct atoll_err err = ATOLL_ERR_INIT;
    write_file("gateway.yaml", text);
    snprintf(path, sizeof(path), "%s/gateway.yaml", folder);
    struct atoll_gateway_config *config = atoll_gateway_config_load(path, &err);
    if (!config)
        fail_msg("%s", err.text);
    return config;
}

static void expect(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] && !strstr(text, words[i]))
            fail_msg("'%s' is not in\n%s", words[i], text);
}
#define EXPECT(text, words) expect(text, words, sizeof(words) / sizeof(*words))

static unsigned check_text(const char *yaml, int has_no_call, char text[TEXT_BYTES])
{
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_check_settings settings;
    unsigned failed = 999;
    struct atoll_gateway_config *config = load_text(yaml);
    atoll_check_defaults(&settings);
    settings.has_no_call = has_no_call;
    text[0] = 0;
    assert_int_equal(atoll_check_endpoints(config, &settings, note, text, &failed, &err), 0);
    atoll_gateway_config_destroy(config);
    return failed;
}

/* A port of this machine at which nobody listens. */
static int closed_port(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &length), 0);
    close(fd);
    return ntohs(in.sin_port);
}

static void test_endpoints(void **state)
{
    char yaml[4096], text[TEXT_BYTES];
    struct provider provider;
    provider_start(&provider, NULL, NULL);
    write_file("good", "sk-good\n");
    write_file("bad", "bad-key\n");
    snprintf(
        yaml, sizeof(yaml),
        "version: 1\nendpoints:\n"
        "  - {name: well, provider: chat, url: '%s/v1', proxy: none, key_file: good}\n"
        "  - {name: refused, provider: anthropic, url: '%s/v1', proxy: none, key_file: bad}\n"
        "  - {name: keyless, provider: chat, url: '%s/v1', proxy: none, key_file: nowhere}\n"
        "  - {name: down, provider: responses, url: 'http://127.0.0.1:%d/v1', proxy: none}\n"
        "models:\n"
        "  - {name: fine, endpoint: well, model: limits-500-9000}\n"
        "  - {name: broken, endpoint: well, model: status-500-always}\n"
        "  - {name: plain, endpoint: well, model: toolless}\n"
        "  - {name: told, endpoint: well, model: toolless, tools: no}\n"
        "  - {name: b, endpoint: refused, model: ok}\n"
        "roles:\n"
        "  planner: {model: fine, temperature: 0.3, top_p: 1, effort: high, max_tokens: 800, candidates: 4}\n"
        "  '*': {candidates: 1}\n",
        provider.url, provider.url, provider.url, closed_port());
    static const char *const words[] = {
        "well.key=ok (from ",
        "well.connect=ok",
        "well.tls=skipped (http has none)",
        "well.token=ok",
        "well.models.fine=",
        "well.call.fine=ok (",
        "well.call.broken=failed (overloaded: ",
        "well.call.plain=ok (",
        "well.tools.plain=failed (it answers, but refuses tools; write tools: no for it",
        "well.call.told=ok (",
        "well.limits=ok (the replies' headers say: 1000 requests (500 left)",
        "refused.key=ok",
        "refused.token=failed (the endpoint refuses the key (HTTP 401)",
        "refused.call.b=skipped (the key is refused)",
        "keyless.key=failed (",
        "keyless.connect=ok",
        "keyless.call=skipped (there is no key)",
        "down.key=skipped (the endpoint has none)",
        "down.connect=failed (",
        "down.call=skipped (there was no reply)",
        "roles.role.fine=ok (planner, temperature 0.3, top_p 1, effort high, at most 800 tokens, 4 cand",
        "roles.role=ok (* (all others), the model that is asked for, 1 candidate)",
    };
    assert_int_equal(check_text(yaml, 0, text), 5);
    assert_null(strstr(text, "well.tools.told"));
    assert_null(strstr(text, "well.tools.fine"));
    EXPECT(text, words);
    assert_null(strstr(text, "sk-good"));
    assert_null(strstr(text, "bad-key"));
    write_file("good", "sk-a-key-nobody-may-see\n");
    snprintf(yaml, sizeof(yaml),
             "version: 1\nendpoints:\n"
             "  - {name: open, provider: chat, url: '%s/v1', proxy: none, key_file: good}\n"
             "models:\n"
             "  - {name: shown, endpoint: open, model: status-400-leak}\n",
             provider.url);
    static const char *const shown[] = {"open.call.shown=failed (invalid: ", "Incorrect API key ****"};
    check_text(yaml, 0, text);
    EXPECT(text, shown);
    assert_null(strstr(text, "sk-a-key"));
    static const char *const no_calls[] = {"open.call.shown=skipped (nothing that costs money was wanted)"};
    assert_int_equal(check_text(yaml, 1, text), 0);
    EXPECT(text, no_calls);
    provider_stop(&provider);
}

static void test_tls(void **state)
{
    static const struct {
        const char *certificate, *ca, *words[3];
    } rows[] = {
        {"valid.pem", "ca.pem", {"e.tls=ok (the certificate is accepted)", "e.call.m=ok"}},
        {"valid.pem",
         "other-ca.pem",
         {"e.connect=ok", "e.tls=failed (the server's certificate is signed by an unknown CA"}},
        {"expired.pem",
         "ca.pem",
         {"e.tls=failed (the server's certificate has expired", "e.call=skipped (there was no reply)"}},
        {"self-signed.pem", "ca.pem", {"e.tls=failed", "e.token=skipped"}},
        {"valid.pem", "missing.pem", {"the CA certificates cannot be read: see ca_file", "e.token=skipped"}},
    };
    char yaml[1024], text[TEXT_BYTES], certificates[64], file[128];
    provider_certificates(certificates);
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct provider provider;
        snprintf(file, sizeof(file), "%s/%s", certificates, rows[i].certificate);
        provider_start(&provider, "--tls", file);
        snprintf(
            yaml, sizeof(yaml),
            "version: 1\nendpoints: [{name: e, provider: chat, url: '%s/v1', proxy: none, ca_file: %s/%s}]\n"
            "models: [{name: m, endpoint: e, model: ok}]\n",
            provider.url, certificates, rows[i].ca);
        unsigned failed = check_text(yaml, 0, text);
        if (failed != (i ? 1 : 0))
            fail_msg("row %zu: %u failed\n%s", i, failed, text);
        EXPECT(text, rows[i].words);
        provider_stop(&provider);
    }
    provider_certificates_remove(certificates);
}

/* ---- a gateway ---- */

static volatile sig_atomic_t is_stopped;

static void on_stop(int number)
{
    is_stopped = 1;
}

static void on_opened(void *context, const char *url)
{
    const int *fd = context;
    dprintf(*fd, "%s\n", url);
}

/* A child that is a gateway until it gets SIGTERM; its URL goes to ret_url. */
static pid_t start_gateway(const char *yaml, char ret_url[256])
{
    int ends[2];
    struct atoll_gateway_config *config = load_text(yaml);
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct atoll_err err = ATOLL_ERR_INIT;
        signal(SIGTERM, on_stop);
        int rc = atoll_gateway_run(config, on_opened, &ends[1], &is_stopped, 1, &err);
        atoll_gateway_config_destroy(config);
        if (rc)
            fprintf(stderr, "gateway: %s\n", err.text);
        _exit(rc != 0);
    }
    close(ends[1]);
    FILE *announced = fdopen(ends[0], "r");
    if (!fgets(ret_url, 256, announced))
        fail_msg("the gateway does not say where it is");
    ret_url[strcspn(ret_url, "\n")] = 0;
    fclose(announced);
    atoll_gateway_config_destroy(config);
    return pid;
}

static void stop_gateway(pid_t pid)
{
    int status = -1;
    assert_int_equal(kill(pid, SIGTERM), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static unsigned check_where(const char *where, const char *token, const char *model, double deadline_s,
                            char text[TEXT_BYTES])
{
    char path[256];
    unsigned failed = 999;
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_check_settings settings;
    atoll_check_defaults(&settings);
    settings.deadline_s = deadline_s;
    snprintf(path, sizeof(path), "%s/%s", folder, token ? token : "");
    text[0] = 0;
    if (atoll_check_gateway(where, token ? path : NULL, model, &settings, note, text, &failed, &err))
        fail_msg("%s", err.text);
    return failed;
}

static void test_gateway(void **state)
{
    char yaml[1024], text[TEXT_BYTES], url[256], where[300];
    struct provider provider;
    provider_start(&provider, NULL, NULL);
    write_file("good", "a-token\n");
    write_file("bad", "another\n");
    snprintf(
        yaml, sizeof(yaml),
        "version: 1\nendpoints: [{name: e, provider: chat, url: '%s/v1', proxy: none}]\n"
        "models: [{name: m, endpoint: e, model: ok}]\nlisten: {address: '127.0.0.1:0', token_file: good}\n"
        "spool: spool\n",
        provider.url);
    pid_t pid = start_gateway(yaml, url);
    static const struct {
        const char *token, *model;
        unsigned failed;
        const char *words[3];
    } rows[] = {
        {"good", "m", 0, {".connect=ok", ".models.m=ok (the gateway has 1: m)", ".call.m=ok (m answered"}},
        {"good", NULL, 0, {".token=ok", ".models=ok", ".call=skipped (no model was named)"}},
        {"good", "n", 1, {".models.n=failed (the gateway does not know it", ".token=ok", ".call.n=failed"}},
        {"bad",
         "m",
         1,
         {".token=failed (the gateway refuses the token (HTTP 401)", ".connect=ok", ".call.m=skipped"}},
        {NULL,
         "m",
         1,
         {".token=failed (the gateway refuses callers without a token", ".connect=ok", ".call.m=skipped"}},
        {"missing", "m", 1, {".token=failed", ".connect=ok", ".call.m=skipped"}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        unsigned failed = check_where(url, rows[i].token, rows[i].model, 30, text);
        if (failed < rows[i].failed || (failed && !rows[i].failed))
            fail_msg("row %zu: %u failed\n%s", i, failed, text);
        EXPECT(text, rows[i].words);
        assert_null(strstr(text, "a-token"));
    }
    static const char *const spooled[] = {".folder=ok", ".call.m=ok (m answered"};
    snprintf(where, sizeof(where), "spool:%s/spool", folder);
    if (check_where(where, NULL, "m", 30, text))
        fail_msg("%s", text);
    EXPECT(text, spooled);
    stop_gateway(pid);
    static const char *const gone[] = {".connect=failed", ".call.m=skipped (there is no way to the gateway)"};
    assert_int_equal(check_where(url, "good", "m", 30, text), 1);
    EXPECT(text, gone);
    static const char *const nowhere[] = {".folder=failed (/nonexistent: No such file"};
    assert_int_equal(check_where("spool:/nonexistent", NULL, "m", 1, text), 1);
    EXPECT(text, nowhere);
    snprintf(where, sizeof(where), "replay:%s/missing", folder);
    static const char *const unrecorded[] = {".recording=failed", ".call.m=skipped (a recording answers"};
    assert_int_equal(check_where(where, NULL, "m", 1, text), 1);
    EXPECT(text, unrecorded);
    static const char *const unheard[] = {".connect=failed (nobody listens at the socket /nonexistent;"};
    assert_int_equal(check_where("unix:/nonexistent", NULL, "m", 1, text), 1);
    EXPECT(text, unheard);
    struct atoll_err err = ATOLL_ERR_INIT;
    struct atoll_check_settings settings;
    unsigned failed;
    atoll_check_defaults(&settings);
    assert_int_equal(atoll_check_gateway("here", NULL, NULL, &settings, note, text, &failed, &err), -1);
    assert_int_equal(err.code, ATOLL_E_USAGE);
    provider_stop(&provider);
}

static int setup(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    return remove(path);
}

static int teardown(void **state)
{
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_endpoints), cmocka_unit_test(test_tls),
                                       cmocka_unit_test(test_gateway)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
