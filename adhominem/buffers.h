/* What C is given by Python: arrays, ranges and sizes, checked here and nowhere else. Their memory is
 * given back when a function is finished. */
#ifndef ADHOMINEM_BUFFERS_H
#define ADHOMINEM_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MOST_BUFFERS
#define MOST_BUFFERS 8
#endif

/* Items of an array: how wide they are in bytes, and whether they are floats. */
enum { ANY_INT = 0, REAL = 16, INT8 = 1, INT16 = 2, INT32 = 4, INT64 = 8, REAL16 = REAL | 2, REAL32 = REAL | 4,
       REAL64 = REAL | 8 };

/* The product of two sizes; -1 where one of them is, or where it is beyond any memory. */
static inline int64_t product_of(int64_t one, int64_t other) {
    if (one < 0 || other < 0) return -1;
    return other && one > (PY_SSIZE_T_MAX >> 8) / other ? -1 : one * other;
}

/* The sum of two numbers as processors have it: beyond the largest comes the least. */
static inline int32_t wrapped_sum(int32_t one, int32_t other) {
    return (int32_t)((uint32_t)one + (uint32_t)other);
}

/* Whether there is such a part of `count` items. */
static inline int within(int64_t begin, int64_t end, int64_t count) {
    return 0 <= begin && begin <= end && end <= count;
}

/* Memory for so many items, even if that is none; or NULL with an error. */
static inline void *room_for(int64_t count, size_t wide) {
    const int64_t bytes = product_of(count, (int64_t)wide);
    void *memory = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
    if (!memory) PyErr_NoMemory();
    return memory;
}

/* See an array of these items; of any width, if `type` is ANY_INT or REAL. 0 with an error. */
static inline int see(Py_buffer *view, PyObject *array, int type, int writable) {
    const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(array, view, flags)) return 0;
    const char *format = view->format ? view->format : "B";
    if (*format && !format[1] && strchr(type & REAL ? "efd" : "?bBhHiIlLqQ", *format)
        && (!(type & ~REAL) || view->itemsize == (type & ~REAL))
        && (uintptr_t)view->buf % (uintptr_t)view->itemsize == 0) {
        if (!view->buf) view->buf = (void *)format; /* it is empty, but not missing */
        return 1;
    }
    PyErr_SetString(PyExc_ValueError, "an array of another type than expected");
    PyBuffer_Release(view);
    return 0;
}

static inline int64_t items_of(const Py_buffer *view) { return view->len / view->itemsize; }

typedef struct {
    Py_buffer views[MOST_BUFFERS];
    int count;
} Buffers;

/* The memory of an array of these items; or NULL with an error. */
static inline void *take_any(Buffers *buffers, PyObject *array, int type, int writable) {
    if (buffers->count == MOST_BUFFERS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return NULL;
    }
    Py_buffer *view = &buffers->views[buffers->count];
    if (!see(view, array, type, writable)) return NULL;
    buffers->count++;
    return view->buf;
}

static inline const void *take(Buffers *buffers, PyObject *array, int type) {
    return take_any(buffers, array, type, 0);
}

static inline void *take_writable(Buffers *buffers, PyObject *array, int type) {
    return take_any(buffers, array, type, 1);
}

static inline int64_t length(const Buffers *buffers, int at) {
    return items_of(&buffers->views[at]);
}

static inline void release(Buffers *buffers) {
    while (buffers->count > 0) PyBuffer_Release(&buffers->views[--buffers->count]);
}

/* What a function returns that gives nothing back: None, or NULL with an error. */
static inline PyObject *finished(Buffers *buffers, int good) {
    release(buffers);
    if (PyErr_Occurred()) return NULL;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "the arrays do not fit together");
        return NULL;
    }
    Py_RETURN_NONE;
}

#endif
