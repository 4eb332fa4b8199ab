/* Two references of a task, one after the other in the same arrays: what the first one put is noted in a list, element by
 * element, and what the second one put beside it. */

/* `expected` held all ones where nothing was put. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_collect_kernel(atoll_agreement_launch p)
{
    const atoll_u64 *expected = (const atoll_u64 *)p.expected, *scale = (const atoll_u64 *)p.scale;
    atoll_agreement_area *area = (atoll_agreement_area *)p.result;
    for (atoll_u64 i = thread_index(); i < p.count; i += thread_count()) {
        if (expected[i] == ~0ull)
            continue;
        atoll_u64 at = atomicAdd(&area->put_count, 1ull);
        if (at < p.room) {
            area->entries[at].index = i;
            area->entries[at].expected = __longlong_as_double((long long)expected[i]);
            area->entries[at].scale = scale ? __longlong_as_double((long long)scale[i]) : 0;
        }
    }
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_gather_kernel(atoll_agreement_launch p)
{
    const atoll_u64 *expected = (const atoll_u64 *)p.expected;
    const double *scale = (const double *)p.scale;
    atoll_agreement_area *area = (atoll_agreement_area *)p.result;
    atoll_u64 noted = area->put_count < p.room ? area->put_count : p.room, unset = 0;
    for (atoll_u64 i = thread_index(); i < noted; i += thread_count()) {
        area->entries[i].tiled = __longlong_as_double((long long)expected[area->entries[i].index]);
        area->entries[i].tiled_scale = scale ? scale[area->entries[i].index] : 0;
    }
    for (atoll_u64 i = thread_index(); i < p.count; i += thread_count())
        unset += expected[i] == ~0ull;
    unset = block_sum(unset);
    if (threadIdx.x == 0 && unset)
        atomicAdd(&area->unset_count, unset);
}
