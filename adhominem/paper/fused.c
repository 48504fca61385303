/* A BiLSTM and the attention behind it, in one pass over sequences: what `recurrence.py` does in
 * NumPy, without arrays in between.
 *
 * Some sequences at a time (a block) go through both directions, so that their hidden states are
 * still in the cache when the attention reads them. A product takes a few sequences and a panel of
 * the weights (four vectors of eight columns): the sums stay in registers, and those of a panel of
 * gates go straight through tanh into the cell. What a sequence comes to is computed by the same
 * operations in the same order whatever stands beside it.
 *
 * Vectors are GCC's and Clang's extension of C; other compilers cannot build this, and the package
 * then uses NumPy. The same source is compiled for several kinds of processors; kernel.py chooses.
 * Without vectors of eight ("plain") it is slower than NumPy, and there for tests.
 */
#define MOST_BUFFERS 12
#include "../buffers.h"

#include <math.h>

#if !defined(__GNUC__)
#error "expected GCC or Clang: without them, the package uses NumPy"
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi" /* no vector is ever passed to another object file */
#endif

#define LANES 8
#define PANEL 4 /* vectors */
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

typedef float Vector __attribute__((vector_size(32)));
typedef int32_t Mask __attribute__((vector_size(32)));
typedef float Loose __attribute__((vector_size(32), aligned(4), may_alias));

typedef struct {
    const float *tables[2]; /* of each direction, (rows, 4 * size) */
    const float *heads[2];  /* the same for the first step, or NULL */
    int64_t table_rows, head_rows;
    const int64_t *rows;    /* (sequences, steps) */
    const int64_t *lengths; /* (sequences,), the longest first */
    int64_t sequences, steps;
    int64_t size;
    const float *recurrent[2]; /* panels of four gates (size, 4, LANES), then those of the rest */
    int64_t inner;             /* columns of the attention */
    const float *weight;       /* panels of up to four vectors, each (2 * size, vectors, LANES) */
    const float *bias, *score; /* (vectors * LANES,) */
    float *vectors;            /* (sequences, 2 * size) */
    float *attention;          /* (sequences, steps) */
} Job;

/* Some sequences at a time, and the memory that they take. */
typedef struct {
    int64_t padded, stride; /* of a direction's states, and of both directions' */
    int64_t n;              /* sequences */
    int64_t *active;        /* (steps,): how many of them have a step */
    float *hidden;          /* (steps, n, stride): twice the hidden states */
    float *cells;           /* (n, padded) */
    Vector *totals;         /* (n,) */
    const float **inputs;   /* (n,) */
} Block;

INLINE const float *input_row(const Job *job, int64_t sequence, int64_t step, int direction) {
    const float *table = step == 0 && job->heads[0] ? job->heads[direction] : job->tables[direction];
    return table + job->rows[sequence * job->steps + step] * 4 * job->size;
}

/* CALL with N, which stands for n there and is a constant: the compiler unrolls its loops. */
#define FOR_COUNT(n, CALL)                                                                         \
    switch (n < ROWS ? n : ROWS) {                                                                 \
        case 1: { enum { N = 1 }; CALL; break; }                                                   \
        case 2: { enum { N = ROWS < 2 ? ROWS : 2 }; CALL; break; }                                 \
        case 3: { enum { N = ROWS < 3 ? ROWS : 3 }; CALL; break; }                                 \
        case 4: { enum { N = ROWS < 4 ? ROWS : 4 }; CALL; break; }                                 \
        case 5: { enum { N = ROWS < 5 ? ROWS : 5 }; CALL; break; }                                 \
        default: { enum { N = ROWS }; CALL; break; }                                               \
    }

#define PRAGMA(text) _Pragma(#text)
#define FOR_WIDTH(width, CALL)                                                                     \
    switch (width) {                                                                               \
        case 1: { enum { WIDTH = 1 }; CALL; break; }                                               \
        case 2: { enum { WIDTH = 2 }; CALL; break; }                                               \
        case 3: { enum { WIDTH = 3 }; CALL; break; }                                               \
        default: { enum { WIDTH = 4 }; CALL; break; }                                              \
    }

