/* A user's program in C that includes tamis.h alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tamis/tamis.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, tamis_last_error());
  return 1;
}

enum { TOKENS = 1500, DIM = 16 };

static void vectors(float* x, double phase) {
  int i;
  for (i = 0; i < DIM; ++i) x[i] = (float)sin(phase * (i + 1));
}

/* Decodes TOKENS tokens. At the end sparse attention must be as near to dense attention as its
 * certificate says, where dense attention is within its own rounding bound of the truth. */
static int decode(tamis_cache* cache, tamis_workspace* workspace) {
  static float keys[TOKENS][DIM], values[TOKENS][DIM];
  const tamis_sequence sequence = 42;
  const int64_t one = 1;
  const tamis_batch batch = {sizeof batch, 1, &sequence, &one, NULL};
  const tamis_shape shape = {.size = sizeof(tamis_shape),
                             .query_heads = 1,
                             .kv_heads = 1,
                             .queries = 1,
                             .head_dim = DIM,
                             .value_dim = DIM,
                             .dtype = TAMIS_F32,
                             .scale = 1};
  tamis_rounding rounding = {.size = sizeof(tamis_rounding)};
  tamis_budget budget;
  tamis_certificate c;
  float q[DIM], out[DIM], exact[DIM];
  float lse = 0, exact_lse = 0;
  const tamis_queries queries = {sizeof queries, q, TAMIS_F32, 0, DIM, DIM};
  const tamis_results results = {sizeof results, out, TAMIS_F32, 0, DIM, DIM, &lse, &c, sizeof c};
  double distance = 0;
  int i;
  if (tamis_budget_parse("mass:0.1", &budget) != TAMIS_OK) return failed("budget");
  if (tamis_cache_add(cache, sequence) != TAMIS_OK) return failed("add");
  for (i = 0; i < TOKENS; ++i) {
    const tamis_rows k = {sizeof k, keys[i], TAMIS_F32, 0, DIM, DIM, 1, 0};
    const tamis_rows v = {sizeof v, values[i], TAMIS_F32, 0, DIM, DIM, 1, 0};
    tamis_plan* plan = NULL;
    vectors(keys[i], 0.01 * i);
    vectors(values[i], 0.07 * i);
    vectors(q, 0.02 * i);
    if (tamis_cache_append(cache, 1, &sequence, &one, &k, &v, workspace) != TAMIS_OK)
      return failed("append");
    if (tamis_plan_create(cache, &batch, &plan) != TAMIS_OK) return failed("plan");
    if (tamis_attend(cache, plan, &queries, &budget, 1, NULL, workspace, &results) != TAMIS_OK)
      return failed("attend");
    tamis_plan_free(plan);
  }
  if (tamis_dense_arrays(&shape, q, keys, values, TOKENS, NULL, workspace, exact, &exact_lse) !=
      TAMIS_OK)
    return failed("dense");
  if (tamis_attention_rounding(&shape, TOKENS, sqrt(DIM), sqrt(DIM), sqrt(DIM), &rounding) !=
      TAMIS_OK)
    return failed("rounding");
  for (i = 0; i < DIM; ++i) distance += ((double)out[i] - exact[i]) * ((double)out[i] - exact[i]);
  distance = sqrt(distance);
  if (c.reached != TAMIS_MET || !(c.tau <= 0.1) || !(distance <= c.error + rounding.error) ||
      !(fabs((double)lse - exact_lse) <= c.lse_error + rounding.lse) ||
      c.raw_keys + c.keys[0] + c.keys[1] + c.keys[2] + c.keys[3] != TOKENS) {
    printf("tau %g, distance %g, certified %g\n", c.tau, distance, c.error);
    return 1;
  }
  return 0;
}

static int sieve(void) {
  const tamis_heads heads = {sizeof heads, 1, 1, DIM, DIM, 1, 0};
  const tamis_cache_options options = {.size = sizeof options, .dtype = TAMIS_F32};
  tamis_workspace* workspace = NULL;
  tamis_cache* cache = NULL;
  int bad = 0;
  if (tamis_workspace_create(1, &workspace) != TAMIS_OK) bad = failed("workspace");
  if (!bad && tamis_cache_create(&heads, &options, &cache) != TAMIS_OK) bad = failed("cache");
  if (!bad) bad = decode(cache, workspace);
  tamis_cache_free(cache);
  tamis_workspace_free(workspace);
  return bad;
}

int main(void) {
  const float k[4] = {0, 5, 0, -5}; /* both logits are 0: the output is the mean */
  const float v[2] = {1, 3};
  const float q[2] = {1, 0};
  float out = 0;
  float lse = 0;
  const char* target = NULL;
  tamis_workspace* workspace = NULL;
  tamis_budget budget;
  tamis_shape shape = {.size = sizeof(tamis_shape),
                       .query_heads = 1,
                       .kv_heads = 1,
                       .queries = 1,
                       .head_dim = 2,
                       .value_dim = 1,
                       .dtype = TAMIS_F32,
                       .scale = 1};

  if (tamis_workspace_create(1, &workspace) != TAMIS_OK) return failed("workspace");
  if (tamis_dense_arrays(&shape, q, k, v, 2, NULL, workspace, &out, &lse) != TAMIS_OK)
    return failed("dense");
  tamis_workspace_free(workspace);
  if (fabsf(out - 2) > 1e-6F || fabsf(lse - logf(2)) > 1e-6F) {
    printf("out %g, lse %g: expected 2 and log 2\n", (double)out, (double)lse);
    return 1;
  }
  if (tamis_budget_parse("half", &budget) != TAMIS_USAGE ||
      strstr(tamis_last_error(), "half") == NULL)
    return failed("a budget that is none");
  if (sieve()) return 1;
  if (tamis_target(&target) != TAMIS_OK) return failed("target");
  printf("C program: tamis %s on %s\n", tamis_version(), target);
  return 0;
}
