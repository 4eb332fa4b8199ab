/* Larger frames, a unit of its own: a process loads it when a candidate has such frames, since the driver keeps memory for every thread
 * that the device can hold by the largest frame it has seen (16 KiB: 4.4 GB of 132 multiprocessors). */

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_local_4k_kernel(atoll_area_launch p)
{
    local_wipe<1024>(p);
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_local_8k_kernel(atoll_area_launch p)
{
    local_wipe<2048>(p);
}

ATOLL_KERNEL __launch_bounds__(ATOLL_BLOCK) atoll_local_16k_kernel(atoll_area_launch p)
{
    local_wipe<4096>(p);
}