#if defined(__x86_64__) && defined(__clang__)
#define BEGIN_TARGET(names) PRAGMA(clang attribute push(__attribute__((target(names))), apply_to = function))
#define END_TARGET PRAGMA(clang attribute pop)
#else
#define BEGIN_TARGET(names) PRAGMA(GCC push_options) PRAGMA(GCC target(names))
#define END_TARGET PRAGMA(GCC pop_options)
#endif

#define NAME(name) name##_plain
#define ROWS 2
#define LOWER(a, b) choose_plain((a) < (b), a, b)
#define HIGHER(a, b) choose_plain((a) > (b), a, b)
#include "fused_steps.h"

#if defined(__x86_64__)
BEGIN_TARGET("avx2,fma")
#define NAME(name) name##_avx2
#define ROWS 3
#define LOWER(a, b) __builtin_ia32_minps256(a, b)
#define HIGHER(a, b) __builtin_ia32_maxps256(a, b)
#include "fused_steps.h"
END_TARGET

BEGIN_TARGET("avx512f,avx512vl,avx512bw,avx512dq,avx2,fma") /* for its 32 registers */
#define NAME(name) name##_avx512
#define ROWS 6
#define LOWER(a, b) __builtin_ia32_minps256(a, b)
#define HIGHER(a, b) __builtin_ia32_maxps256(a, b)
#include "fused_steps.h"
END_TARGET
#endif

typedef struct {
    const char *name;
    int rows; /* that are best taken at once */
    void (*run)(const Job *, Block *, int64_t first);
    void (*tanh)(float *, int64_t vectors);
    void (*multiply)(const float *, int64_t, int64_t, const float *, int64_t, float *);
} Variant;

#define BLOCK_BYTES (384 << 10) /* of hidden states: some of a core's second cache */
#define BLOCK_ROWS 12
#define MOST_SIZE (1 << 20) /* of a state, and of the attention */

static int run(const Variant *variant, const Job *job) {
    const int64_t padded = (job->size + LANES - 1) / LANES * LANES, stride = 2 * padded;
    int64_t rows = BLOCK_BYTES / (int64_t)sizeof(float) / (stride * job->steps);
    if (rows > BLOCK_ROWS) rows = BLOCK_ROWS;
    rows = rows < variant->rows ? variant->rows : rows / variant->rows * variant->rows;
    if (rows > job->sequences) rows = job->sequences;
    const size_t hidden = sizeof(float) * job->steps * rows * stride;
    const size_t cells = sizeof(float) * rows * padded, totals = sizeof(Vector) * rows;
    const size_t inputs = sizeof(float *) * rows, active = sizeof(int64_t) * job->steps;
    char *memory = malloc(hidden + cells + totals + inputs + active + 64);
    if (!memory) return -1;
    char *at = (char *)(((uintptr_t)memory + 63) & ~(uintptr_t)63);
    Block block = {.padded = padded, .stride = stride};
    block.hidden = (float *)at;
    block.cells = (float *)(at += hidden);
    block.totals = (Vector *)(at += cells);
    block.inputs = (const float **)(at += totals);
    block.active = (int64_t *)(at += inputs);
    for (int64_t first = 0; first < job->sequences; first += rows) {
        block.n = job->sequences - first < rows ? job->sequences - first : rows;
        int64_t n = block.n;
        for (int64_t step = 0; step < job->lengths[first]; step++) {
            while (job->lengths[first + n - 1] <= step) n--;
            block.active[step] = n;
            /* Where a sequence has not begun, going backwards, its state is zero. */
            memset(block.hidden + (step * block.n + n) * stride, 0,
                   sizeof(float) * (block.n - n) * stride);
        }
        variant->run(job, &block, first);
    }
    free(memory);
    return 0;
}

static Variant variants[3]; /* that this processor can run, the best first */
static int variant_count;

static void find_variants(void) {
    variant_count = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        variants[variant_count++] = (Variant){"avx512", 6, run_avx512, tanh_of_avx512, multiply_rows_avx512};
    if (avx2) variants[variant_count++] = (Variant){"avx2", 3, run_avx2, tanh_of_avx2, multiply_rows_avx2};
#endif
    variants[variant_count++] = (Variant){"plain", 2, run_plain, tanh_of_plain, multiply_rows_plain};
}

