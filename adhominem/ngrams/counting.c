/* Counting n-grams and projecting them: what `counter.py` and `encoder.py` do in NumPy, a text at
 * a time and without arrays in between.
 *
 * Any C compiler can build this; with GCC or Clang on x86-64, the product of the projection is also
 * compiled for AVX2, which is chosen when the module is loaded.
 */
#define MOST_BUFFERS 80 /* channels of bigrams, and what else there is */
#include "../buffers.h"

#if defined(__GNUC__)
#define PREFETCH(at) __builtin_prefetch(at)
#else
#define PREFETCH(at) ((void)0)
#endif

#define MOST_BIGRAMS 64 /* channels of bigrams, of all tables */

typedef struct {
    const int64_t *rows, *ends, *flat, *whole;
    int64_t tokens, types, grams, columns;
    const int64_t *tables[MOST_BIGRAMS];
    int64_t sizes[MOST_BIGRAMS], lengths[MOST_BIGRAMS];
    int bigrams;
    uint32_t *counts;
    int64_t places;
} Text;

/* Add up what occurs; -1 where a number points outside of its table. */
static int count_all(const Text *text) {
    uint32_t *counts = text->counts;
    const uint64_t places = (uint64_t)text->places;
    int64_t before = 0;
    for (int64_t at = 0; at < text->tokens; at++) {
        const int64_t row = text->rows[at];
        if (row < 0 || row >= text->types) return -1;
        const int64_t begin = row ? text->ends[row - 1] : 0, end = text->ends[row];
        if (!within(begin, end, text->grams)) return -1;
        for (int64_t gram = begin; gram < end; gram++) {
            if ((uint64_t)text->flat[gram] >= places) return -1;
            counts[text->flat[gram]]++;
        }
        const int64_t *whole = text->whole + row * text->columns;
        if ((uint64_t)whole[0] >= places) return -1;
        counts[whole[0]]++;
        if (at) {
            const int64_t *first = text->whole + before * text->columns;
            for (int channel = 0; channel < text->bigrams; channel++) {
                /* What is below 0, or too large, becomes a number beyond the table: */
                const uint64_t code = (uint64_t)first[1 + channel] * (uint64_t)text->sizes[channel]
                                      + (uint64_t)whole[1 + channel];
                if (code >= (uint64_t)text->lengths[channel]) return -1;
                const uint64_t place = (uint64_t)text->tables[channel][code];
                if (place >= places) return -1;
                counts[place]++;
            }
        }
        before = row;
    }
    return 0;
}

/* count(rows, ends, flat, whole, bigrams, counts, places, times) -> how many places occur
 *
 * `counts` (places,), one or more, is zeros before and after; place 0 counts nothing. */
static PyObject *count(PyObject *module, PyObject *arguments) {
    PyObject *rows, *ends, *flat, *whole, *bigrams, *counts, *places, *times, *result = NULL;
    Buffers buffers = {.count = 0};
    Text text;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO!OOO", &rows, &ends, &flat, &whole, &PyTuple_Type,
                          &bigrams, &counts, &places, &times)) return NULL;
    int64_t *at_places;
    uint32_t *at_times;
    if (!(text.rows = take(&buffers, rows, INT64)) || !(text.ends = take(&buffers, ends, INT64))
        || !(text.flat = take(&buffers, flat, INT64)) || !(text.whole = take(&buffers, whole, INT64))
        || !(text.counts = take_writable(&buffers, counts, INT32))
        || !(at_places = take_writable(&buffers, places, INT64))
        || !(at_times = take_writable(&buffers, times, INT32))) goto done;
    text.tokens = length(&buffers, 0);
    text.types = length(&buffers, 1);
    text.grams = length(&buffers, 2);
    text.places = length(&buffers, 4);
    text.bigrams = (int)PyTuple_Size(bigrams);
    text.columns = 1 + text.bigrams;
    if (text.bigrams > MOST_BIGRAMS || text.places < 1
        || length(&buffers, 3) != product_of(text.types, text.columns)
        || length(&buffers, 5) != text.places || length(&buffers, 6) != text.places)
        return finished(&buffers, 0);
    for (int channel = 0; channel < text.bigrams; channel++) {
        PyObject *table, *two = PyTuple_GetItem(bigrams, channel);
        long long size;
        if (!PyTuple_Check(two)) return finished(&buffers, 0);
        if (!PyArg_ParseTuple(two, "LO", &size, &table)
            || !(text.tables[channel] = take(&buffers, table, INT64))) goto done;
        text.sizes[channel] = size;
        text.lengths[channel] = length(&buffers, buffers.count - 1);
    }
    int64_t occurring = 0;
    int wrong;
    Py_BEGIN_ALLOW_THREADS
    wrong = count_all(&text);
    text.counts[0] = 0;
    int64_t place = 0;
    for (; place + 8 <= text.places; place += 8) { /* most of them are zero */
        uint64_t eight[4];
        memcpy(eight, text.counts + place, sizeof eight);
        if (!(eight[0] | eight[1] | eight[2] | eight[3])) continue;
        for (int64_t at = place; at < place + 8; at++)
            if (text.counts[at]) {
                at_places[occurring] = at;
                at_times[occurring++] = text.counts[at];
                text.counts[at] = 0;
            }
    }
    for (; place < text.places; place++)
        if (text.counts[place]) {
            at_places[occurring] = place;
            at_times[occurring++] = text.counts[place];
            text.counts[place] = 0;
        }
    Py_END_ALLOW_THREADS
    if (wrong) PyErr_SetString(PyExc_ValueError, "a number points outside of its table");
    else result = PyLong_FromLongLong(occurring);
