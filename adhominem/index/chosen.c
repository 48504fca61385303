/* Products of chosen texts with a query: of their codes and of their packed LEVs.
 *
 * What `engine.py` and `packing.py` do in NumPy, without arrays in between and without Python's lock. Texts lie in
 * shards, and go by their numbers in all of these. Any C compiler can build this; with GCC or Clang
 * on x86-64, products are also compiled for AVX2, which is used where there is such a processor.
 */
#include "../buffers.h"

#include <math.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_VARIANTS
#define AVX2 __attribute__((target("avx2,fma")))
#endif
#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#else
#define PREFETCH(at) ((void)0)
#endif

#define AHEAD 4     /* rows that are fetched before they are multiplied */
#define AT_ONCE 256 /* numbers of a query that are looked up before they are multiplied */

/* Arrays of a kind, one for each shard. */
typedef struct {
    Py_buffer *views; /* (count,) */
    Py_ssize_t count;
} Shards;

static void give_back(Shards *shards) {
    while (shards->count > 0) PyBuffer_Release(&shards->views[--shards->count]);
    free(shards->views);
    shards->views = NULL;
}

/* The arrays of a tuple, of these items; 0 with an error if there is anything else in it. */
static int take_shards(Shards *shards, PyObject *arrays, int type) {
    const Py_ssize_t count = PyTuple_Size(arrays);
    *shards = (Shards){NULL, 0};
    if (!(shards->views = room_for(count, sizeof(Py_buffer)))) return 0;
    for (; shards->count < count; shards->count++)
        if (!see(&shards->views[shards->count], PyTuple_GetItem(arrays, shards->count), type, 0))
            return 0;
    return 1;
}

/* Where each shard begins, (count + 1,), by how many texts they have; NULL with an error. */
static int64_t *begins_of(const Shards *shards) {
    int64_t *begins = room_for(shards->count + 1, sizeof(int64_t));
    if (begins) begins[0] = 0;
    for (Py_ssize_t at = 0; begins && at < shards->count; at++) {
        const Py_buffer *view = &shards->views[at];
        const int64_t texts = view->ndim ? view->shape[0] : 0;
        begins[at + 1] = begins[at] + (view->len ? texts : 0); /* what is empty may be any size */
    }
    return begins;
}

/* The shard of a text; -1 if there is no such text. */
static Py_ssize_t shard_of(const int64_t *begins, Py_ssize_t count, int64_t number) {
    if (number < 0 || number >= begins[count]) return -1;
    Py_ssize_t low = 0, high = count; /* begins[low] <= number < begins[high] */
    while (high - low > 1) {
        const Py_ssize_t middle = low + (high - low) / 2;
        if (begins[middle] <= number) low = middle;
        else high = middle;
    }
    return low;
}

static void fetch(const void *row, int64_t bytes) {
    for (int64_t line = 0; line < bytes; line += 64) PREFETCH((const char *)row + line);
}

/* Rows of bytes with a query of whole numbers */

static int32_t bytes_plain(const int8_t *row, const int16_t *query, int64_t size) {
    int32_t total = 0;
    for (int64_t at = 0; at < size; at++)
        total = wrapped_sum(total, (int32_t)row[at] * query[at]);
    return total;
}

/* The sum of the squares, with their signs, of products of roots. */
static float squares_plain(const int8_t *first, const int8_t *second, int64_t count) {
    float total = 0;
    for (int64_t at = 0; at < count; at++) {
        const float product = (float)(first[at] * second[at]);
        total += product * fabsf(product);
    }
    return total;
}

#if defined(HAS_VARIANTS)
AVX2 static inline float sum_of(__m256 lanes) {
    float sums[8], total = 0;
    _mm256_storeu_ps(sums, lanes);
    for (int lane = 0; lane < 8; lane++) total += sums[lane];
    return total;
}

AVX2 static inline __m256i wide(const int8_t *row) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)row));
}

AVX2 static int32_t bytes_avx2(const int8_t *row, const int16_t *query, int64_t size) {
    __m256i sum = _mm256_setzero_si256();
    int64_t at = 0;
    for (; at + 16 <= size; at += 16) {
        const __m256i there = _mm256_loadu_si256((const __m256i *)(query + at));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(wide(row + at), there));
    }
    int32_t sums[8], total = bytes_plain(row + at, query + at, size - at);
    _mm256_storeu_si256((__m256i *)sums, sum);
    for (int lane = 0; lane < 8; lane++) total = wrapped_sum(total, sums[lane]);
    return total;
}