static const Variant *variant_named(const char *name) {
    for (int at = 0; at < variant_count; at++)
        if (!strcmp(variants[at].name, name)) return &variants[at];
    PyErr_Format(PyExc_ValueError, "this processor runs no kernel %s", name);
    return NULL;
}

/* Python */

enum { ROWS, LENGTHS, FORWARD, BACKWARD, FIRST, LAST, RECURRENT, WEIGHT, BIAS, SCORE, VECTORS,
       ATTENTION };

static int check(int good, const char *problem) {
    if (!good) PyErr_SetString(PyExc_ValueError, problem);
    return good;
}

/* Sizes are small here, and all else is what arrays hold: no product is too large. */
static int check_job(const Job *job, const Py_buffer *views, int heads) {
    const int64_t vectors = (job->inner + LANES - 1) / LANES;
    const int64_t gates = (4 * job->size + LANES - 1) / LANES * LANES; /* in whole vectors */
    const int64_t four = sizeof(float), eight = sizeof(int64_t);
    if (!check(job->sequences * job->steps * eight == views[ROWS].len
               && job->sequences * job->steps * four == views[ATTENTION].len
               && job->sequences * 2 * job->size * four == views[VECTORS].len
               && views[FORWARD].len == views[BACKWARD].len
               && views[FORWARD].len % (4 * job->size * four) == 0
               && (!heads || (views[FIRST].len == views[LAST].len
                              && views[FIRST].len % (4 * job->size * four) == 0))
               && views[RECURRENT].len == 2 * job->size * gates * four
               && views[WEIGHT].len == 2 * job->size * vectors * LANES * four
               && views[BIAS].len == vectors * LANES * four
               && views[SCORE].len == vectors * LANES * four,
               "the arrays do not fit together")) return 0;
    for (int name = RECURRENT; name <= SCORE; name++)
        if (!check((uintptr_t)views[name].buf % sizeof(Vector) == 0, "expected aligned weights"))
            return 0;
    for (int64_t n = 0; n < job->sequences; n++) {
        const int64_t length = job->lengths[n], *row = job->rows + n * job->steps;
        if (!check(length > 0 && length <= job->steps, "a length beyond the steps")) return 0;
        if (!check(n == 0 || length <= job->lengths[n - 1], "expected the longest first")) return 0;
        for (int64_t step = 0; step < length; step++) {
            const int64_t limit = step == 0 && heads ? job->head_rows : job->table_rows;
            if (!check(row[step] >= 0 && row[step] < limit, "a row beyond its table")) return 0;
        }
    }
    return 1;
}

/* pooled(variant, size, inner, rows, lengths, forward, backward, first, last, recurrent, weight,
 *        bias, score, vectors, attention) */
static PyObject *pooled(PyObject *module, PyObject *arguments) {
    const char *name;
    long long size, inner;
    PyObject *objects[MOST_BUFFERS];
    Buffers buffers = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sLLOOOOOOOOOOOO", &name, &size, &inner, &objects[0],
                          &objects[1], &objects[2], &objects[3], &objects[4], &objects[5],
                          &objects[6], &objects[7], &objects[8], &objects[9], &objects[10],
                          &objects[11])) return NULL;
    const Variant *variant = variant_named(name);
    if (!variant || !check(within(1, size, MOST_SIZE) && within(1, inner, MOST_SIZE),
                           "expected sizes above 0, and not too large")) return NULL;
    const int heads = objects[FIRST] != Py_None && objects[LAST] != Py_None;
    for (int at = 0; at < MOST_BUFFERS; at++) {
        /* Where there are no heads, the tables stand in their places, and are not looked at. */
        PyObject *array = objects[!heads && (at == FIRST || at == LAST) ? FORWARD : at];
        if (!take_any(&buffers, array, at <= LENGTHS ? INT64 : REAL32, at >= VECTORS))
            return finished(&buffers, 0);
    }
    const Py_buffer *views = buffers.views;
    Job job = {
        .tables = {views[FORWARD].buf, views[BACKWARD].buf},
        .heads = {heads ? views[FIRST].buf : NULL, heads ? views[LAST].buf : NULL},
        .table_rows = length(&buffers, FORWARD) / (4 * size),
        .head_rows = length(&buffers, FIRST) / (4 * size),
        .rows = views[ROWS].buf,
        .lengths = views[LENGTHS].buf,
        .sequences = length(&buffers, LENGTHS),
        .size = size,
        .inner = inner,
        .weight = views[WEIGHT].buf,
        .bias = views[BIAS].buf,
        .score = views[SCORE].buf,
        .vectors = views[VECTORS].buf,
        .attention = views[ATTENTION].buf,
    };
    if (job.sequences > 0) job.steps = length(&buffers, ROWS) / job.sequences;
    if (!check_job(&job, views, heads)) return finished(&buffers, 0);
    job.recurrent[0] = views[RECURRENT].buf;
    job.recurrent[1] = job.recurrent[0] + length(&buffers, RECURRENT) / 2;
    int failed = 0;
    if (job.sequences > 0) {
        Py_BEGIN_ALLOW_THREADS
        failed = run(variant, &job);
        Py_END_ALLOW_THREADS
    }
    if (failed) PyErr_NoMemory();
    return finished(&buffers, !failed);
}

