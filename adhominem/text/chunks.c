/* Chunks of texts, what white space leaves together, and the numbers of their tokens: a dictionary
 * that looks up all chunks of a text in one call, without making a string of each.
 *
 * Keys are UTF-8. The interpreter's lock is held throughout: a text takes some hundredths of a
 * millisecond.
 */
#include "../buffers.h"

typedef struct {
    uint64_t hash;
    size_t key, key_length;     /* in `keys`, bytes */
    size_t value, value_length; /* in `values`, numbers */
} Entry;

typedef struct {
    PyObject_HEAD
    uint64_t seed; /* so that nobody can send chunks that all have the same hash */
    Entry *entries;
    size_t count, room;
    size_t *slots; /* 1 + the entry, or 0; a power of 2 of them, at least twice as many as entries */
    size_t slot_count;
    char *keys;
    size_t keys_length, keys_room;
    int64_t *values;
    size_t values_length, values_room;
} Chunks;

/* How many bytes of white space begin here, as `str.split` has it. */
static int space(const unsigned char *at, const unsigned char *end) {
    const unsigned char c = *at;
    if (c < 0x80) return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
    if (c == 0xc2) return end - at >= 2 && (at[1] == 0x85 || at[1] == 0xa0) ? 2 : 0;
    if (c < 0xe1 || c > 0xe3 || end - at < 3) return 0;
    const unsigned char d = at[1], e = at[2];
    if (c == 0xe1) return d == 0x9a && e == 0x80 ? 3 : 0; /* U+1680 */
    if (c == 0xe3) return d == 0x80 && e == 0x80 ? 3 : 0; /* U+3000 */
    if (d == 0x80) /* U+2000 to U+200A, U+2028, U+2029, U+202F */
        return e <= 0x8a || e == 0xa8 || e == 0xa9 || e == 0xaf ? 3 : 0;
    return d == 0x81 && e == 0x9f ? 3 : 0; /* U+205F */
}

static uint64_t hash_byte(uint64_t hash, unsigned char byte) {
    return (hash ^ byte) * UINT64_C(0x100000001b3);
}

