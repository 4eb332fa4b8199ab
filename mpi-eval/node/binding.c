/* binding.c - sysfs tells what is near, sched_setaffinity binds.  What is bound later (threads, compile children, the
 * device's process) inherits. */
#include "mpi-eval/node/binding.h"

#include <ctype.h>
#include <dirent.h>
#include <hwloc/glibc-sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "mpi-eval/node/gpus.h"

#define NVIDIA        0x10deu
#define CLASS_DISPLAY 0x03u /* the upper byte of three */
#define DEPTH_LIMIT   8     /* processes below processes */

/* ---- which cores ---- */

static unsigned cores_in(hwloc_topology_t topology, hwloc_const_cpuset_t set)
{
    unsigned count = 0;
    hwloc_obj_t core = NULL;
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL)
        count += hwloc_bitmap_intersects(core->cpuset, set) ? 1 : 0;
    return count;
}

void atoll_locality_part(hwloc_topology_t topology, hwloc_const_cpuset_t set, unsigned index, unsigned count,
                         hwloc_cpuset_t ret_cores)
{
    unsigned total = cores_in(topology, set), seen = 0;
    hwloc_obj_t core = NULL;
    if (total == 0 || count < 2 || index >= count) {
        hwloc_bitmap_copy(ret_cores, set);
        return;
    }
    unsigned first = (unsigned)((unsigned long)total * index / count);
    unsigned last = (unsigned)((unsigned long)total * (index + 1) / count);
    last = last == first ? first + 1 : last;
    hwloc_bitmap_zero(ret_cores);
    while ((core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core)) != NULL) {
        if (!hwloc_bitmap_intersects(core->cpuset, set))
            continue;
        if (seen >= first && seen < last)
            hwloc_bitmap_or(ret_cores, ret_cores, core->cpuset);
        seen++;
    }
    hwloc_bitmap_and(ret_cores, ret_cores, set);
}

enum atoll_locality atoll_locality_choose(hwloc_topology_t topology, const struct atoll_locality_request *r,
                                          hwloc_cpuset_t ret_cores)
{
    hwloc_bitmap_copy(ret_cores, r->mask);
    if (!r->local || hwloc_bitmap_iszero(r->local))
        return ATOLL_LOCALITY_UNKNOWN;
    if (!hwloc_bitmap_intersects(r->pool, r->local))
        return ATOLL_LOCALITY_FAR;
    hwloc_bitmap_and(ret_cores, r->pool, r->local);
    if (!hwloc_bitmap_isequal(r->pool, r->mask)) {
        hwloc_bitmap_t near = hwloc_bitmap_dup(ret_cores);
        if (near)
            atoll_locality_part(topology, near, r->index, r->count, ret_cores);
        hwloc_bitmap_free(near);
    }
    return ATOLL_LOCALITY_NEAR;
}

/* ---- the device's seat ---- */

static int read_attribute(const char *folder, const char *address, const char *name, char *ret_text,
                          size_t bytes)
{
    char path[512];
    int n = snprintf(path, sizeof(path), "%s/%s/%s", folder, address, name);
    FILE *file = n > 0 && (size_t)n < sizeof(path) ? fopen(path, "re") : NULL;
    int rc = file && fgets(ret_text, (int)bytes, file) ? 0 : -1;
    if (file)
        fclose(file);
    if (rc == 0)
        ret_text[strcspn(ret_text, "\n")] = '\0';
    return rc;
}

static int is_gpu(const char *folder, const char *address)
{
    char vendor[32], class[32];
    return read_attribute(folder, address, "vendor", vendor, sizeof(vendor)) == 0 &&
           read_attribute(folder, address, "class", class, sizeof(class)) == 0 &&
           strtoul(vendor, NULL, 16) == NVIDIA && strtoul(class, NULL, 16) >> 16 == CLASS_DISPLAY;
}

/* An address comes from the device's process, which is not trusted with paths. */
static int is_address(const char *text)
{
    return text[0] && strlen(text) < 32 && strspn(text, "0123456789abcdefABCDEF:.") == strlen(text) &&
           isxdigit((unsigned char)text[0]);
}

int atoll_pci_seat(const char *folder, const char *address, struct atoll_pci_seat *ret_seat)
{
    struct atoll_pci_seat seat = {.local = ""};
    char lower[32] = "", local[sizeof(seat.local)];
    for (size_t i = 0; is_address(address) && address[i]; i++)
        lower[i] = (char)tolower((unsigned char)address[i]);
    DIR *dir = lower[0] && read_attribute(folder, lower, "local_cpulist", seat.local, sizeof(seat.local)) == 0
                   ? opendir(folder)
                   : NULL;
    if (!dir)
        return -1;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        if (entry->d_name[0] == '.' || !is_gpu(folder, entry->d_name))
            continue;
        seat.total++;
        if (read_attribute(folder, entry->d_name, "local_cpulist", local, sizeof(local)) != 0 ||
            strcmp(local, seat.local) != 0) {
            continue;
        }
        seat.count++;
        seat.index += strcasecmp(entry->d_name, lower) < 0 ? 1 : 0;
    }
    closedir(dir);
    *ret_seat = seat;
    return 0;
}

