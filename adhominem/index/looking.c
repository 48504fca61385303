/* Looking through an index: products of codes and of packed LEVs with queries, the largest kept.
 *
 * What `engine.py` and `packing.py` do in NumPy, without arrays in between and without Python's lock.
 * Any C compiler can build this; with GCC or Clang on x86-64, the products are also compiled for
 * AVX2 and AVX-512, of which one is chosen when the module is loaded.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_VARIANTS
#endif
#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#else
#define PREFETCH(at) ((void)0)
#endif

#define MOST_BUFFERS 8
#define LANES 16  /* codes that are multiplied side by side */
#define TOGETHER 8 /* queries that are multiplied at once */
#define SAMPLE 512 /* blocks that show which products are large */
#define CHUNK 64  /* blocks of codes that all queries see before the next ones are read */

typedef struct {
    Py_buffer views[MOST_BUFFERS];
    int count;
} Buffers;

/* The memory of an array of items so wide, or NULL with an error. */
static void *take(Buffers *buffers, PyObject *array, Py_ssize_t wide, int writable) {
    Py_buffer *view = &buffers->views[buffers->count];
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array, view, flags)) return NULL;
    buffers->count++;
    if (wide && view->itemsize != wide) {
        PyErr_SetString(PyExc_ValueError, "an array of another type than expected");
        return NULL;
    }
    return view->buf;
}

static int64_t length(const Buffers *buffers, int at) {
    return buffers->views[at].len / buffers->views[at].itemsize;
}

static PyObject *finished(Buffers *buffers, int good) {
    while (buffers->count > 0) PyBuffer_Release(&buffers->views[--buffers->count]);
    if (PyErr_Occurred()) return NULL;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        return NULL;
    }
    Py_RETURN_NONE;
}

/* The largest of many products */

typedef struct {
    int32_t product, place;
} Item;

typedef struct {
    Item *items; /* (room,) */
    int64_t count, room, wanted;
    int32_t least; /* what is not larger is not among the largest */
} Best;

/* Bring the `wanted` largest to the front. */
static void select_largest(Item *items, int64_t count, int64_t wanted) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const int32_t pivot = items[low + (high - low) / 2].product;
        int64_t first = low, last = high;
        while (first <= last) {
            while (items[first].product > pivot) first++;
            while (items[last].product < pivot) last--;
            if (first <= last) {
                const Item item = items[first];
                items[first++] = items[last];
                items[last--] = item;
            }
        }
        if (wanted - 1 <= last) high = last;
        else if (wanted - 1 >= first) low = first;
        else return;
    }
}

static void cut(Best *best) {
    if (best->count <= best->wanted) return;
    select_largest(best->items, best->count, best->wanted);
    best->count = best->wanted;
    int32_t least = best->items[0].product;
    for (int64_t at = 1; at < best->count; at++)
        if (best->items[at].product < least) least = best->items[at].product;
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
                products[lane] += queries[2 * pair] * block[(pair * LANES + lane) * 2]
                                  + queries[2 * pair + 1] * block[(pair * LANES + lane) * 2 + 1];
        larger[query] = 0;
        for (int lane = 0; lane < LANES; lane++)
            larger[query] |= (uint32_t)(products[lane] > least[query]) << lane;
    }
}

/* Products of codes, in blocks or one by one. */
typedef struct {
    BlockProducts block;
    int32_t (*code)(const int8_t *, const int16_t *, int64_t);
} Variant;

#define CODE_PRODUCT                                                                               \
    (const int8_t *code, const int16_t *query, int64_t size) {                                     \
        int32_t total = 0;                                                                         \
        for (int64_t at = 0; at < size; at++) total += (int32_t)code[at] * query[at];              \
        return total;                                                                              \
    }

static int32_t code_plain CODE_PRODUCT

static Variant variant = {block_plain, code_plain};

#if defined(HAS_VARIANTS)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx2,fma")))
#define VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx2,fma")))

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

