/* A C program of somebody else: tamis.h alone. */
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

/* Decodes TOKENS tokens, indexing as it goes; at the end sparse attention must be as near to dense as its
 * certificate says, dense attention being within its own rounding of the truth. */
static int decode(tamis_kv* kv, tamis_index* index, tamis_workspace* workspace) {
  const tamis_shape shape = {.size = sizeof(tamis_shape),
                             .query_heads = 1,
                             .kv_heads = 1,
                             .queries = 1,
                             .head_dim = DIM,
                             .value_dim = DIM,
                             .dtype = TAMIS_F16,
                             .scale = 1};
  const tamis_sieve_options options = {.size = sizeof(tamis_sieve_options), .dense_below = 1};
  tamis_rounding rounding = {.size = sizeof(tamis_rounding)};
  tamis_index_info info = {.size = sizeof(tamis_index_info)};
  tamis_budget budget;
  tamis_kv_pages pages;
  tamis_certificate certificate;
  float q[DIM], k[DIM], v[DIM], out[DIM], exact[DIM];
  float lse = 0, exact_lse = 0;
  double distance = 0;
  int i;
  if (tamis_budget_parse("mass:0.1", &budget) != TAMIS_OK) return failed("budget");
  for (i = 0; i < TOKENS; ++i) {
    vectors(k, 0.01 * i);
    vectors(v, 0.07 * i);
    vectors(q, 0.02 * i);
    if (tamis_kv_append_f32(kv, k, v, 1) != TAMIS_OK) return failed("append");
    if (tamis_kv_get_pages(kv, &pages, 1) != TAMIS_OK) return failed("pages");
    if (tamis_index_extend(index, &pages, 1, workspace) != TAMIS_OK) return failed("extend");
    if (tamis_attend(index, &shape, q, &pages, NULL, &budget, 1, &options, workspace, out, &lse,
                     &certificate) != TAMIS_OK)
      return failed("attend");
  }
  if (tamis_dense(&shape, q, &pages, NULL, workspace, exact, &exact_lse) != TAMIS_OK)
    return failed("dense");
  if (tamis_attention_rounding(&shape, TOKENS, sqrt(DIM), sqrt(DIM), sqrt(DIM), &rounding) != TAMIS_OK)
    return failed("rounding");
  if (tamis_index_get_info(index, &info) != TAMIS_OK) return failed("info");
  for (i = 0; i < DIM; ++i) distance += ((double)out[i] - exact[i]) * ((double)out[i] - exact[i]);
  distance = sqrt(distance);
  if (!(certificate.tau <= 0.1) || !(distance <= certificate.error + rounding.error) ||
      !(fabs((double)lse - exact_lse) <= certificate.lse_error + rounding.lse) || info.tokens != 1408 ||
      certificate.coarse_keys + certificate.middle_keys + certificate.exact_keys != TOKENS) {
    printf("tau %g, distance %g, certified %g, %lld tokens indexed\n", certificate.tau, distance,
           certificate.error, (long long)info.tokens);
    return 1;
  }
  return 0;
}

static int sieve(void) {
  const tamis_index_shape shape = {.size = sizeof(tamis_index_shape),
                                   .kv_heads = 1,
                                   .head_dim = DIM,
                                   .value_dim = DIM,
                                   .sinks = 4,
                                   .dtype = TAMIS_F16};
  tamis_workspace* workspace = NULL;
  tamis_index* index = NULL;
  tamis_kv* kv = NULL;
  int bad = 0;
  if (tamis_workspace_create(1, &workspace) != TAMIS_OK) bad = failed("workspace");
  if (!bad && tamis_kv_create(TAMIS_F16, 1, DIM, DIM, &kv) != TAMIS_OK) bad = failed("kv");
  if (!bad && tamis_index_create(&shape, &index) != TAMIS_OK) bad = failed("index");
  if (!bad) bad = decode(kv, index, workspace);
  tamis_index_free(index);
  tamis_kv_free(kv);
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
  tamis_kv_pages pages;
  tamis_kv* kv = NULL;
  tamis_workspace* workspace = NULL;
  tamis_tensor* tensor = NULL;
  tamis_shape shape = {.size = sizeof(tamis_shape),
                       .query_heads = 1,
                       .kv_heads = 1,
                       .queries = 1,
                       .head_dim = 2,
                       .value_dim = 1,
                       .dtype = TAMIS_F32,
                       .scale = 1};

  if (tamis_workspace_create(1, &workspace) != TAMIS_OK) return failed("workspace");
  if (tamis_kv_create(TAMIS_F32, 1, 2, 1, &kv) != TAMIS_OK) return failed("kv");
  if (tamis_kv_append_f32(kv, k, v, 2) != TAMIS_OK) return failed("append");
  if (tamis_kv_get_pages(kv, &pages, 1) != TAMIS_OK) return failed("pages");
  if (tamis_dense(&shape, q, &pages, NULL, workspace, &out, &lse) != TAMIS_OK) return failed("dense");
  tamis_kv_free(kv);
  tamis_workspace_free(workspace);
  if (fabsf(out - 2) > 1e-6F || fabsf(lse - logf(2)) > 1e-6F) {
    printf("out %g, lse %g: expected 2 and log 2\n", (double)out, (double)lse);
    return 1;
  }
  if (tamis_npy_read("no/such/file.npy", &tensor) != TAMIS_INPUT || tensor != NULL ||
      strstr(tamis_last_error(), "no/such/file.npy") == NULL)
    return failed("a file that does not exist");
  if (sieve()) return 1;
  if (tamis_target(&target) != TAMIS_OK) return failed("target");
  printf("C program: tamis %s on %s\n", tamis_version(), target);
  return 0;
}
