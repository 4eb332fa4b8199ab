/* tile.cuh - what a task's reference.cu is made of: products in double precision by tiles of 64 x 64, chains of them,
 * attention, and sums over rows, each by one block of 256 threads.  It stands between the accessors of a task and its
 * reference.cu (core/task/reference.h); docs/spec/task.md, "reference.cu", is the contract for authors.
 *
 * Every function here is for the whole block, with the same arguments in all threads.  One that writes to shared memory
 * waits for the block first, and need not wait when it ends.
 *
 * Products run on the tensor units where they have doubles (mma m16n8k8 of compute capability 9.0, m8n8k4 of 8.0; PTX ISA,
 * "matrix fragments for mma.m8n8k4 / .m16n8k8 with .f64"), else and on a host (ATOLL_EMULATED) by plain loops over the same
 * elements.  The order of sums is fixed: the same inputs give the same bits. */
#define ATOLL_TILE         64
#define ATOLL_TILE_THREADS 256
#define ATOLL_TILE_DEPTH   32                     /* of a step of a product */
#define ATOLL_TILE_STEP    16                     /* of a step of a chain */
#define ATOLL_LEFT_PITCH   (ATOLL_TILE_DEPTH + 4) /* doubles; rows of a fragment lie in different banks */
#define ATOLL_TILE_PITCH   (ATOLL_TILE + 4)
#define ATOLL_TILE_FN      static __device__ __forceinline__

/* How large a sum of products is: not asked, by the sum of squared terms, by that of their magnitudes.  Both are products
 * of their own, of the squared or the absolute factors. */
enum { ATOLL_SIZE_NONE, ATOLL_SIZE_SQUARES, ATOLL_SIZE_MAGNITUDES };

/* The sixteen elements of a tile that a thread holds. */
struct atoll_tile {
    double v[16];
};

ATOLL_TILE_FN int atoll_thread()
{
    return (int)threadIdx.x;
}

/* Eight warps make a tile, each 32 rows and 16 columns of it. */
ATOLL_TILE_FN int atoll_tile_row(int i)
{
    return atoll_thread() / 128 * 32 + i / 8 * 16 + i / 2 % 2 * 8 + atoll_thread() % 32 / 4;
}

ATOLL_TILE_FN int atoll_tile_column(int i)
{
    return atoll_thread() / 32 % 4 * 16 + i / 4 % 2 * 8 + atoll_thread() % 4 * 2 + i % 2;
}

ATOLL_TILE_FN void atoll_tile_clear(atoll_tile &tile)
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        tile.v[i] = 0.0;
}

/* A tile of 64 x 68 and a step of 16 x 68 of a chain, or both factors of a step of a product. */
#define ATOLL_TILE_DOUBLES (ATOLL_TILE * ATOLL_TILE_PITCH + ATOLL_TILE_STEP * ATOLL_TILE_PITCH)
static_assert(ATOLL_TILE * ATOLL_LEFT_PITCH + ATOLL_TILE_DEPTH * ATOLL_TILE_PITCH <= ATOLL_TILE_DOUBLES,
              "both factors have room");

ATOLL_TILE_FN double *atoll_tile_memory()
{
    __shared__ double memory[ATOLL_TILE_DOUBLES];
    return memory;
}

/* A double for every thread; not the memory of tiles. */
ATOLL_TILE_FN double *atoll_thread_memory()
{
    __shared__ double memory[ATOLL_TILE_THREADS];
    return memory;
}

template <int size> ATOLL_TILE_FN double atoll_size_of(double factor)
{
    return size == ATOLL_SIZE_SQUARES ? factor * factor : atoll_fabs(factor);
}

/* ---- products of what lies in shared memory ---- */

#ifdef ATOLL_EMULATED_UNITS
#define ATOLL_TILE_UNITS 1 /* a test brings its own atoll_tile_mma */
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define ATOLL_TILE_UNITS 1

/* c (16 x 8) += a (16 x 8) b (8 x 8): of a thread, a has rows g and g + 8 at k, then at k + 4. */
ATOLL_TILE_FN void atoll_tile_mma(double *c, const double *a, const double *b)
{
#if __CUDA_ARCH__ >= 900
    asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, "
        "%1, %2, %3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
    for (int k = 0; k < 2; k++)
#pragma unroll
        for (int half = 0; half < 2; half++)
            asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                : "d"(a[2 * k + half]), "d"(b[k]));
#endif
}
#endif