/* tanh(variant, values): in place, of a multiple of eight 32-bit floats */
static PyObject *tanh_of(PyObject *module, PyObject *arguments) {
    const char *name;
    PyObject *values;
    Buffers buffers = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sO", &name, &values)) return NULL;
    const Variant *variant = variant_named(name);
    float *there = variant ? take_writable(&buffers, values, REAL32) : NULL;
    if (there && check(length(&buffers, 0) % LANES == 0, "expected a multiple of eight values"))
        variant->tanh(there, length(&buffers, 0) / LANES);
    return finished(&buffers, there != NULL);
}

/* multiply(variant, rows, size, weight, out): rows (rows, size) times a weight in panels */
static PyObject *multiply(PyObject *module, PyObject *arguments) {
    const char *name;
    long long size;
    PyObject *objects[3];
    Buffers buffers = {.count = 0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "sOLOO", &name, &objects[0], &size, &objects[1], &objects[2]))
        return NULL;
    const Variant *variant = variant_named(name);
    if (!variant || !check(within(1, size, MOST_SIZE), "expected a size above 0, and not too large"))
        return NULL;
    const float *rows = take(&buffers, objects[0], REAL32);
    const float *weight = rows ? take(&buffers, objects[1], REAL32) : NULL;
    float *out = weight ? take_writable(&buffers, objects[2], REAL32) : NULL;
    if (!out) return finished(&buffers, 0);
    const int64_t count = length(&buffers, 0) / size, vectors = length(&buffers, 1) / (size * LANES);
    const int good = length(&buffers, 0) == count * size
                     && length(&buffers, 1) == vectors * size * LANES
                     && length(&buffers, 2) == product_of(count, vectors * LANES)
                     && (vectors == 0 || (uintptr_t)weight % sizeof(Vector) == 0);
    if (good) {
        Py_BEGIN_ALLOW_THREADS
        variant->multiply(rows, count, size, weight, vectors, out);
        Py_END_ALLOW_THREADS
    }
    return finished(&buffers, good);
}

static PyMethodDef methods[] = {
    {"multiply", multiply, METH_VARARGS, "Rows times a matrix, each as if it were alone."},
    {"pooled", pooled, METH_VARARGS, "A BiLSTM over sequences, and the attention behind it."},
    {"tanh", tanh_of, METH_VARARGS, "The tanh that is used, in place."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    find_variants();
    PyObject *names = PyTuple_New(variant_count);
    if (!names) return -1;
    for (int at = 0; at < variant_count; at++) {
        PyObject *name = PyUnicode_FromString(variants[at].name);
        if (!name || PyTuple_SetItem(names, at, name)) {
            Py_DECREF(names);
            return -1;
        }
    }
    const int failed = PyModule_AddObjectRef(module, "VARIANTS", names);
    Py_DECREF(names);
    return failed;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_fused", "The compiled kernel of recurrence.py.", 0, methods, slots,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__fused(void) { return PyModuleDef_Init(&definition); }
