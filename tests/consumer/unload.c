/* Loads the library, lets its threads work and unloads it again, five times, as a plug-in would.
 * Usage: unload LIBRARY */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tamis/tamis.h>

static void* library;

/* ISO C has no cast from an object pointer to a function pointer. */
static void look_up(const char* name, void* function) {
  void* const found = dlsym(library, name);
  if (found == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  memcpy(function, &found, sizeof found);
}

static int attend_once(void) {
  enum { heads = 8, tokens = 4096, dim = 16 };
  static float keys[heads * tokens * dim];
  float q[heads * dim] = {0};
  float out[heads * dim];
  float lse[heads];
  const tamis_shape shape = {sizeof shape, heads, heads, 1, dim, dim, TAMIS_F32, 1.0F};
  tamis_code (*create)(int, tamis_workspace**);
  void (*destroy)(tamis_workspace*);
  tamis_code (*dense)(const tamis_shape*, const float*, const void*, const void*, int64_t,
                      const int64_t*, tamis_workspace*, float*, float*);
  tamis_workspace* workspace = NULL;
  int i;
  int good;
  look_up("tamis_workspace_create", &create);
  look_up("tamis_workspace_free", &destroy);
  look_up("tamis_dense_arrays", &dense);
  good = create(0, &workspace) == TAMIS_OK;
  for (i = 0; good && i < 20; ++i)
    good = dense(&shape, q, keys, keys, tokens, NULL, workspace, out, lse) == TAMIS_OK;
  destroy(workspace);
  return good;
}

int main(int argc, char** argv) {
  int i;
  if (argc != 2) return 2;
  for (i = 0; i < 5; ++i) {
    library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    if (!attend_once() || dlclose(library) != 0) return 1;
  }
  return 0;
}
