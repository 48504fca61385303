/* Arrays as C sees them: their memory, checked, and given back when a function is finished. */
#ifndef ADHOMINEM_BUFFERS_H
#define ADHOMINEM_BUFFERS_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <stdint.h>

#ifndef MOST_BUFFERS
#define MOST_BUFFERS 8
#endif

typedef struct {
    Py_buffer views[MOST_BUFFERS];
    int count;
} Buffers;

/* The memory of an array of items so wide, of any width if that is 0; or NULL with an error. */
static inline void *take(Buffers *buffers, PyObject *array, Py_ssize_t wide, int writable) {
    if (buffers->count == MOST_BUFFERS) {
        PyErr_SetString(PyExc_ValueError, "too many arrays");
        return NULL;
    }
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

static inline int64_t length(const Buffers *buffers, int at) {
    return buffers->views[at].len / buffers->views[at].itemsize;
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
