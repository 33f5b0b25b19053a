/* Dense attention of two query heads over keys and values in plain arrays, called from C. */
#include <stdio.h>

#include <tamis/tamis.h>

enum { QUERY_HEADS = 2, TOKENS = 4, DIM = 2 };

static int report(void) {
  fprintf(stderr, "%s\n", tamis_last_error());
  return 1;
}

int main(void) {
  const float q[QUERY_HEADS][DIM] = {{1, 0}, {0, 3}};
  const float k[TOKENS][DIM] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  const float v[TOKENS][DIM] = {{10, 0}, {20, 0}, {30, 0}, {40, 1}};
  float out[QUERY_HEADS][DIM];
  float lse[QUERY_HEADS];
  tamis_workspace* workspace;
  int h;

  const tamis_shape shape = {.size = sizeof(tamis_shape),
                             .query_heads = QUERY_HEADS,
                             .kv_heads = 1,
                             .queries = 1,
                             .head_dim = DIM,
                             .value_dim = DIM,
                             .dtype = TAMIS_F32,
                             .scale = 1};

  if (tamis_workspace_create(1, &workspace) != TAMIS_OK) return report();
  if (tamis_dense_arrays(&shape, q[0], k, v, TOKENS, NULL, workspace, out[0], lse) != TAMIS_OK) {
    tamis_workspace_free(workspace);
    return report();
  }
  tamis_workspace_free(workspace);

  for (h = 0; h < QUERY_HEADS; ++h)
    printf("head %d: output (%.3f, %.3f), log-sum-exp %.3f\n", h, (double)out[h][0],
           (double)out[h][1], (double)lse[h]);
  return 0;
}