AVX2 static int32_t code_avx2(const int8_t *code, const int16_t *query, int64_t size) {
    __m256i sum = _mm256_setzero_si256();
    int64_t at = 0;
    for (; at + 16 <= size; at += 16) {
        const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(code + at)));
        const __m256i there = _mm256_loadu_si256((const __m256i *)(query + at));
        sum = _mm256_add_epi32(sum, _mm256_madd_epi16(wide, there));
    }
    int32_t sums[8], total = code_plain(code + at, query + at, size - at);
    _mm256_storeu_si256((__m256i *)sums, sum);
    for (int lane = 0; lane < 8; lane++) total += sums[lane];
    return total;
}

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
                variant.block(scan->codes + block * scan->pairs * 2 * LANES, scan->pairs,
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
            best->least--;
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
 * end, products and places (count, k) int32 get the k largest of each query, in no order; places
 * are -1 where there are fewer. */
static PyObject *scan(PyObject *module, PyObject *arguments) {
    PyObject *codes, *queries, *products, *places;
    long long texts, begin, end;
    Buffers buffers = {.count = 0};
    Scan job;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OLOLLOO", &codes, &texts, &queries, &begin, &end, &products,
                          &places)) return NULL;
    int32_t *at_products, *at_places;
    if (!(job.codes = take(&buffers, codes, 1, 0)) || !(job.queries = take(&buffers, queries, 2, 0))
        || !(at_products = take(&buffers, products, 4, 1))
        || !(at_places = take(&buffers, places, 4, 1))) return finished(&buffers, 0);
    const int shapes = buffers.views[1].ndim == 3 && buffers.views[2].ndim == 2;
    if (!shapes) return finished(&buffers, 0);
    job.count = buffers.views[1].shape[0];
    job.pairs = buffers.views[1].shape[1];
    job.begin = begin;
    job.end = end;
    job.texts = texts;
    const int64_t k = buffers.views[2].shape[1];
    if (buffers.views[1].shape[2] != 2 || buffers.views[2].shape[0] != job.count || k < 1
        || length(&buffers, 3) != job.count * k || begin < 0 || end < begin || texts > INT32_MAX
        || end * LANES >= texts + LANES || job.pairs < 1
        || length(&buffers, 0) < end * job.pairs * 2 * LANES) return finished(&buffers, 0);
    const int64_t room = 2 * k + 4 * LANES;
    Item *items = malloc(sizeof(Item) * (size_t)(job.count * room) + 1);
    job.best = malloc(sizeof(Best) * (size_t)job.count + 1);
    if (!items || !job.best) {
        free(items);
        free(job.best);
        PyErr_NoMemory();
        return finished(&buffers, 0);
    }
    for (int64_t at = 0; at < job.count; at++)
        job.best[at] = (Best){items + at * room, 0, room, k, INT32_MIN};
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
    free(job.best);
    return finished(&buffers, 1);
}

/* Products of chosen rows, each with one of the queries */

typedef struct {
    const int64_t *rows, *which; /* (chosen,): a row, and the query it is multiplied with */
    int64_t chosen, texts, queries, size;
} Chosen;

static int fits(const Chosen *chosen) {
    for (int64_t at = 0; at < chosen->chosen; at++)
        if (chosen->rows[at] < 0 || chosen->rows[at] >= chosen->texts || chosen->which[at] < 0
            || chosen->which[at] >= chosen->queries) return 0;
    return 1;
}

/* The rows and queries of the first four of some arrays: values, queries, rows, which. */
static int read_chosen(Chosen *chosen, const Buffers *buffers) {
    if (buffers->views[1].ndim != 2) return 0;
    chosen->rows = buffers->views[2].buf;
    chosen->which = buffers->views[3].buf;
    chosen->chosen = length(buffers, 2);
    chosen->queries = buffers->views[1].shape[0];
    chosen->size = buffers->views[1].shape[1];
    return length(buffers, 3) == chosen->chosen;
}

