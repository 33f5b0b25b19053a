/* Shows how a C program embeds the engine. It appends a prompt to the cache; then each decoding
 * step appends one token and attends, and at the end it prints what a certificate proves. The
 * program supplies its own threads: here pthreads, created anew for every loop to keep the example
 * short. The vectors are made up; a model would supply its own. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tamis/tamis.h>

enum { QUERY_HEADS = 8, KV_HEADS = 2, DIM = 64, PROMPT = 3000, STEPS = 100, THREADS = 2 };

struct piece {
  void* work;
  void (*body)(void* work, int worker);
  int worker;
};
static void* begin(void* piece) {
  const struct piece* p = piece;
  p->body(p->work, p->worker);
  return NULL;
}
static int concurrency(void* context) { return *(int*)context; }
static void run(void* context, int workers, void* work, void (*body)(void* work, int worker)) {
  struct piece pieces[THREADS];
  pthread_t threads[THREADS];
  int made[THREADS] = {0};
  int w;
  (void)context;
  for (w = 1; w < workers && w < THREADS; ++w) { /* only created threads are joined */
    pieces[w] = (struct piece){work, body, w};
    made[w] = pthread_create(&threads[w], NULL, begin, &pieces[w]) == 0;
  }
  body(work, 0);
  for (w = 1; w < workers && w < THREADS; ++w)
    if (made[w]) pthread_join(threads[w], NULL);
}

/* Fills x with smooth numbers in place of a model's projections: `rows` rows of `heads` heads, for
 * the tokens from `first` on. */
static const float* vectors(float* x, int rows, int heads, int first, double speed) {
  int i;
  for (i = 0; i < rows * heads * DIM; ++i)
    x[i] = (float)(2 * sin(speed * (first + i / (heads * DIM)) + 0.7 * (i % (heads * DIM))));
  return x;
}
static void check(tamis_code code) {
  if (code == TAMIS_OK) return;
  fprintf(stderr, "%s\n", tamis_last_error());
  exit(1);
}

int main(void) {
  static float k[PROMPT * KV_HEADS * DIM], v[PROMPT * KV_HEADS * DIM];
  float q[QUERY_HEADS * DIM], out[QUERY_HEADS * DIM], lse[QUERY_HEADS];
  int threads = THREADS, step;
  const tamis_executor executor = {sizeof executor, &threads, concurrency, run};
  const tamis_heads heads = {sizeof heads, QUERY_HEADS, KV_HEADS, DIM, DIM, 1.0F / 8, 0};
  const tamis_cache_options options = {.size = sizeof options, .dtype = TAMIS_F32};
  const tamis_rows keys = {sizeof keys, k, TAMIS_F32, 0, KV_HEADS * DIM, DIM, 1, 0};
  const tamis_rows values = {sizeof values, v, TAMIS_F32, 0, KV_HEADS * DIM, DIM, 1, 0};
  const tamis_queries queries = {sizeof queries, q, TAMIS_F32, 0, QUERY_HEADS * DIM, DIM};
  const tamis_sequence sequence = 1;
  const int64_t prompt = PROMPT, one = 1;
  const tamis_batch batch = {sizeof batch, 1, &sequence, &one, NULL};
  tamis_cache_info info = {.size = sizeof info};
  tamis_certificate certificates[QUERY_HEADS];
  const tamis_results results = {sizeof results,        out, TAMIS_F32, 0,
                                 QUERY_HEADS * DIM,     DIM, lse,       certificates,
                                 sizeof certificates[0]};
  tamis_workspace* workspace;
  tamis_cache* cache;
  tamis_budget budget;

  check(tamis_workspace_create_on(0, &executor, &workspace));
  check(tamis_cache_create(&heads, &options, &cache)); /* a model has one cache per layer */
  check(tamis_budget_parse("mass:0.05", &budget));
  check(tamis_cache_add(cache, sequence));
  vectors(k, PROMPT, KV_HEADS, 0, 0.1);
  vectors(v, PROMPT, KV_HEADS, 0, 0.3);
  check(tamis_cache_append(cache, 1, &sequence, &prompt, &keys, &values, workspace));
  for (step = PROMPT; step < PROMPT + STEPS; ++step) {
    tamis_plan* plan; /* one plan serves all layers */
    vectors(k, 1, KV_HEADS, step, 0.1);
    vectors(v, 1, KV_HEADS, step, 0.3);
    vectors(q, 1, QUERY_HEADS, step, 0.1);
    check(tamis_cache_append(cache, 1, &sequence, &one, &keys, &values, workspace));
    check(tamis_plan_create(cache, &batch, &plan));
    check(tamis_attend(cache, plan, &queries, &budget, 1, NULL, workspace, &results));
    tamis_plan_free(plan);
  }
  check(tamis_cache_get_info(cache, &info));
  printf("%d tokens in %lu bytes; head 0: output %.4f %.4f ...\n", PROMPT + STEPS,
         (unsigned long)(info.bytes - info.free_bytes), (double)out[0], (double)out[1]);
  printf("proved: tau %.3g, output within %.3g; read %lld bytes of %lld\n", certificates[0].tau,
         certificates[0].error, (long long)certificates[0].bytes,
         (long long)certificates[0].dense_bytes);
  tamis_cache_free(cache);
  tamis_workspace_free(workspace);
  return 0;
}
