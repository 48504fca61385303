/* Looking through an index: products of codes with queries, the largest kept.
 *
 * What `engine.py` does in NumPy, without arrays in between and without Python's lock.
 * Any C compiler can build this; with GCC or Clang on x86-64, the products are also compiled for
 * AVX2 and AVX-512, of which one is chosen when the module is loaded.
 */
#include "../buffers.h"

#include <math.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_VARIANTS
#endif

#define LANES 16  /* codes that are multiplied side by side */
#define TOGETHER 8 /* queries that are multiplied at once */
#define SAMPLE 512 /* blocks that show which products are large */
#define CHUNK 64  /* blocks of codes that all queries see before the next ones are read */

/* The largest of many products */

typedef struct {
    int32_t product, place;
} Item;

typedef struct {
    Item *items;      /* (room,): in the order of their places */
    int32_t *products; /* (room,): space for theirs */
    int64_t count, room, wanted;
    int32_t least; /* what is not larger is not among the largest */
} Best;

/* The product that is the `wanted`th of the largest; they are brought into another order. */
static int32_t least_wanted(int32_t *products, int64_t count, int64_t wanted) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const int32_t pivot = products[low + (high - low) / 2];
        int64_t first = low, last = high;
        while (first <= last) {
            while (products[first] > pivot) first++;
            while (products[last] < pivot) last--;
            if (first <= last) {
                const int32_t product = products[first];
                products[first++] = products[last];
                products[last--] = product;
            }
        }
        if (wanted - 1 <= last) high = last;
        else if (wanted - 1 >= first) low = first;
        else break;
    }
    return products[wanted - 1];
}

/* Keep the largest only: of those that are equal to the least of them, the first ones. */
static void cut(Best *best) {
    if (best->count <= best->wanted) return;
    for (int64_t at = 0; at < best->count; at++) best->products[at] = best->items[at].product;
    const int32_t least = least_wanted(best->products, best->count, best->wanted);
    int64_t equal = best->wanted, kept = 0;
    for (int64_t at = 0; at < best->count; at++) equal -= best->items[at].product > least;
    for (int64_t at = 0; at < best->count; at++) {
        const Item item = best->items[at];
        if (item.product < least || (item.product == least && equal-- <= 0)) continue;
        best->items[kept++] = item;
    }
    best->count = kept;
    best->least = least;
}

static void keep(Best *best, const int32_t *products, uint32_t larger, int64_t first) {
    for (int lane = 0; lane < LANES; lane++)
        if (larger >> lane & 1)
            best->items[best->count++] = (Item){products[lane], (int32_t)(first + lane)};
    if (best->count + LANES > best->room) cut(best);
}

/* Products of a block of codes (pairs, LANES, 2) with queries (count, pairs, 2), for which the
 * products (count, LANES) are written, and in `larger` which of them are larger than `least`. */
typedef void (*BlockProducts)(const int8_t *, int64_t, const int16_t *, int, const int32_t *,
                              int32_t *, uint32_t *);

static void block_plain(const int8_t *block, int64_t pairs, const int16_t *queries, int count,
                        const int32_t *least, int32_t *products, uint32_t *larger) {
    for (int query = 0; query < count; query++, queries += 2 * pairs, products += LANES) {
        memset(products, 0, sizeof(int32_t) * LANES);
        for (int64_t pair = 0; pair < pairs; pair++)
            for (int lane = 0; lane < LANES; lane++)
                products[lane] = wrapped_sum(
                    products[lane],
                    queries[2 * pair] * block[(pair * LANES + lane) * 2]
                        + queries[2 * pair + 1] * block[(pair * LANES + lane) * 2 + 1]);
        larger[query] = 0;
        for (int lane = 0; lane < LANES; lane++)
            larger[query] |= (uint32_t)(products[lane] > least[query]) << lane;
    }
}

static BlockProducts block_products = block_plain;

#if defined(HAS_VARIANTS)
#define AVX2 __attribute__((target("avx2")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx2")))

static inline int32_t two(const int16_t *query) {
    int32_t both;
    memcpy(&both, query, sizeof both);
    return both;
}