/* code_products(codes, queries, rows, which, products)
 *
 * codes (texts, size) int8, queries (count, size) int16; products (chosen,) int32. */
static PyObject *code_products(PyObject *module, PyObject *arguments) {
    PyObject *codes, *queries, *rows, *which, *products;
    Buffers buffers = {.count = 0};
    Chosen chosen;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &codes, &queries, &rows, &which, &products))
        return NULL;
    const int8_t *values;
    const int16_t *there;
    int32_t *result;
    if (!(values = take(&buffers, codes, 1, 0)) || !(there = take(&buffers, queries, 2, 0))
        || !take(&buffers, rows, 8, 0) || !take(&buffers, which, 8, 0)
        || !(result = take(&buffers, products, 4, 1)) || !read_chosen(&chosen, &buffers)
        || buffers.views[0].ndim != 2 || buffers.views[0].shape[1] != chosen.size
        || length(&buffers, 4) != chosen.chosen) return finished(&buffers, 0);
    chosen.texts = buffers.views[0].shape[0];
    if (!fits(&chosen)) return finished(&buffers, 0);
    Py_BEGIN_ALLOW_THREADS
    const int64_t size = chosen.size;
    for (int64_t at = 0; at < chosen.chosen; at++) {
        if (at + 4 < chosen.chosen)
            for (int64_t line = 0; line < size; line += 64)
                PREFETCH(values + chosen.rows[at + 4] * size + line);
        result[at] = variant.code(values + chosen.rows[at] * size, there + chosen.which[at] * size,
                                  size);
    }
    Py_END_ALLOW_THREADS
    return finished(&buffers, 1);
}

#define AT_ONCE 256 /* numbers of a query that are looked up before they are multiplied */

/* The sum of the squares, with their signs, of products of roots. */
#define SQUARES                                                                                    \
    (const int8_t *restrict first, const int8_t *restrict second, int64_t count) {                 \
        float sums[LANES] = {0}, total = 0;                                                        \
        int64_t at = 0;                                                                            \
        for (; at + LANES <= count; at += LANES)                                                   \
            for (int lane = 0; lane < LANES; lane++) {                                             \
                const float product = (float)(int16_t)(first[at + lane] * second[at + lane]);      \
                sums[lane] += product * fabsf(product);                                            \
            }                                                                                      \
        for (; at < count; at++) {                                                                 \
            const float product = (float)(first[at] * second[at]);                                 \
            total += product * fabsf(product);                                                     \
        }                                                                                          \
        for (int lane = 0; lane < LANES; lane++) total += sums[lane];                              \
        return total;                                                                              \
    }

static float squares_plain SQUARES
#if defined(HAS_VARIANTS)
AVX2 static float squares_avx2 SQUARES
AVX512 static float squares_avx512 SQUARES
#endif
static float (*squares)(const int8_t *, const int8_t *, int64_t) = squares_plain;

/* The product of a sparse row with a query, both as roots; 0 with `bad` set where a step leads
 * outside. */
#define SPARSE_PRODUCT(NAME, TYPE)                                                                 \
    static float NAME(const TYPE *steps, const int8_t *values, int64_t count, const int8_t *query, \
                      int64_t size, int *bad) {                                                    \
        int64_t walked = 0, place = -1;                                                            \
        for (int64_t step = 0; step < count; step++) walked += steps[step];                        \
        if (walked > size || (count && !steps[0])) {                                               \
            *bad = 1;                                                                              \
            return 0;                                                                              \
        }                                                                                          \
        float total = 0;                                                                           \
        int8_t there[AT_ONCE];                                                                     \
        for (int64_t begin = 0; begin < count; begin += AT_ONCE) {                                 \
            const int64_t n = count - begin < AT_ONCE ? count - begin : AT_ONCE;                   \
            for (int64_t at = 0; at < n; at++) {                                                   \
                place += steps[begin + at];                                                        \
                there[at] = query[place];                                                          \
            }                                                                                      \
            total += squares(there, values + begin, n);                                            \
        }                                                                                          \
        return total;                                                                              \
    }