static uint64_t mixed(uint64_t hash) { /* all bits of it count for the last ones */
    hash ^= hash >> 32;
    hash *= UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The slot of a key: where it is, or where it would be. */
static size_t slot_of(const Chunks *chunks, uint64_t hash, const char *key, size_t length) {
    const size_t mask = chunks->slot_count - 1;
    size_t at = (size_t)hash & mask;
    for (; chunks->slots[at]; at = (at + 1) & mask) {
        const Entry *entry = &chunks->entries[chunks->slots[at] - 1];
        if (entry->hash == hash && entry->key_length == length
            && !memcmp(chunks->keys + entry->key, key, length)) break;
    }
    return at;
}

/* Room for so many items, and one more; 0 if there is none. */
static int make_room(void **items, size_t *room, size_t needed, size_t wide) {
    if (needed < *room) return 1;
    const size_t more = *room * 2 > needed ? *room * 2 : needed + 1;
    const int64_t bytes = product_of((int64_t)more, (int64_t)wide);
    void *moved = bytes < 0 ? NULL : realloc(*items, (size_t)bytes);
    if (!moved) {
        PyErr_NoMemory();
        return 0;
    }
    *items = moved;
    *room = more;
    return 1;
}

static int make_slots(Chunks *chunks) {
    if (chunks->count * 2 < chunks->slot_count) return 1;
    const size_t count = chunks->slot_count ? chunks->slot_count * 4 : 1024;
    size_t *slots = calloc(count, sizeof *slots);
    if (!slots) {
        PyErr_NoMemory();
        return 0;
    }
    for (size_t entry = 0; entry < chunks->count; entry++) {
        size_t at = (size_t)chunks->entries[entry].hash & (count - 1);
        while (slots[at]) at = (at + 1) & (count - 1);
        slots[at] = entry + 1;
    }
    free(chunks->slots);
    chunks->slots = slots;
    chunks->slot_count = count;
    return 1;
}

static PyObject *utf8(PyObject *text) {
    return PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
}

static int add_bytes(Chunks *chunks, const char *key, size_t length, const char *numbers,
                     size_t count) {
    uint64_t hash = chunks->seed;
    for (size_t at = 0; at < length; at++) hash = hash_byte(hash, (unsigned char)key[at]);
    hash = mixed(hash);
    if (!make_slots(chunks)) return 0;
    const size_t slot = slot_of(chunks, hash, key, length);
    if (chunks->slots[slot]) return 1;
    if (!make_room((void **)&chunks->entries, &chunks->room, chunks->count + 1, sizeof(Entry))
        || !make_room((void **)&chunks->keys, &chunks->keys_room, chunks->keys_length + length, 1)
        || !make_room((void **)&chunks->values, &chunks->values_room,
                      chunks->values_length + count, sizeof(int64_t))) return 0;
    memcpy(chunks->keys + chunks->keys_length, key, length);
    memcpy(chunks->values + chunks->values_length, numbers, count * sizeof(int64_t));
    chunks->entries[chunks->count] =
        (Entry){hash, chunks->keys_length, length, chunks->values_length, count};
    chunks->slots[slot] = ++chunks->count;
    chunks->keys_length += length;
    chunks->values_length += count;
    return 1;
}

/* add(chunk, numbers): remember the numbers, 64 bits each as bytes, of a chunk */
static PyObject *add(PyObject *self, PyObject *arguments) {
    PyObject *chunk, *key;
    const char *numbers;
    Py_ssize_t length, size;
    char *bytes;
    if (!PyArg_ParseTuple(arguments, "Uy#", &chunk, &numbers, &size)) return NULL;
    if (size % sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "expected numbers of 64 bits");
        return NULL;
    }
    if (!(key = utf8(chunk))) return NULL;
    int good = !PyBytes_AsStringAndSize(key, &bytes, &length);
    good = good && add_bytes((Chunks *)self, bytes, (size_t)length, numbers, size / sizeof(int64_t));
    Py_DECREF(key);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

/* look_up(text) -> (numbers of all its chunks as bytes, chunks that are not known) */
static PyObject *look_up(PyObject *self, PyObject *text) {
    Chunks *chunks = (Chunks *)self;
    PyObject *unknown = NULL, *numbers = NULL, *result = NULL, *encoded;
    int64_t *out = NULL;
    size_t length = 0, room = 0;
    char *bytes;
    Py_ssize_t size;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "expected a string");
        return NULL;
    }
    if (!(encoded = utf8(text)) || PyBytes_AsStringAndSize(encoded, &bytes, &size)
        || !(unknown = PyList_New(0)) || !make_slots(chunks)) goto done;
    const unsigned char *at = (const unsigned char *)bytes, *end = at + size;
    while (at < end) {
        int blank = space(at, end);
        if (blank) {
            at += blank;
            continue;
        }
        const unsigned char *begin = at;
        uint64_t hash = chunks->seed;
        do hash = hash_byte(hash, *at++);
        while (at < end && !space(at, end));
        const size_t wide = (size_t)(at - begin);
        const size_t slot = chunks->slots[slot_of(chunks, mixed(hash), (const char *)begin, wide)];
        if (slot) {
            const Entry *entry = &chunks->entries[slot - 1];
            if (!make_room((void **)&out, &room, length + entry->value_length + 1024,
                           sizeof *out)) goto done;
            memcpy(out + length, chunks->values + entry->value, entry->value_length * sizeof *out);
            length += entry->value_length;
        } else {
            PyObject *chunk =
                PyUnicode_Decode((const char *)begin, (Py_ssize_t)wide, "utf-8", "surrogatepass");
            const int failed = !chunk || PyList_Append(unknown, chunk);
            Py_XDECREF(chunk);
            if (failed) goto done;
        }
    }
    numbers = PyBytes_FromStringAndSize((const char *)out, (Py_ssize_t)(length * sizeof *out));
    if (numbers) result = PyTuple_Pack(2, numbers, unknown);
done:
    free(out);
    Py_XDECREF(encoded);
    Py_XDECREF(unknown);
    Py_XDECREF(numbers);
    return result;
}

static PyObject *new_chunks(PyTypeObject *type, PyObject *arguments, PyObject *options) {
    unsigned long long seed;
    (void)options;
    if (!PyArg_ParseTuple(arguments, "K", &seed)) return NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Chunks *chunks = (Chunks *)allocate(type, 0); /* zeros */
    if (chunks) chunks->seed = seed;
    return (PyObject *)chunks;
}

static void free_chunks(PyObject *self) {
    Chunks *chunks = (Chunks *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(chunks->entries);
    free(chunks->slots);
    free(chunks->keys);
    free(chunks->values);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyMethodDef chunk_methods[] = {
    {"add", add, METH_VARARGS, "Remember the numbers of a chunk's tokens."},
    {"look_up", look_up, METH_O, "The numbers of a text's tokens, and the chunks not known."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot chunk_slots[] = {
    {Py_tp_doc, "Chunks(seed): chunks of texts, and the numbers of their tokens."},
    {Py_tp_new, new_chunks},
    {Py_tp_dealloc, free_chunks},
    {Py_tp_methods, chunk_methods},
    {0, NULL},
};
static PyType_Spec chunk_spec = {
    "adhominem.text._chunks.Chunks", sizeof(Chunks), 0, Py_TPFLAGS_DEFAULT, chunk_slots,
};

static int prepare(PyObject *module) {
    PyObject *type = PyType_FromSpec(&chunk_spec);
    if (!type) return -1;
    const int failed = PyModule_AddObjectRef(module, "Chunks", type);
    Py_DECREF(type);
    return failed;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, prepare}, {0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_chunks", "The compiled part of lexicon.py.", 0, NULL, slots, NULL,
    NULL, NULL,
};

PyMODINIT_FUNC PyInit__chunks(void) { return PyModuleDef_Init(&definition); }
