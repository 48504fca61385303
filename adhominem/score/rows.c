/* Products of sparse rows with plain ones: what `rows.py` does in NumPy, number by number.
 *
 * Sums are in double precision. Any C compiler can build this; with GCC or Clang on x86-64, it is
 * also compiled for AVX2 and AVX-512, of which one is chosen when the module is loaded.
 */
#include "../buffers.h"

#define TILE_BYTES (512 << 10) /* of a table by columns: some of a core's second cache */

typedef struct {
    const int64_t *begins, *ends; /* (rows,) */
    const uint32_t *places;       /* (numbers,): rising in each row */
    const double *values;         /* (numbers,) */
    const void *table;            /* (others, size), or (size, others) by column */
    int64_t rows, others, size;
    int64_t *next;  /* (rows,): the number that is multiplied next */
    double *result; /* (rows, others) */
} Product;

/* A few columns at a time, so that all rows find them in the cache; of these, four numbers of a row
 * before a sum goes back to memory. */
#define BY_COLUMN(NAME, TYPE)                                                                      \
    static void NAME(const Product *product) {                                                     \
        const int64_t others = product->others;                                                    \
        int64_t tile = TILE_BYTES / ((int64_t)sizeof(TYPE) * (others ? others : 1));               \
        if (tile < 1) tile = 1;                                                                    \
        for (int64_t row = 0; row < product->rows; row++)                                          \
            product->next[row] = product->begins[row];                                             \
        memset(product->result, 0, sizeof(double) * (size_t)(product->rows * others));             \
        for (int64_t begin = 0; begin < product->size; begin += tile) {                            \
            for (int64_t row = 0; row < product->rows; row++) {                                    \
                double *restrict result = product->result + row * others;                          \
                const TYPE *table = product->table;                                                \
                const uint32_t *places = product->places;                                          \
                const double *values = product->values;                                            \
                int64_t at = product->next[row];                                                   \
                for (; at + 4 <= product->ends[row] && places[at + 3] < begin + tile; at += 4) {   \
                    const TYPE *restrict first = table + places[at] * others;                      \
                    const TYPE *restrict second = table + places[at + 1] * others;                 \
                    const TYPE *restrict third = table + places[at + 2] * others;                  \
                    const TYPE *restrict fourth = table + places[at + 3] * others;                 \
                    for (int64_t other = 0; other < others; other++) {                             \
                        double sum = result[other];                                                \
                        sum += values[at] * (double)first[other];                                  \
                        sum += values[at + 1] * (double)second[other];                             \
                        sum += values[at + 2] * (double)third[other];                              \
                        result[other] = sum + values[at + 3] * (double)fourth[other];              \
                    }                                                                              \
                }                                                                                  \
                for (; at < product->ends[row] && places[at] < begin + tile; at++)                 \
                    for (int64_t other = 0; other < others; other++)                               \
                        result[other] += values[at] * (double)table[places[at] * others + other];  \
                product->next[row] = at;                                                           \
            }                                                                                      \
        }                                                                                          \
    }

#define BY_ROW(NAME, TYPE)                                                                         \
    static void NAME(const Product *product) {                                                     \
        for (int64_t row = 0; row < product->rows; row++) {                                        \
            for (int64_t other = 0; other < product->others; other++) {                            \
                const TYPE *there = (const TYPE *)product->table + other * product->size;          \
                double first = 0, second = 0;                                                      \
                int64_t at = product->begins[row];                                                 \
                for (; at + 2 <= product->ends[row]; at += 2) {                                    \
                    first += product->values[at] * (double)there[product->places[at]];             \
                    second += product->values[at + 1] * (double)there[product->places[at + 1]];    \
                }                                                                                  \
                if (at < product->ends[row])                                                       \
                    first += product->values[at] * (double)there[product->places[at]];             \
                product->result[row * product->others + other] = first + second;                   \
            }                                                                                      \
        }                                                                                          \
    }

typedef void (*Multiply)(const Product *);

BY_COLUMN(by_column_float, float)
BY_COLUMN(by_column_double, double)
BY_ROW(by_row_float, float)
BY_ROW(by_row_double, double)

static Multiply by_column[2] = {by_column_float, by_column_double};
static Multiply by_row[2] = {by_row_float, by_row_double};

#if defined(__GNUC__) && defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma,prefer-vector-width=512")))
AVX2 BY_COLUMN(by_column_float_avx2, float)
AVX2 BY_COLUMN(by_column_double_avx2, double)
#if !defined(__clang__)
AVX512 BY_COLUMN(by_column_float_avx512, float)
AVX512 BY_COLUMN(by_column_double_avx512, double)
#endif
#endif

/* products(begins, ends, places, values, table, by_column, result)
 *
 * Rows by where their numbers begin and end, (rows,) int64; places (numbers,) uint32 and values
 * (numbers,) double; a table of floats or doubles, (others, size), or (size, others) if by column;
 * result (rows, others) double. */
static PyObject *products(PyObject *module, PyObject *arguments) {
    PyObject *begins, *ends, *places, *values, *table, *result;
    int turned;
    Buffers buffers = {.count = 0};
    Product product = {0};
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOOOOpO", &begins, &ends, &places, &values, &table, &turned,
                          &result)) return NULL;
    if (!(product.begins = take(&buffers, begins, INT64))
        || !(product.ends = take(&buffers, ends, INT64))
        || !(product.places = take(&buffers, places, INT32))
        || !(product.values = take(&buffers, values, REAL64))
        || !(product.table = take(&buffers, table, REAL))
        || !(product.result = take_writable(&buffers, result, REAL64))) return finished(&buffers, 0);
    const Py_buffer *others = &buffers.views[4], *results = &buffers.views[5];
    const int64_t numbers = length(&buffers, 2);
    product.rows = length(&buffers, 0);
    int good = others->ndim == 2 && results->ndim == 2 && others->itemsize >= 4
               && length(&buffers, 1) == product.rows && length(&buffers, 3) == numbers
               && results->shape[0] == product.rows;
    if (good) {
        product.others = results->shape[1];
        product.size = others->shape[turned ? 0 : 1];
        good = others->shape[turned ? 1 : 0] == product.others;
    }
    for (int64_t row = 0; good && row < product.rows; row++) {
        const int64_t begin = product.begins[row], end = product.ends[row];
        good = within(begin, end, numbers);
        for (int64_t at = begin; good && at < end; at++)
            good = product.places[at] < product.size
                   && (at == begin || product.places[at] > product.places[at - 1]);
    }
    if (!good || !(product.next = room_for(product.rows, sizeof(int64_t))))
        return finished(&buffers, 0);
    if (length(&buffers, 5)) { /* of no rows, or no others, the sizes may be any */
        Py_BEGIN_ALLOW_THREADS
        (turned ? by_column : by_row)[others->itemsize == 8](&product);
        Py_END_ALLOW_THREADS
    }
    free(product.next);
    return finished(&buffers, 1);
}

static PyMethodDef methods[] = {
    {"products", products, METH_VARARGS, "Products of sparse rows with plain ones."},
    {NULL, NULL, 0, NULL},
};

static int prepare(PyObject *module) {
    (void)module;
#if defined(__GNUC__) && defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        by_column[0] = by_column_float_avx2;
        by_column[1] = by_column_double_avx2;
    }
#if !defined(__clang__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl")
        && __builtin_cpu_supports("avx512dq")) {
        by_column[0] = by_column_float_avx512;
        by_column[1] = by_column_double_avx512;
    }
#endif
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_rows", "A compiled part of rows.py.", 0,
    methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void) { return PyModuleDef_Init(&definition); }
