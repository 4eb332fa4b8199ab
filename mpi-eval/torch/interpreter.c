#include "mpi-eval/torch/interpreter.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "mpi-eval/backend/compile/toolchain.h"
#include "mpi-eval/backend/sandbox/spawn.h"

#define ANSWER_BYTES    ((size_t)64 << 10)
#define ANSWER_VALUES   4096
#define ANSWER_WAIT_MS  30000
#define ANSWER_HOLDS_NS 60e9
#define KEY_BYTES       (4 * PATH_MAX)

/* With the user's own environment: torch may come from PYTHONPATH or ~/.local, which the isolated process is then given. */
static const char examination[] =
    "import sys\n"
    "del sys.path[0]\n"
    "import importlib.util, json, os, re\n"
    "path = [p for p in sys.path if os.path.isdir(p)]\n"
    "folders = [sys.prefix, sys.base_prefix, sys.exec_prefix, "
    "os.path.dirname(os.path.realpath(sys.executable))] + path\n"
    "says = {'python': sys.version.split()[0], 'torch': '', 'cuda': '', 'triton': ''}\n"
    "spec = importlib.util.find_spec('torch')\n"
    "if spec and spec.origin:\n"
    "    folder = os.path.dirname(spec.origin)\n"
    "    folders.append(os.path.dirname(os.path.realpath(folder)))\n"
    "    says['torch'] = 'of unknown version'\n"
    "    try:\n"
    "        with open(os.path.join(folder, 'version.py')) as f:\n"
    "            text = f.read(65536)\n"
    "    except OSError:\n"
    "        text = ''\n"
    "    for name, key in (('__version__', 'torch'), ('cuda', 'cuda')):\n"
    "        found = re.search(r'^%s\\b[^=]*=\\s*[\"\\x27]([^\"\\x27]+)' % name, text, re.M)\n"
    "        says[key] = found.group(1) if found else says[key]\n"
    "if importlib.util.find_spec('triton'):\n" /* metadata take four times as long to import as all else takes */
    "    from importlib import metadata\n"
    "    try:\n"
    "        says['triton'] = metadata.version('triton')\n"
    "    except metadata.PackageNotFoundError:\n"
    "        pass\n"
    "print(json.dumps({**says, 'executable': sys.executable, 'path': path, 'folders': "
    "sorted(set(folders))}))\n";

static json_t *examine(const char *python, struct atoll_err *err)
{
    char *argv[] = {strdup(python), strdup("-B"), strdup("-c"), strdup(examination), NULL};
    char *text = malloc(ANSWER_BYTES);
    json_t *answer = NULL;
    struct atoll_err why = ATOLL_ERR_INIT;
    if (!argv[0] || !argv[1] || !argv[2] || !argv[3] || !text)
        atoll_err_set(err, ATOLL_E_MEMORY, "no memory to examine a Python");
    else if (atoll_spawn_output(argv, NULL, ANSWER_WAIT_MS, text, ANSWER_BYTES, &why) != 0)
        atoll_err_set(err, ATOLL_E_MISSING, "%.300s does not start: %.500s", python, why.text);
    else if (!(answer = atoll_json_load(text, strlen(text), ANSWER_VALUES, 0, NULL)) ||
             !json_is_string(json_object_get(answer, "torch")) ||
             !json_is_array(json_object_get(answer, "path")) ||
             !json_is_array(json_object_get(answer, "folders"))) {
        json_decref(answer);
        answer = NULL;
        atoll_err_set(err, ATOLL_E_MISSING,
                      "%.300s is no Python 3 that works: it did not answer a short program", python);
    }
    for (size_t i = 0; i < sizeof(argv) / sizeof(*argv); i++)
        free(argv[i]);
    free(text);
    return answer;
}