/* sum += left right, of `depth` columns of left and rows of right (whose pitch is ATOLL_TILE_PITCH); sizes likewise. */
template <int size, int depth>
ATOLL_TILE_FN void atoll_tile_multiply(atoll_tile &sum, atoll_tile &sizes, const double *left, int pitch,
                                       const double *right)
{
#ifdef ATOLL_TILE_UNITS
    const int row = atoll_tile_row(0), column = atoll_tile_column(0) / 8 * 8 + atoll_thread() % 32 / 4,
              k = atoll_thread() % 4;
    const double *from = left + row * pitch + k, *to = right + k * ATOLL_TILE_PITCH + column;
#pragma unroll 1
    for (int at = 0; at < depth; at += 8, from += 8, to += 8 * ATOLL_TILE_PITCH) {
        double a[2][4], b[2][2];
#pragma unroll
        for (int i = 0; i < 8; i++)
            a[i / 4][i % 4] = from[(i / 4 * 16 + i % 2 * 8) * pitch + i / 2 % 2 * 4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            b[i / 2][i % 2] = to[i % 2 * 4 * ATOLL_TILE_PITCH + i / 2 * 8];
#pragma unroll
        for (int i = 0; i < 4; i++)
            atoll_tile_mma(sum.v + i * 4, a[i / 2], b[i % 2]);
        if (size != ATOLL_SIZE_NONE) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                a[i / 4][i % 4] = atoll_size_of<size>(a[i / 4][i % 4]);
#pragma unroll
            for (int i = 0; i < 4; i++)
                b[i / 2][i % 2] = atoll_size_of<size>(b[i / 2][i % 2]);
#pragma unroll
            for (int i = 0; i < 4; i++)
                atoll_tile_mma(sizes.v + i * 4, a[i / 2], b[i % 2]);
        }
    }
#else
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < depth; k++) {
            const double a = left[atoll_tile_row(i) * pitch + k],
                         b = right[k * ATOLL_TILE_PITCH + atoll_tile_column(i)];
            sum.v[i] += a * b;
            if (size != ATOLL_SIZE_NONE)
                sizes.v[i] += atoll_size_of<size>(a) * atoll_size_of<size>(b);
        }
#endif
}

/* ---- factors into shared memory ----
 * A product is a struct F that derives from atoll_product and says
 *   enum { LEFT_BY_ROW, RIGHT_BY_ROW }       1: neighbours of a row lie side by side in memory; 0: those of a column
 *   double left(long row, long k) const      row < rows, k < depth
 *   double right(long k, long column) const  column < columns */
struct atoll_product {
    const struct atoll_reference_args *a;
    long rows, columns, depth;
    __device__ atoll_product(const struct atoll_reference_args *args, long row_count, long column_count,
                             long terms)
        : a(args), rows(row_count), columns(column_count), depth(terms)
    {
    }
};

/* What is made of it is made again: addresses that a loop would keep for later cost more registers than arithmetic. */
ATOLL_TILE_FN void atoll_forget(long &value)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+l"(value));
#else
    (void)value;
#endif
}

/* Elements of a factor that a thread takes from memory; fetched before any is stored, so that all are under way at once, and from
 * places that are there: what lies outside is 0. */
template <int width> struct atoll_part {
    double v[ATOLL_TILE * width / ATOLL_TILE_THREADS];
};

ATOLL_TILE_FN long atoll_within(long at, long extent)
{
    return at < extent ? at : extent - 1;
}

template <int width, class F> ATOLL_TILE_FN int atoll_left_row(int at)
{
    return F::LEFT_BY_ROW ? at / width : at % ATOLL_TILE;
}

template <int width, class F> ATOLL_TILE_FN int atoll_left_k(int at)
{
    return F::LEFT_BY_ROW ? at % width : at / ATOLL_TILE;
}

