/* Decoding with sparse attention, from C: each step appends one token's keys and values, extends the
 * index, attends, and looks at what the certificate proves. The vectors are made up. */
#include <math.h>
#include <stdio.h>

#include <tamis/tamis.h>

enum { QUERY_HEADS = 8, KV_HEADS = 2, DIM = 64, STEPS = 3000 };

/* Smooth numbers in place of a model's projections. */
static void vectors(float* x, int count, double phase) {
  int i;
  for (i = 0; i < count; ++i) x[i] = (float)sin(phase + 0.7 * i);
}

struct decoder {
  tamis_workspace* workspace;
  tamis_kv* kv;
  tamis_index* index;
  tamis_budget budget;
};

static tamis_code create(struct decoder* d) {
  const tamis_index_shape shape = {.size = sizeof(tamis_index_shape),
                                   .kv_heads = KV_HEADS,
                                   .head_dim = DIM,
                                   .value_dim = DIM,
                                   .sinks = 4,
                                   .dtype = TAMIS_BF16};
  tamis_code code = tamis_workspace_create(0, &d->workspace);
  if (code == TAMIS_OK) code = tamis_kv_create(TAMIS_BF16, KV_HEADS, DIM, DIM, &d->kv);
  if (code == TAMIS_OK) code = tamis_index_create(&shape, &d->index);
  if (code == TAMIS_OK) code = tamis_budget_parse("mass:0.05", &d->budget);
  return code;
}

static tamis_code step(struct decoder* d, int number, float* out, float* lse,
                       tamis_certificate* certificates) {
  const tamis_shape shape = {.size = sizeof(tamis_shape),
                             .query_heads = QUERY_HEADS,
                             .kv_heads = KV_HEADS,
                             .queries = 1,
                             .head_dim = DIM,
                             .value_dim = DIM,
                             .dtype = TAMIS_BF16,
                             .scale = 1.0F / 8};
  float q[QUERY_HEADS * DIM];
  float k[KV_HEADS * DIM];
  float v[KV_HEADS * DIM];
  tamis_kv_pages pages[KV_HEADS];
  tamis_code code;
  vectors(q, QUERY_HEADS * DIM, 0.2 * number);
  vectors(k, KV_HEADS * DIM, 0.1 * number);
  vectors(v, KV_HEADS * DIM, 0.3 * number);
  code = tamis_kv_append_f32(d->kv, k, v, 1);
  if (code == TAMIS_OK) code = tamis_kv_get_pages(d->kv, pages, KV_HEADS);
  if (code == TAMIS_OK) code = tamis_index_extend(d->index, pages, KV_HEADS, d->workspace);
  if (code == TAMIS_OK)
    code = tamis_attend(d->index, &shape, q, pages, NULL, &d->budget, 1, NULL, d->workspace, out, lse,
                        certificates);
  return code;
}

static tamis_code decode(struct decoder* d) {
  static float out[QUERY_HEADS * DIM];
  float lse[QUERY_HEADS];
  tamis_certificate certificates[QUERY_HEADS];
  tamis_index_info info = {.size = sizeof(tamis_index_info)};
  const tamis_certificate* first = &certificates[0];
  tamis_code code = create(d);
  int i;
  for (i = 0; i < STEPS && code == TAMIS_OK; ++i) code = step(d, i, out, lse, certificates);
  if (code == TAMIS_OK) code = tamis_index_get_info(d->index, &info);
  if (code != TAMIS_OK) return code;
  printf("%d tokens, %lld of them indexed in %lu bytes\n", STEPS, (long long)info.tokens,
         (unsigned long)info.bytes);
  printf("head 0: log-sum-exp %.4f, output %.4f %.4f ...\n", (double)lse[0], (double)out[0],
         (double)out[1]);
  printf("proved: weights within %.3g, output within %.3g, %s; %lld bytes read of %lld\n", first->tau,
         first->error, first->dense ? "dense" : "sparse",
         (long long)(first->coarse_bytes + first->middle_bytes + first->exact_bytes),
         (long long)STEPS * 2 * DIM * 2);
  return TAMIS_OK;
}

int main(void) {
  struct decoder d = {NULL, NULL, NULL, {0}};
  const tamis_code code = decode(&d);
  tamis_index_free(d.index);
  tamis_kv_free(d.kv);
  tamis_workspace_free(d.workspace);
  if (code != TAMIS_OK) fprintf(stderr, "%s\n", tamis_last_error());
  return code == TAMIS_OK ? 0 : 1;
}
