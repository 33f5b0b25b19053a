/* A user's program in C that uses the lab and includes tamis_lab.h alone. */
#include <stdio.h>
#include <string.h>

#include <tamis/lab/tamis_lab.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, tamis_last_error());
  return 1;
}

int main(void) {
  /* Every row's nonzero is its own column. */
  const int64_t row_start[4] = {0, 1, 2, 3};
  const int64_t column[3] = {0, 1, 2};
  const double value[3] = {1, 1, 1};
  const tamis_pattern_view view = {sizeof view, 3, 3, row_start, column, value};
  tamis_realisation result = {.size = sizeof(tamis_realisation)};
  tamis_pattern* pattern = NULL;
  tamis_witness* witness = NULL;
  tamis_tensor* tensor = NULL;

  if (tamis_pattern_create(&view, &pattern) != TAMIS_OK) return failed("pattern");
  if (tamis_realise(pattern, NULL, NULL, NULL, NULL, &witness, &result, NULL) != TAMIS_OK ||
      witness == NULL)
    return failed("realise");
  tamis_witness_free(witness);
  tamis_pattern_free(pattern);
  if (tamis_npy_read("no/such/file.npy", &tensor) != TAMIS_INPUT || tensor != NULL ||
      strstr(tamis_last_error(), "no/such/file.npy") == NULL)
    return failed("a file that does not exist");
  printf("C program of the lab: a witness in %d columns\n", (int)result.dim);
  return 0;
}