SPARSE_PRODUCT(sparse_by_bytes, uint8_t)
SPARSE_PRODUCT(sparse_by_pairs, uint16_t)

/* sparse_products(values, queries, rows, which, ends, steps, products)
 *
 * Rows of steps (entries,) of one or two bytes and roots (entries,) int8, which end at ends
 * (texts,); queries (count, size) int8 of roots; products (chosen,) float, without scales. */
static PyObject *sparse_products(PyObject *module, PyObject *arguments) {
    PyObject *packed, *queries, *rows, *which, *row_ends, *row_steps, *products;
    Buffers buffers = {.count = 0};
    Chosen chosen;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOOO", &packed, &queries, &rows, &which, &row_ends,
                          &row_steps, &products)) return NULL;
    const int8_t *values, *there;
    const int64_t *ends;
    const void *steps;
    float *result;
    if (!(values = take(&buffers, packed, 1, 0)) || !(there = take(&buffers, queries, 1, 0))
        || !take(&buffers, rows, 8, 0) || !take(&buffers, which, 8, 0)
        || !(ends = take(&buffers, row_ends, 8, 0)) || !(steps = take(&buffers, row_steps, 0, 0))
        || !(result = take(&buffers, products, 4, 1)) || !read_chosen(&chosen, &buffers))
        return finished(&buffers, 0);
    const int64_t entries = length(&buffers, 0), wide = buffers.views[5].itemsize;
    chosen.texts = length(&buffers, 4);
    if (length(&buffers, 5) != entries || wide > 2 || length(&buffers, 6) != chosen.chosen
        || !fits(&chosen)) return finished(&buffers, 0);
    int bad = 0;
    Py_BEGIN_ALLOW_THREADS
    for (int64_t at = 0; at < chosen.chosen && !bad; at++) {
        const int64_t row = chosen.rows[at], begin = row ? ends[row - 1] : 0;
        const int64_t count = ends[row] - begin;
        const int8_t *query = there + chosen.which[at] * chosen.size;
        const int64_t next = at + 1 < chosen.chosen ? chosen.rows[at + 1] : 0;
        const int64_t from = next ? ends[next - 1] : 0, to = ends[next] < entries ? ends[next] : 0;
        for (int64_t line = from < 0 ? to : from; line < to; line += 64) {
            PREFETCH(values + line);
            PREFETCH((const uint8_t *)steps + line * wide);
        }
        if (begin < 0 || count < 0 || ends[row] > entries) {
            bad = 1;
            break;
        }
        result[at] =
            wide == 1 ? sparse_by_bytes((const uint8_t *)steps + begin, values + begin, count, query,
                                        chosen.size, &bad)
                      : sparse_by_pairs((const uint16_t *)steps + begin, values + begin, count,
                                        query, chosen.size, &bad);
    }
    Py_END_ALLOW_THREADS
    return finished(&buffers, !bad);
}

static PyMethodDef methods[] = {
    {"scan", scan, METH_VARARGS, "The codes with the largest products."},
    {"code_products", code_products, METH_VARARGS, "Products of chosen codes, or dense rows."},
    {"sparse_products", sparse_products, METH_VARARGS, "Products of chosen sparse rows."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
#if defined(HAS_VARIANTS)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        variant = (Variant){block_avx2, code_avx2};
        squares = squares_avx2;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
        && __builtin_cpu_supports("avx512vl")) {
        variant = (Variant){block_avx512, code_avx2};
        squares = squares_avx512;
    }
    if (variant.block == block_avx512 && __builtin_cpu_supports("avx512vnni"))
        variant.block = block_vnni;
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_looking", "Compiled parts of engine.py and packing.py.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__looking(void) { return PyModuleDef_Init(&definition); }