AVX2 static void block_avx2(const int8_t *block, int64_t pairs, const int16_t *queries, int count,
                            const int32_t *least, int32_t *products, uint32_t *larger) {
    for (int from = 0; from < count; from += 4) {
        const int n = count - from < 4 ? count - from : 4;
        __m256i low[4], high[4];
        for (int at = 0; at < 4; at++) low[at] = high[at] = _mm256_setzero_si256();
        for (int64_t pair = 0; pair < pairs; pair++) {
            const __m128i *codes = (const __m128i *)(block + pair * 2 * LANES);
            const __m256i first = _mm256_cvtepi8_epi16(_mm_loadu_si128(codes));
            const __m256i second = _mm256_cvtepi8_epi16(_mm_loadu_si128(codes + 1));
            for (int at = 0; at < n; at++) {
                const int16_t *query = queries + ((from + at) * pairs + pair) * 2;
                const __m256i both = _mm256_set1_epi32(two(query));
                low[at] = _mm256_add_epi32(low[at], _mm256_madd_epi16(first, both));
                high[at] = _mm256_add_epi32(high[at], _mm256_madd_epi16(second, both));
            }
        }
        for (int at = 0; at < n; at++) {
            const __m256i bound = _mm256_set1_epi32(least[from + at]);
            int32_t *result = products + (from + at) * LANES;
            _mm256_storeu_si256((__m256i *)result, low[at]);
            _mm256_storeu_si256((__m256i *)(result + 8), high[at]);
            const __m256i one = _mm256_cmpgt_epi32(low[at], bound);
            const __m256i other = _mm256_cmpgt_epi32(high[at], bound);
            larger[from + at] = (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(one))
                                | (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(other)) << 8;
        }
    }
}

/* ADD(sum, codes, query) adds the products of pairs. All queries at once stay in registers. */
#define BLOCK_512(NAME, TARGET, ADD)                                                               \
    TARGET static void NAME(const int8_t *block, int64_t pairs, const int16_t *queries, int count, \
                            const int32_t *least, int32_t *products, uint32_t *larger) {           \
        __m512i sums[TOGETHER];                                                                    \
        for (int at = 0; at < TOGETHER; at++) sums[at] = _mm512_setzero_si512();                   \
        for (int64_t pair = 0; pair < pairs; pair++) {                                             \
            const __m256i *codes = (const __m256i *)(block + pair * 2 * LANES);                    \
            const __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256(codes));                  \
            const int16_t *query = queries + pair * 2;                                             \
            if (count == TOGETHER)                                                                 \
                for (int at = 0; at < TOGETHER; at++, query += 2 * pairs)                          \
                    sums[at] = ADD(sums[at], wide, _mm512_set1_epi32(two(query)));                 \
            else                                                                                   \
                for (int at = 0; at < count; at++, query += 2 * pairs)                             \
                    sums[at] = ADD(sums[at], wide, _mm512_set1_epi32(two(query)));                 \
        }                                                                                          \
        for (int at = 0; at < count; at++) {                                                       \
            _mm512_storeu_si512(products + at * LANES, sums[at]);                                  \
            larger[at] = _mm512_cmpgt_epi32_mask(sums[at], _mm512_set1_epi32(least[at]));          \
        }                                                                                          \
    }

#define ADD_PRODUCTS(sum, codes, query) _mm512_add_epi32(sum, _mm512_madd_epi16(codes, query))
BLOCK_512(block_avx512, AVX512, ADD_PRODUCTS)
BLOCK_512(block_vnni, VNNI, _mm512_dpwssd_epi32)

#endif

typedef struct {
    const int8_t *codes;   /* (blocks, pairs, LANES, 2) */
    const int16_t *queries; /* (count, pairs, 2) */
    int64_t pairs, count, begin, end, texts;
    Best *best; /* (count,) */
} Scan;

/* Look through the blocks from begin to end, or through each `step`th of them. */
static void look(const Scan *scan, int64_t step) {
    int32_t products[TOGETHER * LANES], least[TOGETHER];
    uint32_t larger[TOGETHER];
    for (int64_t chunk = scan->begin; chunk < scan->end; chunk += step * CHUNK) {
        const int64_t end = chunk + step * CHUNK < scan->end ? chunk + step * CHUNK : scan->end;
        for (int64_t from = 0; from < scan->count; from += TOGETHER) {
            const int n = (int)(scan->count - from < TOGETHER ? scan->count - from : TOGETHER);
            Best *best = scan->best + from;
            for (int64_t block = chunk; block < end; block += step) {
                for (int at = 0; at < n; at++) least[at] = best[at].least;
                block_products(scan->codes + block * scan->pairs * 2 * LANES, scan->pairs,
                              scan->queries + from * 2 * scan->pairs, n, least, products, larger);
                const int64_t first = block * LANES, left = scan->texts - first;
                const uint32_t there = left >= LANES ? 0xFFFF : (1u << left) - 1;
                for (int at = 0; at < n; at++)
                    if (larger[at] & there)
                        keep(&best[at], products + at * LANES, larger[at] & there, first);
            }
        }
    }
}

