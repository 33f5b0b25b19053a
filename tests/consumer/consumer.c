/* A C program of somebody else: tamis.h alone. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <tamis/tamis.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, tamis_last_error());
  return 1;
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
  if (tamis_target(&target) != TAMIS_OK) return failed("target");
  printf("C program: tamis %s on %s\n", tamis_version(), target);
  return 0;
}
