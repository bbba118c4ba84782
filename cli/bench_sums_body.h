/* Sums of REAL from factors of ENTRY: included once for each type. */

/* What a thread adds to: its own, or all threads' to rows that are its own. */
struct NAME(part) {
  REAL *sum, *size, *term;
  uint32_t *terms; /* nonzeros of each row */
};

static const ENTRY *NAME(factor_row)(const struct source *source, int n, uint64_t p) {
  return (const ENTRY *)source->operands->factors[n] + index_of(source, n, p) * source->rank;
}

/* The value times the others' rows, number by number; for Phi over the model's value. */
static void NAME(product_terms)(const struct source *source, uint64_t p, REAL *restrict term) {
  const struct bench_operands *operands = source->operands;
  uint64_t rank = source->rank;
  REAL weight = value_of(source, p), model = 0;
  for (uint64_t r = 0; r < rank; ++r)
    term[r] = 1;
  for (int n = 0; n < source->order; ++n) {
    if (n == operands->mode) continue;
    const ENTRY *row = NAME(factor_row)(source, n, p);
    for (uint64_t r = 0; r < rank; ++r)
      term[r] *= row[r];
  }
  if (operands->kernel == POLYAD_KERNEL_PHI) {
    const ENTRY *row = NAME(factor_row)(source, operands->mode, p);
    for (uint64_t r = 0; r < rank; ++r)
      model += term[r] * row[r];
    weight /= model > operands->epsilon ? model : operands->epsilon;
  }
  for (uint64_t r = 0; r < rank; ++r)
    term[r] *= weight;
}

/* The value times the Kronecker product of the others' rows, made longer in place from its end. */
static void NAME(chain_terms)(const struct source *source, uint64_t p, REAL *term) {
  uint64_t rank = source->rank, size = 1;
  term[0] = value_of(source, p);
  for (int n = 0; n < source->order; ++n) {
    if (n == source->operands->mode) continue;
    const ENTRY *row = NAME(factor_row)(source, n, p);
    for (uint64_t k = size; k-- > 0;) {
      REAL from = term[k];
      for (uint64_t r = rank; r-- > 0;)
        term[k * rank + r] = from * row[r];
    }
    size *= rank;
  }
}

static void NAME(add_nonzero)(const struct source *source, uint64_t p, uint64_t slot,
                              const struct NAME(part) * part) {
  uint64_t columns = source->columns;
  REAL *restrict sum = part->sum + slot * columns, *restrict size = part->size + slot * columns;
  REAL *restrict term = part->term;
  if (source->operands->kernel == POLYAD_KERNEL_TTMC)
    NAME(chain_terms)(source, p, term);
  else
    NAME(product_terms)(source, p, term);
  for (uint64_t k = 0; k < columns; ++k) {
    sum[k] += term[k];
    size[k] += ABSOLUTE(term[k]);
  }
  ++part->terms[slot];
}

/* Adds the nonzeros from `begin` to `end` whose slot leaves `rest` when divided by `by`. */
static void NAME(add_range)(const struct source *source, uint64_t begin, uint64_t end, int by,
                            int rest, const struct NAME(part) * part) {
  int mode = source->operands->mode;
  for (uint64_t p = begin; p < end; ++p) {
    int32_t slot = source->slot[index_of(source, mode, p)];
    if (slot != BENCH_NO_SLOT && (by == 1 || slot % by == rest))
      NAME(add_nonzero)(source, p, (uint64_t)slot, part);
  }
}

static void NAME(add_all)(const struct source *source, int threads, int parts,
                          const struct NAME(part) * part) {
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int t = 0; t < threads; ++t) {
    if (parts == threads) {
      uint64_t share = source->nnz / (uint64_t)threads + 1, begin = share * (uint64_t)t;
      uint64_t end = begin + share < source->nnz ? begin + share : source->nnz;
      NAME(add_range)(source, begin, end, 1, 0, &part[t]);
    } else {
      struct NAME(part) shared = part[0];
      shared.term = part[t].term;
      NAME(add_range)(source, 0, source->nnz, threads, t, &shared);
    }
  }
}

/* The sums of all parts. */
static void NAME(gather)(const struct NAME(part) * part, int parts, int threads,
                         struct bench_reference *to) {
  uint64_t entries = to->count * to->columns;
#pragma omp parallel for num_threads(threads) schedule(static)
  for (uint64_t k = 0; k < entries; ++k)
    for (int t = 0; t < parts; ++t) {
      to->sum[k] += part[t].sum[k];
      to->size[k] += part[t].size[k];
    }
  for (uint64_t slot = 0; slot < to->count; ++slot) {
    uint64_t terms = 0;
    for (int t = 0; t < parts; ++t)
      terms += part[t].terms[slot];
    if (terms > to->terms) to->terms = terms;
  }
}

static bool NAME(sum_rows)(const struct source *source, int threads, struct bench_reference *to) {
  uint64_t entries = to->count * to->columns, room = source->columns + 64 / sizeof(REAL);
  bool own = 2 * entries * sizeof(REAL) <= most_own_bytes / (uint64_t)threads;
  int parts = own ? threads : 1;
  struct NAME(part) *part = calloc((size_t)threads, sizeof *part);
  REAL *sums = calloc(2 * entries * (uint64_t)parts + 1, sizeof *sums);
  REAL *term = calloc(room * (uint64_t)threads, sizeof *term);
  uint32_t *terms = calloc(to->count * (uint64_t)parts + 1, sizeof *terms);
  bool made = part != NULL && sums != NULL && term != NULL && terms != NULL;
  for (int t = 0; made && t < threads; ++t) {
    uint64_t place = t < parts ? (uint64_t)t : 0;
    part[t] = (struct NAME(part)){.sum = sums + 2 * entries * place,
                                  .size = sums + (2 * place + 1) * entries,
                                  .term = term + room * (uint64_t)t,
                                  .terms = terms + to->count * place};
  }
  if (made) {
    NAME(add_all)(source, threads, parts, part);
    NAME(gather)(part, parts, threads, to);
  }
  free(part);
  free(sums);
  free(term);
  free(terms);
  return made;
}