/* Guess from some blocks which products are large enough, so that few others need be kept. */
static void guess_least(const Scan *scan) {
    const int64_t blocks = scan->end - scan->begin, step = blocks / SAMPLE;
    look(scan, step);
    for (int64_t at = 0; at < scan->count; at++) {
        Best *best = &scan->best[at];
        const double share = (double)best->count / ((double)blocks * LANES);
        const double rank = share * (double)best->wanted;
        const int64_t safe = (int64_t)(1.2 * rank + 4 * sqrt(rank) + 8);
        if (safe < best->count) {
            best->wanted = safe;
            best->least = INT32_MIN;
            cut(best);
            best->wanted = (int64_t)(rank / share + 0.5);
            if (best->least > INT32_MIN) best->least--;
        }
        best->count = 0;
    }
}

static void run_scan(Scan *scan) {
    const Best *first = scan->best;
    if (scan->count && scan->end - scan->begin >= 4 * SAMPLE
        && first->room > 2 * SAMPLE * LANES + 2 * LANES) guess_least(scan);
    look(scan, 1);
    const Scan whole = *scan;
    for (int64_t at = 0; at < whole.count; at++) { /* what was guessed too high: once more */
        Best *best = &whole.best[at];
        if (best->count >= best->wanted || best->least == INT32_MIN) continue;
        best->count = 0;
        best->least = INT32_MIN;
        scan->best = best;
        scan->queries = whole.queries + at * 2 * whole.pairs;
        scan->count = 1;
        look(scan, 1);
    }
    *scan = whole;
}

/* scan(codes, texts, queries, begin, end, products, places)
 *
 * codes (blocks, pairs, 16, 2) int8, queries (count, pairs, 2) int16; of the blocks from begin to
 * end, products and places (count, k) int32 get the k largest of each query, in the order of their
 * places, which are -1 where there are fewer. */
static PyObject *scan(PyObject *module, PyObject *arguments) {
    PyObject *codes, *queries, *products, *places;
    long long texts, begin, end;
    Buffers buffers = {.count = 0};
    Scan job;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OLOLLOO", &codes, &texts, &queries, &begin, &end, &products,
                          &places)) return NULL;
    int32_t *at_products, *at_places;
    if (!(job.codes = take(&buffers, codes, INT8))
        || !(job.queries = take(&buffers, queries, INT16))
        || !(at_products = take_writable(&buffers, products, INT32))
        || !(at_places = take_writable(&buffers, places, INT32))
        || buffers.views[1].ndim != 3 || buffers.views[2].ndim != 2) return finished(&buffers, 0);
    job.count = buffers.views[1].shape[0];
    job.pairs = buffers.views[1].shape[1];
    job.begin = begin;
    job.end = end;
    job.texts = texts;
    const int64_t k = buffers.views[2].shape[1], of_block = product_of(job.pairs, 2 * LANES);
    if (buffers.views[1].shape[2] != 2 || buffers.views[2].shape[0] != job.count || k < 1
        || length(&buffers, 3) != product_of(job.count, k) || of_block < 1
        || !within(0, texts, INT32_MAX) || !within(begin, end, (texts + LANES - 1) / LANES)
        || end > length(&buffers, 0) / of_block) return finished(&buffers, 0);
    const int64_t room = product_of(k, 2) < 0 ? -1 : 2 * k + 4 * LANES;
    Item *items = room_for(product_of(job.count, room), sizeof(Item));
    int32_t *space = room_for(room, sizeof(int32_t));
    job.best = room_for(job.count, sizeof(Best));
    if (!items || !space || !job.best) {
        free(items);
        free(space);
        free(job.best);
        return finished(&buffers, 0);
    }
    for (int64_t at = 0; at < job.count; at++)
        job.best[at] = (Best){items + at * room, space, 0, room, k, INT32_MIN};
    Py_BEGIN_ALLOW_THREADS
    run_scan(&job);
    for (int64_t at = 0; at < job.count; at++) {
        Best *best = &job.best[at];
        cut(best);
        for (int64_t item = 0; item < k; item++) {
            const int there = item < best->count;
            at_products[at * k + item] = there ? best->items[item].product : INT32_MIN;
            at_places[at * k + item] = there ? best->items[item].place : -1;
        }
    }
    Py_END_ALLOW_THREADS
    free(items);
    free(space);
    free(job.best);
    return finished(&buffers, 1);
}

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, "The codes with the largest products."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
#if defined(HAS_VARIANTS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2")) block_products = block_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vl"))
        block_products = __builtin_cpu_supports("avx512vnni") ? block_vnni : block_avx512;
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_looking", "A compiled part of engine.py.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__looking(void) { return PyModuleDef_Init(&definition); }
