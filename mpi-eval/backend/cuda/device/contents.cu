/* Contents of tensors: inputs of a draw, fills, guards. */

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_init_kernel(atoll_init_launch p)
{
    unsigned bytes = element_bytes(p.init.dtype);
    for (atoll_u64 i = thread_index(); i < p.count; i += thread_count())
        element_put(p.address, i, bytes, atoll_init_bits(&p.init, i));
}

ATOLL_INLINE unsigned short_mix(atoll_u64 key, atoll_u64 index)
{
    unsigned x = ((unsigned)index ^ (unsigned)(index >> 32) ^ (unsigned)key) * 0x9e3779b1u + (unsigned)(key >> 32);
    x ^= x >> 15;
    x *= 0x85ebca77u;
    return x ^ x >> 13;
}

/* Element `index` of a fill. */
ATOLL_INLINE atoll_u64 fill_bits(const atoll_fill_params &f, atoll_u64 index)
{
    if (f.form == ATOLL_FILL_FORM_BITS)
        return f.top;
    if (f.form == ATOLL_FILL_FORM_NORMAL) {
        int sum = atoll_value_lanes(atoll_mix64(f.key + index * 0x9e3779b97f4a7c15ull)) - 131070;
        return atoll_dtype_encode(f.dtype, (double)sum * f.scale);
    }
    unsigned random = short_mix(f.key, index);
    if (f.form == ATOLL_FILL_FORM_INTEGER)
        return (atoll_u64)random * f.top >> 32;
    atoll_u64 wide = f.dtype == ATOLL_F64 ? (atoll_u64)random << 22 | random : random;
    return (f.top - (wide & f.mask)) | (random >> 31 ? f.sign : 0);
}

/* Elements up to a 16-byte boundary and after the last one one by one, 16 bytes at a time between. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_fill_kernel(atoll_fill_launch p)
{
    unsigned bytes = element_bytes(p.fill.dtype), per = 16 / bytes;
    atoll_u64 head = (16 - (p.address & 15)) % 16 / bytes;
    if (head > p.count)
        head = p.count;
    atoll_u64 chunks = (p.count - head) / per, tail = head + chunks * per;
    for (atoll_u64 i = thread_index(); i < head; i += thread_count())
        element_put(p.address, i, bytes, fill_bits(p.fill, i));
    for (atoll_u64 i = tail + thread_index(); i < p.count; i += thread_count())
        element_put(p.address, i, bytes, fill_bits(p.fill, i));
    for (atoll_u64 c = thread_index(); c < chunks; c += thread_count()) {
        atoll_u64 first = head + c * per, words[2];
        for (unsigned w = 0; w < 2; w++) {
            words[w] = 0;
            for (unsigned k = 0; k < per / 2; k++)
                words[w] |= fill_bits(p.fill, first + w * (per / 2) + k) << 8 * bytes * k;
        }
        ((ulonglong2 *)(p.address + head * bytes))[c] = make_ulonglong2(words[0], words[1]);
    }
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_guard_kernel(atoll_area_launch p)
{
    for (atoll_u64 i = thread_index(); i < p.bytes / 8; i += thread_count())
        word_put(p.address, i, atoll_random_at(p.key, i));
}

/* Changed words are rare: no reduction. */
ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_guard_check_kernel(atoll_area_launch p)
{
    atoll_u64 *result = (atoll_u64 *)p.result;
    for (atoll_u64 i = thread_index(); i < p.bytes / 8; i += thread_count())
        if (word_get(p.address, i) != atoll_random_at(p.key, i)) {
            atomicAdd(&result[0], 1ull);
            atomicMin(&result[1], i);
        }
}
