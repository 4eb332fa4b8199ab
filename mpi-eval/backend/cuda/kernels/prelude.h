/* First text of every unit of ours on the device: what the shared headers need to be device code. */
#define ATOLL_INLINE static __device__ __forceinline__