template <int width, class F>
ATOLL_TILE_FN void atoll_fetch_left(atoll_part<width> &part, const F &f, long row, long k)
{
    if (row + ATOLL_TILE <= f.rows && k + width <= f.depth) {
#pragma unroll
        for (int i = 0; i < ATOLL_TILE * width / ATOLL_TILE_THREADS; i++) {
            const int at = i * ATOLL_TILE_THREADS + atoll_thread();
            part.v[i] = f.left(row + atoll_left_row<width, F>(at), k + atoll_left_k<width, F>(at));
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < ATOLL_TILE * width / ATOLL_TILE_THREADS; i++) {
        const int at = i * ATOLL_TILE_THREADS + atoll_thread();
        const long r = row + atoll_left_row<width, F>(at), c = k + atoll_left_k<width, F>(at);
        const double v = f.left(atoll_within(r, f.rows), atoll_within(c, f.depth));
        part.v[i] = r < f.rows && c < f.depth ? v : 0.0;
    }
}

template <int width, class F>
ATOLL_TILE_FN void atoll_store_left(double *to, int pitch, const F &, const atoll_part<width> &part)
{
#pragma unroll
    for (int i = 0; i < ATOLL_TILE * width / ATOLL_TILE_THREADS; i++) {
        const int at = i * ATOLL_TILE_THREADS + atoll_thread();
        to[atoll_left_row<width, F>(at) * pitch + atoll_left_k<width, F>(at)] = part.v[i];
    }
}

template <int width, class F> ATOLL_TILE_FN int atoll_right_column(int at)
{
    return F::RIGHT_BY_ROW ? at % ATOLL_TILE : at / width;
}

template <int width, class F> ATOLL_TILE_FN int atoll_right_k(int at)
{
    return F::RIGHT_BY_ROW ? at / ATOLL_TILE : at % width;
}

template <int width, class F>
ATOLL_TILE_FN void atoll_fetch_right(atoll_part<width> &part, const F &f, long k, long column)
{
    if (k + width <= f.depth && column + ATOLL_TILE <= f.columns) {
#pragma unroll
        for (int i = 0; i < ATOLL_TILE * width / ATOLL_TILE_THREADS; i++) {
            const int at = i * ATOLL_TILE_THREADS + atoll_thread();
            part.v[i] = f.right(k + atoll_right_k<width, F>(at), column + atoll_right_column<width, F>(at));
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < ATOLL_TILE * width / ATOLL_TILE_THREADS; i++) {
        const int at = i * ATOLL_TILE_THREADS + atoll_thread();
        const long r = k + atoll_right_k<width, F>(at), c = column + atoll_right_column<width, F>(at);
        const double v = f.right(atoll_within(r, f.depth), atoll_within(c, f.columns));
        part.v[i] = r < f.depth && c < f.columns ? v : 0.0;
    }
}

template <int width, class F>
ATOLL_TILE_FN void atoll_store_right(double *to, const F &, const atoll_part<width> &part)
{
#pragma unroll
    for (int i = 0; i < ATOLL_TILE * width / ATOLL_TILE_THREADS; i++) {
        const int at = i * ATOLL_TILE_THREADS + atoll_thread();
        to[atoll_right_k<width, F>(at) * ATOLL_TILE_PITCH + atoll_right_column<width, F>(at)] = part.v[i];
    }
}

/* sum += the tile of left right that begins at (row, column); its elements outside of the product are 0. */
template <int size, class F>
ATOLL_TILE_FN void atoll_tile_product(atoll_tile &sum, atoll_tile &sizes, const F &f, long row, long column)
{
    double *left = atoll_tile_memory(), *right = left + ATOLL_TILE * ATOLL_LEFT_PITCH;
#pragma unroll 1
    for (long k = 0; k < f.depth; k += ATOLL_TILE_DEPTH) {
        atoll_part<ATOLL_TILE_DEPTH> a, b;
        atoll_forget(row);
        atoll_forget(column);
        atoll_fetch_left(a, f, row, k);
        atoll_fetch_right(b, f, k, column);
        __syncthreads();
        atoll_store_left(left, ATOLL_LEFT_PITCH, f, a);
        atoll_store_right(right, f, b);
        __syncthreads();
        atoll_tile_multiply<size, ATOLL_TILE_DEPTH>(sum, sizes, left, ATOLL_LEFT_PITCH, right);
    }
}

/* The tile becomes the left factor of a chain. */
ATOLL_TILE_FN void atoll_tile_keep(const atoll_tile &tile)
{
    double *to = atoll_tile_memory();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; i++)
        to[atoll_tile_row(i) * ATOLL_TILE_PITCH + atoll_tile_column(i)] = tile.v[i];
}

/* sum += (kept tile) right, its columns being the rows k ... of right; what it holds beyond f.depth must be 0. */
template <int size, class F>
ATOLL_TILE_FN void atoll_tile_chain(atoll_tile &sum, atoll_tile &sizes, const F &f, long k, long column)
{
    const double *left = atoll_tile_memory();
    double *right = atoll_tile_memory() + ATOLL_TILE * ATOLL_TILE_PITCH;
#pragma unroll 1
    for (int at = 0; at < ATOLL_TILE && k + at < f.depth; at += ATOLL_TILE_STEP) {
        atoll_part<ATOLL_TILE_STEP> part;
        atoll_forget(column);
        atoll_fetch_right(part, f, k + at, column);
        __syncthreads();
        atoll_store_right(right, f, part);
        __syncthreads();
        atoll_tile_multiply<size, ATOLL_TILE_STEP>(sum, sizes, left + at, ATOLL_TILE_PITCH, right);
    }
}

/* ---- whole products: F also says   void put(long row, long column, double sum, double size) const ---- */

ATOLL_TILE_FN long atoll_tiles(long extent)
{
    return (extent + ATOLL_TILE - 1) / ATOLL_TILE;
}

ATOLL_TILE_FN long atoll_product_blocks(const atoll_product &f)
{
    return atoll_tiles(f.rows) * atoll_tiles(f.columns);
}

ATOLL_TILE_FN long atoll_block_row(const atoll_product &f, long block)
{
    return block % atoll_tiles(f.rows) * ATOLL_TILE;
}

ATOLL_TILE_FN long atoll_block_column(const atoll_product &f, long block)
{
    return block / atoll_tiles(f.rows) * ATOLL_TILE;
}

template <class F>
ATOLL_TILE_FN void atoll_tile_put(const F &f, const atoll_tile &sum, const atoll_tile &sizes, long row,
                                  long column)
{
#pragma unroll
    for (int i = 0; i < 16; i++)
        if (row + atoll_tile_row(i) < f.rows && column + atoll_tile_column(i) < f.columns)
            f.put(row + atoll_tile_row(i), column + atoll_tile_column(i), sum.v[i], sizes.v[i]);
}

/* Tile `block` of a product. */
template <int size, class F> ATOLL_TILE_FN void atoll_product_block(const F &f, long block)
{
    const long row = atoll_block_row(f, block), column = atoll_block_column(f, block);
    atoll_tile sum, sizes;
    atoll_tile_clear(sum);
    atoll_tile_clear(sizes);
    atoll_tile_product<size>(sum, sizes, f, row, column);
    atoll_tile_put(f, sum, sizes, row, column);
}

/* ---- attention ----
 * One head: F is the product of queries (rows) and keys (columns) over the depth of a head, right(k, key) being a key's
 * element, and also says
 *   enum { SCORE_SIZE }                        of the scores: the largest one that a row sees is `largest` in put
 *   long keys(long row) const                  how many keys a row sees, from the first one on
 *   double value(long key, long column) const  column < depth
 *   void put(long row, long column, double value, double size, double largest) const  the weighted mean of the values
 * The softmax runs along with the keys (Milakov and Gimelshein, arXiv 1805.02867). */
template <class F> struct atoll_values {
    enum { RIGHT_BY_ROW = 1 };
    const F &f;
    long columns, depth; /* of the values: head's depth, keys */
    __device__ double right(long key, long column) const
    {
        return f.value(key, column);
    }
};

#define ATOLL_ATTENTION_TILES 2 /* of the result at a time: 128 columns */

/* 64 rows from `row` on. */
template <int size, class F> ATOLL_TILE_FN void atoll_attention_block(const F &f, long row)
{
    __shared__ double factors[ATOLL_TILE];
    double *tile = atoll_tile_memory(), *part = atoll_thread_memory();
    const int mine = atoll_thread() / 4, quarter = atoll_thread() % 4; /* four threads have a row of scores */
    const atoll_values<F> values = {f, f.depth, f.columns};
    const double root = atoll_sqrt((double)f.depth);
    const long last = row + ATOLL_TILE < f.rows ? row + ATOLL_TILE - 1 : f.rows - 1, end = f.keys(last);
    const long seen_by_me = f.keys(row + mine < f.rows ? row + mine : f.rows - 1);
#pragma unroll 1
    for (long column = 0; column < f.depth; column += ATOLL_ATTENTION_TILES * ATOLL_TILE) {
        atoll_tile out[ATOLL_ATTENTION_TILES], sizes[ATOLL_ATTENTION_TILES];
        double top = -ATOLL_INFINITY, total = 0.0, largest = 0.0;
#pragma unroll
        for (int t = 0; t < ATOLL_ATTENTION_TILES; t++) {
            atoll_tile_clear(out[t]);
            atoll_tile_clear(sizes[t]);
        }
#pragma unroll 1
        for (long key = 0; key < end; key += ATOLL_TILE) {
            atoll_tile score, magnitude;
            atoll_tile_clear(score);
            atoll_tile_clear(magnitude);
            atoll_tile_product<F::SCORE_SIZE>(score, magnitude, f, row, key);
            double *line = tile + mine * ATOLL_TILE_PITCH + quarter;
            const int seen = (int)(seen_by_me - key < ATOLL_TILE ? seen_by_me - key : ATOLL_TILE);
            if (F::SCORE_SIZE != ATOLL_SIZE_NONE) {
                atoll_tile_keep(magnitude);
                __syncthreads();
                for (int j = 0; j < 16; j++)
                    if (4 * j + quarter < seen)
                        largest = atoll_fmax(largest, line[4 * j] / root);
            }
            atoll_tile_keep(score);
            __syncthreads();
            double high = top;
            for (int j = 0; j < 16; j++)
                if (4 * j + quarter < seen)
                    high = atoll_fmax(high, line[4 * j] / root);
            part[atoll_thread()] = high;
            __syncthreads();
            for (int j = 0; j < 4; j++)
                high = atoll_fmax(high, part[mine * 4 + j]);
            const double factor = high == top ? 1.0 : atoll_exp(top - high);
            top = high;
            total *= factor;
            for (int j = 0; j < 16; j++) {
                const double power = 4 * j + quarter < seen ? atoll_exp(line[4 * j] / root - high) : 0.0;
                line[4 * j] = power;
                total += power;
            }
            if (quarter == 0)
                factors[mine] = factor;
            __syncthreads();
#pragma unroll
            for (int i = 0; i < 16; i++) {
                const double c = factors[atoll_tile_row(i)];
#pragma unroll
                for (int t = 0; t < ATOLL_ATTENTION_TILES; t++) {
                    out[t].v[i] *= c;
                    sizes[t].v[i] *= size == ATOLL_SIZE_SQUARES ? c * c : c;
                }
            }
#pragma unroll
            for (int t = 0; t < ATOLL_ATTENTION_TILES; t++)
                if (column + t * ATOLL_TILE < f.depth)
                    atoll_tile_chain<size>(out[t], sizes[t], values, key, column + t * ATOLL_TILE);
        }
        __syncthreads();
        tile[atoll_thread()] = total;
        tile[ATOLL_TILE_THREADS + atoll_thread()] = largest;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const long at = row + atoll_tile_row(i);
            double sum = 0.0, most = 0.0;
            for (int j = 0; j < 4; j++) {
                sum += tile[atoll_tile_row(i) * 4 + j];
                most = atoll_fmax(most, tile[ATOLL_TILE_THREADS + atoll_tile_row(i) * 4 + j]);
            }
#pragma unroll
            for (int t = 0; t < ATOLL_ATTENTION_TILES; t++) {
                const long d = column + t * ATOLL_TILE + atoll_tile_column(i);
                const double v = sizes[t].v[i];
                if (at < f.rows && d < f.depth)
                    f.put(at, d, out[t].v[i] / sum, (size == ATOLL_SIZE_SQUARES ? atoll_sqrt(v) : v) / sum,
                          most);
            }
        }
    }
}

