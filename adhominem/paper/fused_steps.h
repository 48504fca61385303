/* The arithmetic of fused.c, which includes this once for each kind of processor. Before it does,
 * it defines
 *   NAME(name)           what a function is called there
 *   ROWS                 for how many sequences the sums of a panel fit into the registers
 *   LOWER(a, b), HIGHER  the lower and the higher of each lane; b where either is not a number
 */

/* Here, and not once for all: what is inlined into code for other vectors is compiled badly. */
INLINE Vector NAME(load)(const float *from) { return *(const Loose *)from; }
INLINE void NAME(store)(float *to, Vector value) { *(Loose *)to = value; }
INLINE Vector NAME(all)(float v) { return (Vector){v, v, v, v, v, v, v, v}; }
INLINE Vector NAME(choose)(Mask mask, Vector yes, Vector no) {
    return (Vector)((mask & (Mask)yes) | (~mask & (Mask)no));
}

/* An odd rational function; its error is below 6e-7 everywhere. What is not a number stays so. */
INLINE Vector NAME(tanh)(Vector x) {
    x = LOWER(NAME(all)(7.9f), x);
    x = HIGHER(NAME(all)(-7.9f), x);
    const Vector y = x * x;
    Vector p = y * 1.139368271e-05f + 2.946397006e-03f;
    p = p * y + 1.292063523e-01f;
    p = p * y + 9.999994280e-01f;
    Vector q = y * 2.450871231e-07f + 2.381076826e-04f;
    q = q * y + 2.379462759e-02f;
    q = q * y + 4.625374706e-01f;
    q = q * y + 1.0f;
    return x * p / q;
}

/* sums[row][column] += rows[row] * panel, over `size` numbers of n rows */
INLINE void NAME(multiply)(const int n, const int width, Vector sums[][PANEL], const float *rows,
                           int64_t stride, const float *panel, int64_t size) {
    for (int64_t k = 0; k < size; k++) {
        Vector column[PANEL];
        for (int j = 0; j < width; j++) column[j] = *(const Vector *)(panel + (k * width + j) * LANES);
        for (int r = 0; r < n; r++) {
            const Vector value = NAME(all)(rows[r * stride + k]);
            for (int j = 0; j < width; j++) sums[r][j] += value * column[j];
        }
    }
}

/* The new cells and hidden states from the gates of eight numbers of a state. */
INLINE void NAME(close_step)(Vector in, Vector forget, Vector out, Vector candidate, Vector *cell,
                             Vector *hidden) {
    const Vector kept = (forget + 1.0f) * *cell;
    *cell = (kept + (in + 1.0f) * candidate) * 0.5f;
    *hidden = (out + 1.0f) * NAME(tanh)(*cell);
}

/* One panel of n neighbouring sequences, from their inputs to what is hidden: all four gates of
 * eight numbers. */
INLINE void NAME(gates)(const int n, const float *const *inputs, int64_t size, const float *weight,
                        const float *before, float *hidden, int64_t stride, float *cells,
                        int64_t cell_stride) {
    Vector sums[ROWS][PANEL];
    for (int r = 0; r < n; r++)
        for (int gate = 0; gate < 4; gate++) sums[r][gate] = NAME(load)(inputs[r] + gate * size);
    if (before) NAME(multiply)(n, 4, sums, before, stride, weight, size);
    for (int r = 0; r < n; r++)
        NAME(close_step)(NAME(tanh)(sums[r][0]), NAME(tanh)(sums[r][1]), NAME(tanh)(sums[r][2]),
                         NAME(tanh)(sums[r][3]), (Vector *)(cells + r * cell_stride),
                         (Vector *)(hidden + r * stride));
}

/* The same of the numbers that are left, fewer than eight: their gates stand side by side, in as
 * few vectors as it takes. */
INLINE void NAME(last_gates)(const int n, const int width, const float *const *inputs, int64_t size,
                             int64_t rest, const float *weight, const float *before, float *hidden,
                             int64_t stride, float *cells, int64_t cell_stride) {
    Vector sums[ROWS][PANEL];
    for (int r = 0; r < n; r++) {
        float packed[PANEL * LANES] = {0};
        for (int gate = 0; gate < 4; gate++)
            for (int64_t at = 0; at < rest; at++) packed[gate * rest + at] = inputs[r][gate * size + at];
        for (int j = 0; j < width; j++) sums[r][j] = NAME(load)(packed + j * LANES);
    }
    if (before) NAME(multiply)(n, width, sums, before, stride, weight, size);
    for (int r = 0; r < n; r++) {
        float packed[(PANEL + 1) * LANES] = {0}; /* what is read beyond the last one is not used */
        for (int j = 0; j < width; j++) NAME(store)(packed + j * LANES, NAME(tanh)(sums[r][j]));
        NAME(close_step)(NAME(load)(packed), NAME(load)(packed + rest), NAME(load)(packed + 2 * rest),
                         NAME(load)(packed + 3 * rest), (Vector *)(cells + r * cell_stride),
                         (Vector *)(hidden + r * stride));
    }
}