AVX2 static float squares_avx2(const int8_t *first, const int8_t *second, int64_t count) {
    __m256 sum = _mm256_setzero_ps();
    int64_t at = 0;
    for (; at + 16 <= count; at += 16) {
        const __m256i product = _mm256_mullo_epi16(wide(first + at), wide(second + at));
        const __m256i both = _mm256_madd_epi16(product, _mm256_abs_epi16(product));
        sum = _mm256_add_ps(sum, _mm256_cvtepi32_ps(both)); /* of two squares: below 2^30 */
    }
    return sum_of(sum) + squares_plain(first + at, second + at, count - at);
}
#endif

/* A sparse row. */
typedef struct {
    const void *steps;
    const int8_t *values;
    int64_t count, wide; /* entries, and bytes of a step */
} Row;

/* The product of a sparse row with a query, both as roots; 0 with `bad` set where a step leads
 * outside. Meanwhile the next row is fetched, a part of it with each part of this one. */
#define SPARSE_PRODUCT(NAME, TYPE, SQUARES)                                                        \
    static float NAME(const Row *row, const Row *next, const int8_t *query, int64_t size,          \
                      int *bad) {                                                                  \
        int64_t place = -1;                                                                        \
        int8_t there[AT_ONCE];                                                                     \
        float total = 0;                                                                           \
        for (int64_t begin = 0; begin < row->count; begin += AT_ONCE) {                            \
            const int64_t left = row->count - begin, n = left < AT_ONCE ? left : AT_ONCE;          \
            const TYPE *steps = (const TYPE *)row->steps + begin;                                  \
            uint32_t walked = 0; /* at most AT_ONCE steps of two bytes */                          \
            for (int64_t at = 0; at < n; at++) walked += steps[at];                                \
            if (walked > size - 1 - place || (!begin && !steps[0])) {                              \
                *bad = 1;                                                                          \
                return 0;                                                                          \
            }                                                                                      \
            if (begin + AT_ONCE <= next->count) {                                                  \
                fetch((const char *)next->steps + begin * next->wide, AT_ONCE * next->wide);       \
                fetch(next->values + begin, AT_ONCE);                                              \
            }                                                                                      \
            int64_t at = 0;                                                                        \
            for (; at + 4 <= n; at += 4) {                                                         \
                const int64_t first = place + steps[at], second = first + steps[at + 1];           \
                const int64_t third = second + steps[at + 2];                                      \
                there[at] = query[first];                                                          \
                there[at + 1] = query[second];                                                     \
                there[at + 2] = query[third];                                                      \
                there[at + 3] = query[place = third + steps[at + 3]];                              \
            }                                                                                      \
            for (; at < n; at++) there[at] = query[place += steps[at]];                            \
            total += SQUARES(there, row->values + begin, n);                                       \
        }                                                                                          \
        return total;                                                                              \
    }

SPARSE_PRODUCT(sparse_by_bytes_plain, uint8_t, squares_plain)
SPARSE_PRODUCT(sparse_by_pairs_plain, uint16_t, squares_plain)
#if defined(HAS_VARIANTS)
AVX2 SPARSE_PRODUCT(sparse_by_bytes_avx2, uint8_t, squares_avx2)
AVX2 SPARSE_PRODUCT(sparse_by_pairs_avx2, uint16_t, squares_avx2)
#endif

typedef struct {
    int32_t (*bytes)(const int8_t *, const int16_t *, int64_t);
    float (*sparse_by_bytes)(const Row *, const Row *, const int8_t *, int64_t, int *);
    float (*sparse_by_pairs)(const Row *, const Row *, const int8_t *, int64_t, int *);
} Variant;

static Variant variant = {bytes_plain, sparse_by_bytes_plain, sparse_by_pairs_plain};

/* byte_products(tables, numbers, query, products)
 *
 * tables: (texts, size) int8 of each shard; numbers (chosen,) int64; query (size,) int16, or fewer
 * numbers, for the last ones of each row; products (chosen,) int32. */