/* One command asks several times: for a device, a task's truth, each process that it starts. */
static struct {
    pthread_mutex_t lock;
    char key[KEY_BYTES];
    json_t *answer; /* owned; NULL: none */
    double since_ns;
} last = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* What an answer follows from; 0: that is not known. */
static int key_make(const char *python, char *ret_key, size_t bytes)
{
    const char *path = getenv("PYTHONPATH"), *home = getenv("PYTHONHOME");
    struct stat st;
    int n = stat(python, &st) != 0
                ? -1
                : snprintf(ret_key, bytes, "%s\n%s\n%s\n%ju %ju %jd.%09ld", python, path ? path : "",
                           home ? home : "", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino,
                           (intmax_t)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    return n > 0 && (size_t)n < bytes;
}

json_t *atoll_torch_examine(const char *python, struct atoll_err *err)
{
    char key[KEY_BYTES];
    int has_key = key_make(python, key, sizeof(key));
    pthread_mutex_lock(&last.lock);
    int is_known = has_key && last.answer && strcmp(key, last.key) == 0 &&
                   atoll_clock_mono_ns() - last.since_ns < ANSWER_HOLDS_NS;
    json_t *answer = is_known ? json_deep_copy(last.answer) : NULL;
    pthread_mutex_unlock(&last.lock);
    if (answer || !(answer = examine(python, err)) || !has_key)
        return answer;
    pthread_mutex_lock(&last.lock);
    json_decref(last.answer);
    last.answer = json_deep_copy(answer);
    last.since_ns = atoll_clock_mono_ns();
    memcpy(last.key, key, sizeof(key));
    pthread_mutex_unlock(&last.lock);
    return answer;
}

/* A command of PATH or a path, as an absolute one; links stay: a virtual environment is known by them. */
static int locate(const char *command, char *ret_python, size_t bytes, struct atoll_err *err)
{
    char folder[PATH_MAX] = "";
    char *found = strchr(command, '/') ? strdup(command) : atoll_toolchain_find_program(command);
    if (!found)
        return atoll_err_set(err, ATOLL_E_MISSING, "there is no %.200s in PATH", command);
    if (access(found, X_OK) != 0) {
        free(found);
        return atoll_err_set(err, ATOLL_E_MISSING, "%.300s is no program that can be started", command);
    }
    if (found[0] != '/' && !getcwd(folder, sizeof(folder)))
        folder[0] = '\0';
    int n = snprintf(ret_python, bytes, "%s%s%s", folder, folder[0] ? "/" : "", found);
    free(found);
    return n > 0 && (size_t)n < bytes
               ? 0
               : atoll_err_set(err, ATOLL_E_LIMIT, "the path of Python is longer than %zu bytes", bytes - 1);
}

void atoll_torch_describe(const json_t *answer, char *ret_text, size_t bytes)
{
    const char *torch = atoll_json_member(answer, "torch"), *cuda = atoll_json_member(answer, "cuda");
    const char *triton = atoll_json_member(answer, "triton");
    snprintf(ret_text, bytes, "%s%.40s%s%.16s%s%.16s", *torch ? "torch " : "", torch, *cuda ? ", CUDA " : "",
             cuda, *triton ? ", Triton " : "", triton);
}

int atoll_torch_is_tried(const char *version)
{
    unsigned major = 0, minor = 0;
    if (sscanf(version, "%u.%u", &major, &minor) != 2)
        return 0;
    unsigned number = major * 1000 + minor;
    return number < 1013 ? -1 : number <= 2011;
}

int atoll_python_find(const char *asked, const char *module, char *ret_python, size_t bytes,
                      struct atoll_err *err)
{
    struct atoll_err why = ATOLL_ERR_INIT;
    char python[PATH_MAX];
    const char *named = asked && strcmp(asked, ATOLL_TORCH_AUTO) != 0 ? asked : getenv(ATOLL_TORCH_VARIABLE);
    int is_named = named && named[0] && strcmp(named, ATOLL_TORCH_AUTO) != 0;
    if ((asked && !asked[0]) || (is_named && strcmp(named, ATOLL_TORCH_NONE) == 0))
        return 1;
    json_t *answer = NULL;
    if (locate(is_named ? named : "python3", python, sizeof(python), &why) == 0)
        answer = atoll_torch_examine(python, &why);
    int has_it = answer && *atoll_json_member(answer, module);
    json_decref(answer);
    if (has_it && strlen(python) < bytes) {
        snprintf(ret_python, bytes, "%s", python);
        return 0;
    }
    if (!is_named)
        return 1;
    if (has_it)
        return atoll_err_set(err, ATOLL_E_LIMIT, "the path of Python is longer than %zu bytes", bytes - 1);
    return atoll_err_set(err, ATOLL_E_MISSING,
                         "%.600s%s%s; name a Python that has %s with --python or in " ATOLL_TORCH_VARIABLE
                         ", or \"none\" to go without",
                         why.text, why.text[0] ? "" : "it has no ", why.text[0] ? "" : module, module);
}

int atoll_triton_find(const char *asked, char *ret_python, size_t bytes, struct atoll_err *err)
{
    int found = atoll_python_find(asked, "triton", ret_python, bytes, err);
    int is_refused = asked && strcmp(asked, ATOLL_TORCH_NONE) == 0;
    if (found <= 0)
        return found;
    return atoll_err_set(
        err, ATOLL_E_MISSING,
        "%s has no Triton; install it (pip install triton) or name a Python that has it with "
        "--python or in " ATOLL_TORCH_VARIABLE,
        is_refused ? "a run without Python (--python none)" : "the python3 of PATH");
}

int atoll_torch_find(const char *asked, char *ret_python, size_t bytes, struct atoll_err *err)
{
    return atoll_python_find(asked, "torch", ret_python, bytes, err);
}

void atoll_torch_versions(const char *asked, int needs_cuda, char *ret_text, size_t bytes)
{
    struct atoll_err err = ATOLL_ERR_INIT;
    char python[PATH_MAX];
    int found = atoll_torch_find(asked, python, sizeof(python), &err);
    json_t *answer = found == 0 ? atoll_torch_examine(python, &err) : NULL;
    ret_text[0] = '\0';
    if (err.text[0])
        atoll_log(ATOLL_LOG_WARNING, "eval.torch.none", "no PyTorch here: %.900s", err.text);
    if (answer && needs_cuda && !*atoll_json_member(answer, "cuda"))
        atoll_log(ATOLL_LOG_WARNING, "eval.torch.none",
                  "the torch of %.300s knows no CUDA: it measures nothing on the GPU", python);
    else if (answer)
        atoll_torch_describe(answer, ret_text, bytes);
    json_decref(answer);
}