/* ---- rows: a value of each thread, put together over the block; every thread gets it ---- */

ATOLL_TILE_FN double atoll_block_sum(double value)
{
    double *part = atoll_thread_memory();
    __syncthreads();
    part[atoll_thread()] = value;
    for (int half = ATOLL_TILE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (atoll_thread() < half)
            part[atoll_thread()] += part[atoll_thread() + half];
    }
    __syncthreads();
    return part[0];
}

ATOLL_TILE_FN double atoll_block_max(double value)
{
    double *part = atoll_thread_memory();
    __syncthreads();
    part[atoll_thread()] = value;
    for (int half = ATOLL_TILE_THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (atoll_thread() < half)
            part[atoll_thread()] = atoll_fmax(part[atoll_thread()], part[atoll_thread() + half]);
    }
    __syncthreads();
    return part[0];
}

/* What the threads before this one have, added up. */
ATOLL_TILE_FN double atoll_block_sum_before(double value)
{
    double *part = atoll_thread_memory();
    __syncthreads();
    part[atoll_thread()] = value;
    __syncthreads();
    for (int reach = 1; reach < ATOLL_TILE_THREADS; reach *= 2) {
        const double before = atoll_thread() >= reach ? part[atoll_thread() - reach] : 0.0;
        __syncthreads();
        part[atoll_thread()] += before;
        __syncthreads();
    }
    return atoll_thread() > 0 ? part[atoll_thread() - 1] : 0.0;
}
