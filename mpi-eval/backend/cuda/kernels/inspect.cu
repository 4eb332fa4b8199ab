/* What a candidate left: hashes of tensors and guard zones, all of them by one launch. */

/* Words first .. end - 1 of a zone; four pairs in flight per thread. */
ATOLL_INLINE atoll_u64 hash_words(const atoll_zone &z, atoll_u64 first, atoll_u64 end)
{
    const atoll_u64 key = z.key, address = z.address;
    atoll_u64 sum = 0, i = first / 2 + threadIdx.x; /* a tile begins at an even word */
    if ((address & 15) == 0) {
        const ulonglong2 *pairs = (const ulonglong2 *)address;
#pragma unroll 4
        for (; i < end / 2; i += blockDim.x) {
            ulonglong2 v = pairs[i];
            sum += atoll_hash_term(atoll_position_key(key, 2 * i), v.x);
            sum += atoll_hash_term(atoll_position_key(key, 2 * i + 1), v.y);
        }
        first = end / 2 * 2 > first ? end / 2 * 2 : first;
    }
#pragma unroll 4
    for (i = first + threadIdx.x; i < end; i += blockDim.x)
        sum += atoll_hash_term(atoll_position_key(key, i), word_get(address, i));
    return sum;
}

/* Bytes after the last whole word are a word of their own. */
ATOLL_INLINE atoll_u64 hash_rest(const atoll_zone &z)
{
    atoll_u64 words = z.bytes / 8, rest = 0;
    for (unsigned k = 0; k < z.bytes % 8; k++)
        rest |= (atoll_u64)((const atoll_byte *)z.address)[words * 8 + k] << 8 * k;
    return atoll_hash_term(atoll_position_key(z.key, words), rest);
}

/* Changed words are rare: no reduction. */
ATOLL_INLINE void guard_look(const atoll_zone &z, atoll_u64 first, atoll_u64 end)
{
    atoll_u64 *result = (atoll_u64 *)z.result;
    for (atoll_u64 c = first / 2 + threadIdx.x; 2 * c < end; c += blockDim.x) {
        uint4 w = guard_chunk(z.key, c);
        atoll_u64 wanted[2] = {(atoll_u64)w.y << 32 | w.x, (atoll_u64)w.w << 32 | w.z};
        for (unsigned k = 0; k < 2 && 2 * c + k < end; k++)
            if (word_get(z.address, 2 * c + k) != wanted[k]) {
                atomicAdd(&result[0], 1ull);
                atomicMin(&result[1], 2 * c + k);
            }
    }
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_inspect_kernel(const __grid_constant__ atoll_inspect_launch p)
{
    unsigned zone = 0, begun = 0; /* first tile of the zone */
    atoll_u64 sum = 0, result = 0;
    for (unsigned tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
        for (; tile >= p.zones[zone].tile_end; zone++)
            begun = p.zones[zone].tile_end;
        const atoll_zone &z = p.zones[zone];
        atoll_u64 words = z.bytes / 8, first = (atoll_u64)(tile - begun) * p.tile_chunks * 2, end = first + p.tile_chunks * 2;
        end = end < words ? end : words;
        if (z.is_guard) {
            guard_look(z, first, end);
            continue;
        }
        if (result && result != z.result) {
            sum = block_sum(sum);
            if (threadIdx.x == 0)
                atomicAdd((atoll_u64 *)result, sum);
            sum = 0;
        }
        result = z.result;
        sum += hash_words(z, first, end);
        if (first == 0 && threadIdx.x == 0 && z.bytes % 8)
            sum += hash_rest(z);
    }
    if (!result)
        return;
    sum = block_sum(sum);
    if (threadIdx.x == 0)
        atomicAdd((atoll_u64 *)result, sum);
}
