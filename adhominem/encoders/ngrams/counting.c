/* Counting n-grams and projecting them: what `counter.py` and `together.py` do in NumPy, a text at
 * a time and without arrays in between.
 *
 * Any C compiler can build this; with GCC or Clang on x86-64, the loop of the projection is also
 * compiled for AVX2, which is chosen when the module is loaded.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <string.h>

#define MOST_BUFFERS 16

typedef struct {
    Py_buffer views[MOST_BUFFERS];
    int count;
} Buffers;

/* The memory of an array of items so wide, or NULL with an error. */
static void *take(Buffers *buffers, PyObject *array, Py_ssize_t wide, int writable) {
    Py_buffer *view = &buffers->views[buffers->count];
    if (buffers->count == MOST_BUFFERS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return NULL;
    }
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array, view, flags)) return NULL;
    buffers->count++;
    if (view->itemsize != wide) {
        PyErr_SetString(PyExc_ValueError, "an array of another type than expected");
        return NULL;
    }
    return view->buf;
}

static int64_t length(const Buffers *buffers, int at) {
    return buffers->views[at].len / buffers->views[at].itemsize;
}

static void release(Buffers *buffers) {
    while (buffers->count > 0) PyBuffer_Release(&buffers->views[--buffers->count]);
}

#define MOST_BIGRAMS 8 /* channels of bigrams, of all tables */

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
        if (begin < 0 || end > text->grams) return -1;
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
                const int64_t code = first[1 + channel] * text->sizes[channel] + whole[1 + channel];
                if (code < 0 || code >= text->lengths[channel]) return -1;
                const uint64_t place = (uint64_t)text->tables[channel][code];
                if (place >= places) return -1;
                counts[place]++;
            }
        }
        before = row;
    }
    return 0;
}

/* count(rows, ends, flat, whole, bigrams, counts, places, found) -> how many places occur
 *
 * `counts` (places,) is zeros before and after; place 0 counts nothing. */
static PyObject *count(PyObject *module, PyObject *arguments) {
    PyObject *rows, *ends, *flat, *whole, *bigrams, *counts, *places, *times, *result = NULL;
    Buffers buffers = {.count = 0};
    Text text;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOO!OOO", &rows, &ends, &flat, &whole, &PyTuple_Type,
                          &bigrams, &counts, &places, &times)) return NULL;
    int64_t *at_places;
    uint32_t *at_times;
    if (!(text.rows = take(&buffers, rows, 8, 0)) || !(text.ends = take(&buffers, ends, 8, 0))
        || !(text.flat = take(&buffers, flat, 8, 0)) || !(text.whole = take(&buffers, whole, 8, 0))
        || !(text.counts = take(&buffers, counts, 4, 1))
        || !(at_places = take(&buffers, places, 8, 1)) || !(at_times = take(&buffers, times, 4, 1)))
        goto done;
    text.tokens = length(&buffers, 0);
    text.types = length(&buffers, 1);
    text.grams = length(&buffers, 2);
    text.places = length(&buffers, 4);
    text.bigrams = (int)PyTuple_Size(bigrams);
    text.columns = 1 + text.bigrams;
    if (text.bigrams > MOST_BIGRAMS || length(&buffers, 3) != text.types * text.columns
        || length(&buffers, 5) != text.places || length(&buffers, 6) != text.places) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto done;
    }
    for (int channel = 0; channel < text.bigrams; channel++) {
        PyObject *table;
        long long size;
        if (!PyArg_ParseTuple(PyTuple_GetItem(bigrams, channel), "LO", &size, &table)
            || !(text.tables[channel] = take(&buffers, table, 8, 0))) goto done;
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

/* Four rows at a time are added to the LEV, which is then read and written but once for them. */
#define ADD_ROWS                                                                                   \
    int64_t at = 0;                                                                                \
    for (; at + 4 <= count; at += 4) {                                                             \
        const int8_t *a = rows + columns[at] * size, *b = rows + columns[at + 1] * size;           \
        const int8_t *c = rows + columns[at + 2] * size, *d = rows + columns[at + 3] * size;       \
        const float v = values[at], w = values[at + 1], x = values[at + 2], y = values[at + 3];    \
        for (int64_t j = 0; j < size; j++)                                                         \
            lev[j] += ((float)a[j] * v + (float)b[j] * w) + ((float)c[j] * x + (float)d[j] * y);   \
    }                                                                                              \
    for (; at < count; at++) {                                                                     \
        const int8_t *a = rows + columns[at] * size;                                               \
        const float v = values[at];                                                                \
        for (int64_t j = 0; j < size; j++) lev[j] += (float)a[j] * v;                              \
    }

#if defined(_MSC_VER)
#define RESTRICT __restrict
#else
#define RESTRICT restrict
#endif
typedef void AddRows(const int8_t *RESTRICT rows, int64_t size, const int64_t *columns,
                     const float *values, int64_t count, float *RESTRICT lev);

static void add_rows_plain(const int8_t *RESTRICT rows, int64_t size, const int64_t *columns,
                           const float *values, int64_t count, float *RESTRICT lev) { ADD_ROWS }
static AddRows *add_rows = add_rows_plain;

#if defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void
add_rows_avx2(const int8_t *RESTRICT rows, int64_t size, const int64_t *columns,
              const float *values, int64_t count, float *RESTRICT lev) { ADD_ROWS }
#endif

/* project(projection, columns, values, lev): add rows of eight bits, each times its value */
static PyObject *project(PyObject *module, PyObject *arguments) {
    PyObject *projection, *columns, *values, *lev, *result = NULL;
    Buffers buffers = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOO", &projection, &columns, &values, &lev)) return NULL;
    const int8_t *rows;
    const int64_t *chosen;
    const float *weights;
    float *out;
    if (!(rows = take(&buffers, projection, 1, 0)) || !(chosen = take(&buffers, columns, 8, 0))
        || !(weights = take(&buffers, values, 4, 0)) || !(out = take(&buffers, lev, 4, 1)))
        goto done;
    const int64_t count = length(&buffers, 1), size = length(&buffers, 3);
    int good = size > 0 && length(&buffers, 2) == count && length(&buffers, 0) % size == 0;
    for (int64_t at = 0; good && at < count; at++)
        good = chosen[at] >= 0 && chosen[at] < length(&buffers, 0) / size;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    add_rows(rows, size, chosen, weights, count, out);
    Py_END_ALLOW_THREADS
    result = Py_None;
    Py_INCREF(result);
done:
    release(&buffers);
    return result;
}

static PyMethodDef methods[] = {
    {"count", count, METH_VARARGS, "Count the n-grams of a text."},
    {"project", project, METH_VARARGS, "Add rows of a projection to a LEV."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) add_rows = add_rows_avx2;
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_counting", "Compiled parts of counter.py and together.py.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__counting(void) { return PyModuleDef_Init(&definition); }