static PyObject *byte_products(PyObject *module, PyObject *arguments) {
    PyObject *tables, *numbers, *query, *products;
    Buffers buffers = {.count = 0};
    Shards shards;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!OOO", &PyTuple_Type, &tables, &numbers, &query, &products))
        return NULL;
    const int64_t *chosen;
    const int16_t *there;
    const int8_t **rows = NULL;
    int32_t *result;
    int64_t *begins = NULL, size = 0;
    int good = take_shards(&shards, tables, INT8) && (chosen = take(&buffers, numbers, INT64))
               && (there = take(&buffers, query, INT16))
               && (result = take_writable(&buffers, products, INT32))
               && (begins = begins_of(&shards));
    if (!good) goto done;
    const int64_t count = length(&buffers, 0);
    size = length(&buffers, 1);
    good = length(&buffers, 2) == count;
    for (Py_ssize_t at = 0; at < shards.count; at++)
        good = good && shards.views[at].ndim == 2 && shards.views[at].shape[1] >= size;
    if (!good) goto done;
    if (!(rows = room_for(count, sizeof(int8_t *)))) goto done;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t at = 0; at < count && good; at++) {
        const Py_ssize_t shard = shard_of(begins, shards.count, chosen[at]);
        good = shard >= 0;
        if (!good) break;
        const Py_buffer *view = &shards.views[shard];
        const int64_t end = (chosen[at] - begins[shard] + 1) * view->shape[1]; /* of its row */
        rows[at] = (const int8_t *)view->buf + end - size;
    }
    for (int64_t at = 0; at < count && good; at++) {
        if (at + AHEAD < count) fetch(rows[at + AHEAD], size);
        result[at] = variant.bytes(rows[at], there, size);
    }
    Py_END_ALLOW_THREADS
done:
    free(rows);
    free(begins);
    give_back(&shards);
    return finished(&buffers, good);
}

/* sparse_products(steps, values, ends, numbers, query, products)
 *
 * Of each shard: steps (entries,) of one or two bytes and roots (entries,) int8, in rows that end at
 * ends (texts,) int64; numbers (chosen,) int64; query (size,) int8 of roots; products (chosen,)
 * float, without scales. */
static PyObject *sparse_products(PyObject *module, PyObject *arguments) {
    PyObject *row_steps, *row_values, *row_ends, *numbers, *query, *products;
    Buffers buffers = {.count = 0};
    Shards steps = {NULL, 0}, values = {NULL, 0}, ends = {NULL, 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "O!O!O!OOO", &PyTuple_Type, &row_steps, &PyTuple_Type,
                          &row_values, &PyTuple_Type, &row_ends, &numbers, &query, &products))
        return NULL;
    const int64_t *chosen;
    const int8_t *there;
    float *result;
    int64_t *begins = NULL;
    Row *rows = NULL;
    int good = take_shards(&steps, row_steps, ANY_INT) && take_shards(&values, row_values, INT8)
               && take_shards(&ends, row_ends, INT64) && (chosen = take(&buffers, numbers, INT64))
               && (there = take(&buffers, query, INT8))
               && (result = take_writable(&buffers, products, REAL32))
               && (begins = begins_of(&ends));
    if (!good) goto done;
    const int64_t count = length(&buffers, 0), size = length(&buffers, 1);
    good = length(&buffers, 2) == count && steps.count == ends.count && values.count == ends.count;
    for (Py_ssize_t at = 0; at < ends.count && good; at++)
        good = items_of(&steps.views[at]) == items_of(&values.views[at])
               && steps.views[at].itemsize <= 2
               && ends.views[at].ndim == 1;
    if (!good) goto done;
    if (!(rows = room_for(count, sizeof(Row)))) goto done;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t at = 0; at < count && good; at++) {
        const Py_ssize_t shard = shard_of(begins, ends.count, chosen[at]);
        if (!(good = shard >= 0)) break;
        const int64_t row = chosen[at] - begins[shard], *row_end = ends.views[shard].buf;
        const int64_t begin = row ? row_end[row - 1] : 0, wide = steps.views[shard].itemsize;
        if (!(good = within(begin, row_end[row], items_of(&values.views[shard])))) break;
        rows[at] = (Row){(const char *)steps.views[shard].buf + begin * wide,
                         (const int8_t *)values.views[shard].buf + begin, row_end[row] - begin, wide};
    }
    int bad = 0;
    for (int64_t at = 0; at < count && good; at++) {
        const Row *row = &rows[at], *next = &rows[at + 1 < count ? at + 1 : at];
        result[at] = (row->wide == 1 ? variant.sparse_by_bytes : variant.sparse_by_pairs)(
            row, next, there, size, &bad);
        good = !bad;
    }
    Py_END_ALLOW_THREADS
done:
    free(rows);
    free(begins);
    give_back(&steps);
    give_back(&values);
    give_back(&ends);
    return finished(&buffers, good);
}

static PyMethodDef methods[] = {
    {"byte_products", byte_products, METH_VARARGS, "Products of chosen rows of bytes."},
    {"sparse_products", sparse_products, METH_VARARGS, "Products of chosen sparse rows."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
#if defined(HAS_VARIANTS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        variant = (Variant){bytes_avx2, sparse_by_bytes_avx2, sparse_by_pairs_avx2};
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_chosen", "A compiled part of the index.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__chosen(void) { return PyModuleDef_Init(&definition); }