/* v' tanh(W h + b) of n neighbouring states; the sum of its lanes is left to the caller. */
INLINE void NAME(scores)(const int n, const int width, const float *hidden, int64_t stride,
                         int64_t padded, int64_t size, const float *panel, const float *bias,
                         const float *score, Vector *totals) {
    Vector sums[ROWS][PANEL];
    for (int r = 0; r < n; r++)
        for (int j = 0; j < width; j++) sums[r][j] = *(const Vector *)(bias + j * LANES);
    NAME(multiply)(n, width, sums, hidden, stride, panel, size);
    NAME(multiply)(n, width, sums, hidden + padded, stride, panel + size * width * LANES, size);
    for (int r = 0; r < n; r++)
        for (int j = 0; j < width; j++)
            totals[r] += NAME(tanh)(sums[r][j]) * *(const Vector *)(score + j * LANES);
}

/* What comes after the products must not take registers from them: hence functions of their own. */
APART void NAME(few_gates)(int64_t n, const float *const *inputs, int64_t size, const float *weight,
                           const float *before, float *hidden, int64_t stride, float *cells,
                           int64_t cell_stride) {
    FOR_COUNT(n, NAME(gates)(N, inputs, size, weight, before, hidden, stride, cells, cell_stride))
}

APART void NAME(few_last_gates)(int64_t n, int width, const float *const *inputs, int64_t size,
                                int64_t rest, const float *weight, const float *before,
                                float *hidden, int64_t stride, float *cells, int64_t cell_stride) {
    FOR_WIDTH(width, FOR_COUNT(n, NAME(last_gates)(N, WIDTH, inputs, size, rest, weight, before,
                                                   hidden, stride, cells, cell_stride)))
}

APART void NAME(few_scores)(int64_t n, int width, const float *hidden, int64_t stride,
                            int64_t padded, int64_t size, const float *panel, const float *bias,
                            const float *score, Vector *totals) {
    FOR_WIDTH(width, FOR_COUNT(n, NAME(scores)(N, WIDTH, hidden, stride, padded, size, panel, bias,
                                               score, totals)))
}

INLINE void NAME(products)(const int n, const int width, const float *rows, int64_t size,
                           const float *panel, float *out, int64_t stride) {
    Vector sums[ROWS][PANEL] = {{{0}}};
    NAME(multiply)(n, width, sums, rows, size, panel, size);
    for (int r = 0; r < n; r++)
        for (int j = 0; j < width; j++) NAME(store)(out + r * stride + j * LANES, sums[r][j]);
}

APART void NAME(few_products)(int64_t n, int width, const float *rows, int64_t size,
                              const float *panel, float *out, int64_t stride) {
    FOR_WIDTH(width, FOR_COUNT(n, NAME(products)(N, WIDTH, rows, size, panel, out, stride)))
}

/* rows (count, size) times a matrix of so many vectors of columns, in panels. Unlike in BLAS, a row
 * comes to the same bits whatever stands beside it. */
static void NAME(multiply_rows)(const float *rows, int64_t count, int64_t size,
                                const float *weight, int64_t vectors, float *out) {
    const int64_t panels = (vectors + PANEL - 1) / PANEL, stride = vectors * LANES;
    for (int64_t panel = 0; panel < panels; panel++) {
        const int width = (int)(vectors / panels + (panel < vectors % panels));
        for (int64_t r = 0; r < count; r += ROWS)
            NAME(few_products)(count - r < ROWS ? count - r : ROWS, width, rows + r * size, size,
                               weight, out + r * stride, stride);
        weight += size * width * LANES;
        out += width * LANES;
    }
}