done:
    release(&buffers);
    return result;
}

/* A product of texts, whose n-grams are few of all columns, with a projection of eight bits. Some
 * of the LEV's numbers at a time (a strip) are added up in registers; what they need of some columns
 * (a block) becomes floats once for all texts, and stays in the first cache. The columns of a text
 * are added in their order, whatever stands beside it. */
#define STRIP 64
#define BLOCK 128
#define AHEAD 12 /* n-grams, whose columns are fetched meanwhile */

typedef struct {
    const int8_t *projection; /* (columns, size) */
    int64_t columns, size;
    const int64_t *firsts; /* (texts + 1,): where the n-grams of each begin, and the end */
    int64_t texts;
    const int64_t *chosen; /* (n-grams,): columns, rising in a text */
    const float *values;   /* (n-grams,) */
    float *levs;           /* (texts, size) */
    int64_t *next;         /* (texts,): the first n-gram that is not added yet */
} Product;

#define MULTIPLY                                                                                   \
    float floats[BLOCK][STRIP];                                                                    \
    for (int64_t strip = 0; strip < product->size; strip += STRIP) {                               \
        const int64_t rest = product->size - strip, width = rest < STRIP ? rest : STRIP;           \
        memset(floats, 0, sizeof floats);                                                          \
        memcpy(product->next, product->firsts, sizeof(int64_t) * (size_t)product->texts);          \
        for (int64_t begin = 0; begin < product->columns; begin += BLOCK) {                        \
            unsigned char ready[BLOCK] = {0};                                                      \
            for (int64_t text = 0; text < product->texts; text++) {                                \
                const int64_t last = product->firsts[text + 1];                                    \
                int64_t at = product->next[text];                                                  \
                if (at == last || product->chosen[at] >= begin + BLOCK) continue;                  \
                float *lev = product->levs + text * product->size + strip;                         \
                float sums[STRIP] = {0};                                                           \
                memcpy(sums, lev, sizeof(float) * (size_t)width);                                  \
                for (; at < last && product->chosen[at] < begin + BLOCK; at++) {                   \
                    const int64_t column = product->chosen[at] - begin;                            \
                    const float value = product->values[at];                                       \
                    float *row = floats[column];                                                   \
                    if (at + AHEAD < last)                                                         \
                        PREFETCH(product->projection + product->chosen[at + AHEAD] * product->size \
                                 + strip);                                                         \
                    if (!ready[column]) {                                                          \
                        const int8_t *from =                                                       \
                            product->projection + (begin + column) * product->size + strip;        \
                        for (int64_t j = 0; j < width; j++) row[j] = (float)from[j];               \
                        ready[column] = 1;                                                         \
                    }                                                                              \
                    for (int j = 0; j < STRIP; j++) sums[j] += value * row[j];                     \
                }                                                                                  \
                memcpy(lev, sums, sizeof(float) * (size_t)width);                                  \
                product->next[text] = at;                                                          \
            }                                                                                      \
        }                                                                                          \
    }

static void multiply_plain(const Product *product) { MULTIPLY }
static void (*multiply)(const Product *product) = multiply_plain;

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void multiply_avx2(const Product *product) { MULTIPLY }
#endif

/* project(projection, firsts, columns, values, levs): see `Product`; adds to levs */
static PyObject *project(PyObject *module, PyObject *arguments) {
    PyObject *projection, *firsts, *columns, *values, *levs;
    Buffers buffers = {.count = 0};
    Product product = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO", &projection, &firsts, &columns, &values, &levs))
        return NULL;
    if (!(product.projection = take(&buffers, projection, INT8))
        || !(product.firsts = take(&buffers, firsts, INT64))
        || !(product.chosen = take(&buffers, columns, INT64))
        || !(product.values = take(&buffers, values, REAL32))
        || !(product.levs = take_writable(&buffers, levs, REAL32))) return finished(&buffers, 0);
    const int64_t count = length(&buffers, 2);
    product.texts = length(&buffers, 1) - 1;
    if (product.texts > 0) {
        product.size = length(&buffers, 4) / product.texts;
        product.columns = product.size ? length(&buffers, 0) / product.size : 0;
    }
    int good = product.columns > 0 && product.texts * product.size == length(&buffers, 4)
               && product.columns * product.size == length(&buffers, 0)
               && length(&buffers, 3) == count && product.firsts[0] == 0
               && product.firsts[product.texts] == count;
    for (int64_t text = 0; good && text < product.texts; text++)
        good = product.firsts[text] <= product.firsts[text + 1];
    for (int64_t text = 0; good && text < product.texts; text++)
        for (int64_t at = product.firsts[text]; good && at < product.firsts[text + 1]; at++)
            good = product.chosen[at] < product.columns
                   && product.chosen[at] > (at == product.firsts[text] ? -1 : product.chosen[at - 1]);
    if (!good || !(product.next = room_for(product.texts, sizeof(int64_t))))
        return finished(&buffers, 0);
    Py_BEGIN_ALLOW_THREADS
    multiply(&product);
    Py_END_ALLOW_THREADS
    free(product.next);
    return finished(&buffers, 1);
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, "Count the n-grams of a text."},
    {"project", project, METH_VARARGS, "Add rows of a projection to LEVs."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) multiply = multiply_avx2;
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_counting", "Compiled parts of counter.py and encoder.py.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__counting(void) { return PyModuleDef_Init(&definition); }