struct atoll_slice atoll_binding_part(const struct atoll_pci_seat *seat, const struct atoll_slice *slice,
                                      int is_whole_gpu)
{
    if (is_whole_gpu && seat->total == slice->count && seat->count > 0)
        return (struct atoll_slice){seat->index, seat->count};
    return *slice;
}

/* ---- processes ---- */

static void bind_process(pid_t pid, const cpu_set_t *cores, int depth);

static void bind_children(pid_t pid, pid_t thread, const cpu_set_t *cores, int depth)
{
    char path[64];
    int child;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        bind_process(child, cores, depth + 1);
    if (file)
        fclose(file);
}

/* Before its children are listed, so that one made meanwhile has inherited. */
static void bind_process(pid_t pid, const cpu_set_t *cores, int depth)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *dir = depth < DEPTH_LIMIT ? opendir(path) : NULL;
    for (struct dirent *entry = dir ? readdir(dir) : NULL; entry; entry = readdir(dir)) {
        int thread = atoi(entry->d_name);
        if (thread <= 0)
            continue;
        sched_setaffinity(thread, sizeof(*cores), cores);
        bind_children(pid, thread, cores, depth);
    }
    if (dir)
        closedir(dir);
}

/* ---- this process ---- */

static struct atoll_slice slice_from_environment(void)
{
    struct atoll_slice slice = {0, 1};
    const char *text = getenv(ATOLL_SLICE_VARIABLE);
    unsigned index, count;
    if (text && sscanf(text, "%u/%u", &index, &count) == 2 && index < count)
        slice = (struct atoll_slice){index, count};
    return slice;
}

static hwloc_bitmap_t mask_of(hwloc_topology_t topology, pid_t pid)
{
    cpu_set_t set;
    hwloc_bitmap_t mask = hwloc_bitmap_alloc();
    if (mask && sched_getaffinity(pid, sizeof(set), &set) == 0 &&
        hwloc_cpuset_from_glibc_sched_affinity(topology, mask, &set, sizeof(set)) == 0) {
        return mask;
    }
    hwloc_bitmap_free(mask);
    return NULL;
}

static void put_list(hwloc_const_bitmap_t set, char *ret_text, size_t bytes)
{
    int n = hwloc_bitmap_list_snprintf(ret_text, bytes, set);
    if (n >= (int)bytes)
        memcpy(ret_text + bytes - 4, "...", 4);
}

/* Chooses the cores, goes there, and fills the place.  pool: of the spawner, which is not sliced. */
static void choose_cores(hwloc_topology_t topology, const struct atoll_pci_seat *seat, int has_seat,
                         struct atoll_evaluator_location *place)
{
    const char *device = getenv(ATOLL_GPU_VARIABLE);
    struct atoll_slice slice = slice_from_environment();
    struct atoll_slice part = atoll_binding_part(seat, &slice, !(device && strncmp(device, "MIG-", 4) == 0));
    hwloc_bitmap_t mask = mask_of(topology, 0), pool = mask_of(topology, getppid());
    hwloc_bitmap_t local = hwloc_bitmap_alloc(), cores = hwloc_bitmap_alloc();
    if (mask && local && cores) {
        const struct atoll_locality_request request = {.mask = mask,
                                                       .pool = pool ? pool : mask,
                                                       .local = local,
                                                       .index = part.index,
                                                       .count = part.count};
        if (has_seat)
            hwloc_bitmap_list_sscanf(local, seat->local);
        enum atoll_locality found = atoll_locality_choose(topology, &request, cores);
        cpu_set_t set;
        if (found == ATOLL_LOCALITY_NEAR && !hwloc_bitmap_isequal(cores, mask) &&
            hwloc_cpuset_to_glibc_sched_affinity(topology, cores, &set, sizeof(set)) == 0 &&
            CPU_COUNT(&set) > 0) {
            bind_process(getpid(), &set, 0);
        }
        if (found == ATOLL_LOCALITY_FAR) {
            char had[128];
            put_list(mask, had, sizeof(had));
            snprintf(place->note, sizeof(place->note),
                     "its cores (%s) are not near its device (%.200s); give each rank cores of its device's "
                     "NUMA node, as with srun --gpu-bind=closest or mpirun --bind-to none",
                     had, seat->local);
        }
        int count = hwloc_bitmap_weight(cores);
        hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
        place->core_count = count > 0 ? (uint32_t)count : 0;
        put_list(cores, place->cores, sizeof(place->cores));
        if (nodes && hwloc_cpuset_to_nodeset(topology, cores, nodes) == 0)
            put_list(nodes, place->numa, sizeof(place->numa));
        hwloc_bitmap_free(nodes);
    }
    hwloc_bitmap_free(mask);
    hwloc_bitmap_free(pool);
    hwloc_bitmap_free(local);
    hwloc_bitmap_free(cores);
}

void atoll_binding_make(const char *address, struct atoll_evaluator_location *ret_place)
{
    struct atoll_pci_seat seat = {.local = ""};
    hwloc_topology_t topology;
    int has_seat = address[0] && atoll_pci_seat(ATOLL_PCI_FOLDER, address, &seat) == 0;
    if (hwloc_topology_init(&topology) != 0)
        return;
    if (hwloc_topology_load(topology) == 0)
        choose_cores(topology, &seat, has_seat, ret_place);
    hwloc_topology_destroy(topology);
}