static void NAME(run_direction)(const Job *job, Block *block, int64_t first, int direction) {
    const int64_t size = job->size, rest = size % LANES, stride = block->stride;
    const int64_t steps = job->lengths[first];
    const float *before = NULL;
    memset(block->cells, 0, sizeof(float) * block->n * block->padded);
    for (int64_t turn = 0; turn < steps; turn++) {
        const int64_t step = direction ? steps - 1 - turn : turn;
        const int64_t active = block->active[step], next = direction ? step - 1 : step + 1;
        const float *weight = job->recurrent[direction];
        float *hidden = block->hidden + step * block->n * stride + direction * block->padded;
        for (int64_t r = 0; r < active; r++)
            block->inputs[r] = input_row(job, first + r, step, direction);
        if (next >= 0 && next < steps)
            for (int64_t r = 0; r < block->active[next]; r++) {
                const char *row = (const char *)input_row(job, first + r, next, direction);
                for (int64_t at = 0; at < 16 * size; at += 64) __builtin_prefetch(row + at, 0, 2);
            }
        for (int64_t at = 0; at < size; at += LANES) {
            const int whole = size - at >= LANES;
            const int width = whole ? 4 : (int)((4 * rest + LANES - 1) / LANES);
            for (int64_t r = 0; r < active; r += ROWS) {
                const float *from = before ? before + r * stride : NULL;
                float *to = hidden + r * stride + at;
                float *cells = block->cells + r * block->padded + at;
                const int64_t n = active - r < ROWS ? active - r : ROWS;
                if (whole)
                    NAME(few_gates)(n, block->inputs + r, size, weight, from, to, stride, cells,
                                    block->padded);
                else
                    NAME(few_last_gates)(n, width, block->inputs + r, size, rest, weight, from, to,
                                         stride, cells, block->padded);
            }
            for (int64_t r = 0; r < active; r++) block->inputs[r] += LANES;
            weight += size * width * LANES;
        }
        before = hidden;
    }
}

static void NAME(score)(const Job *job, Block *block, int64_t first) {
    const int64_t size = job->size, vectors = (job->inner + LANES - 1) / LANES;
    const int64_t panels = (vectors + PANEL - 1) / PANEL;
    const int64_t steps = job->lengths[first], stride = block->stride;
    for (int64_t step = 0; step < steps; step++) {
        const int64_t active = block->active[step];
        const float *hidden = block->hidden + step * block->n * stride;
        const float *weight = job->weight, *bias = job->bias, *score = job->score;
        memset(block->totals, 0, sizeof(Vector) * active);
        for (int64_t panel = 0; panel < panels; panel++) {
            const int width = (int)(vectors / panels + (panel < vectors % panels));
            for (int64_t r = 0; r < active; r += ROWS) {
                const int64_t n = active - r < ROWS ? active - r : ROWS;
                NAME(few_scores)(n, width, hidden + r * stride, stride, block->padded, size,
                                 weight, bias, score, block->totals + r);
            }
            bias += width * LANES;
            score += width * LANES;
            weight += 2 * size * width * LANES;
        }
        for (int64_t r = 0; r < active; r++) {
            float total = 0;
            for (int lane = 0; lane < LANES; lane++) total += block->totals[r][lane];
            job->attention[(first + r) * job->steps + step] = total;
        }
    }
}

/* The softmax of the scores, and the mean of the hidden states by it. */
static void NAME(average)(const Job *job, Block *block, int64_t first) {
    const int64_t size = job->size, width = block->padded / LANES;
    for (int64_t r = 0; r < block->n; r++) {
        const int64_t length = job->lengths[first + r];
        float *attention = job->attention + (first + r) * job->steps;
        float highest = attention[0], total = 0;
        for (int64_t step = 1; step < length; step++)
            if (attention[step] > highest) highest = attention[step];
        for (int64_t step = 0; step < length; step++)
            total += attention[step] = expf(attention[step] - highest);
        for (int64_t step = 0; step < length; step++) attention[step] /= total;
        memset(attention + length, 0, sizeof(float) * (job->steps - length));
        for (int direction = 0; direction < 2; direction++) {
            Vector *mean = (Vector *)block->cells; /* which are not needed any more */
            memset(mean, 0, sizeof(float) * block->padded);
            for (int64_t step = 0; step < length; step++) {
                const float *state = block->hidden + (step * block->n + r) * block->stride;
                const Vector *hidden = (const Vector *)(state + direction * block->padded);
                const Vector share = NAME(all)(0.5f * attention[step]); /* the states are twice as large */
                for (int64_t j = 0; j < width; j++) mean[j] += hidden[j] * share;
            }
            float *vector = job->vectors + (first + r) * 2 * size;
            memcpy(vector + direction * size, mean, sizeof(float) * size);
        }
    }
}

static void NAME(run)(const Job *job, Block *block, int64_t first) {
    NAME(run_direction)(job, block, first, 0);
    NAME(run_direction)(job, block, first, 1);
    NAME(score)(job, block, first);
    NAME(average)(job, block, first);
}

static void NAME(tanh_of)(float *values, int64_t vectors) {
    for (float *at = values; at < values + vectors * LANES; at += LANES)
        NAME(store)(at, NAME(tanh)(NAME(load)(at)));
}

#undef NAME
#undef ROWS
#undef LOWER
#undef HIGHER
