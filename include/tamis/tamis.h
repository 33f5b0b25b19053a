/* The C ABI of tamis: C99, the only interface whose binary form is stable.
 *
 * Names      tamis_<thing>_<verb>; a type tamis_x is made by tamis_x_create, _open, _read or _copy
 * and destroyed by tamis_x_free. Freeing NULL does nothing. Errors     Functions that can fail
 * return a tamis_code, 0 for success. After a failure tamis_last_error() gives one sentence for the
 * calling thread. Outputs are then unspecified, except that a handle to be created is set to NULL.
 * No call prints, aborts, exits or lets a C++ exception out. A null pointer or an impossible size
 * is TAMIS_USAGE. Pointers that are not null must point at as much memory as the call says: C
 * cannot check. Ownership  The caller owns what it passes in and must keep it unchanged during the
 * call. Pointers that come out of a handle belong to it and live as long as the call that gave them
 * says, or else as long as the handle. Strings are UTF-8 and end in a zero byte. Threads Different
 * handles are independent. On one handle, functions that take it as a pointer to const may run
 * concurrently; a tamis_workspace serves one call at a time, and a call that finds it in use by
 * another thread is TAMIS_USAGE. Growth     Structs that begin with `size` may get more fields at
 * the end: set size to sizeof the struct before every call. Fields that an older caller does not
 * have take the defaults named here. Structs without `size` never change.
 *
 *            tamis_shape shape = {.size = sizeof(tamis_shape), .query_heads = 8, ...};
 *
 * Matrices are row-major and contiguous. Costs are those of the C++ functions of the same name. */
#ifndef TAMIS_TAMIS_H
#define TAMIS_TAMIS_H

#include <stddef.h>
#include <stdint.h>

#include <tamis/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors ---- */

typedef int32_t tamis_code;
enum {
  TAMIS_OK = 0,
  TAMIS_USAGE = 1,     /* the call itself is wrong: an option, a size, a null pointer */
  TAMIS_INPUT = 2,     /* a file or a tensor is not what it must be, or cannot be opened */
  TAMIS_IO = 3,        /* the system failed: disk full, a write refused */
  TAMIS_CANCELLED = 4, /* a progress callback asked to stop */
  TAMIS_INTERNAL = 5   /* a defect of tamis, or memory is exhausted */
};

/* What went wrong in the last call of this thread that failed; "" if none has. Valid until the next
 * failing call of the same thread, or its end. */
TAMIS_API const char* tamis_last_error(void);

/* ---- What this build is ---- */

/* "0.2.0". Lives for ever, as do all strings of this section. */
TAMIS_API const char* tamis_version(void);
/* Compiled sets of kernels, slowest first. */
TAMIS_API size_t tamis_target_count(void);
/* runs_here: 1 if this CPU can run it, else 0. Either output may be NULL. */
TAMIS_API tamis_code tamis_target_at(size_t index, const char** name, int* runs_here);
/* The one in use, decided once per process; the environment variable TAMIS_TARGET forces it.
 * TAMIS_USAGE if that names none, or one that this CPU cannot run. */
TAMIS_API tamis_code tamis_target(const char** name);
/* Cores that this process may use. */
TAMIS_API int tamis_hardware_threads(void);
/* Whose threads work where none are named: "threads", the library's own, or "executor", those of
 * tamis_set_default_executor. */
TAMIS_API const char* tamis_parallel_runtime(void);
/* Libraries linked or compiled in, as "name version". */
TAMIS_API size_t tamis_library_count(void);
TAMIS_API tamis_code tamis_library_at(size_t index, const char** name_and_version);

/* ---- Element types ---- */

typedef int32_t tamis_dtype;
enum {
  TAMIS_F16 = 0,
  TAMIS_BF16 = 1,
  TAMIS_F32 = 2,
  TAMIS_F64 = 3,
  TAMIS_I8 = 4,
  TAMIS_I16 = 5,
  TAMIS_I32 = 6,
  TAMIS_I64 = 7,
  TAMIS_U8 = 8,
  TAMIS_U16 = 9,
  TAMIS_U32 = 10,
  TAMIS_U64 = 11,
  TAMIS_BOOL = 12
};

/* Bytes of one element. */
TAMIS_API tamis_code tamis_dtype_size(tamis_dtype dtype, int64_t* bytes);
/* "f16", "bf16", ... Lives for ever. */
TAMIS_API tamis_code tamis_dtype_name(tamis_dtype dtype, const char** name);
/* 16-bit floats by their bits. To float is exact; from float rounds to nearest, ties to even. */
TAMIS_API float tamis_f16_to_float(uint16_t bits);
TAMIS_API float tamis_bf16_to_float(uint16_t bits);
TAMIS_API uint16_t tamis_f16_from_float(float x);
TAMIS_API uint16_t tamis_bf16_from_float(float x);

/* ---- Threads ---- */

/* Threads that an engine lends. Both functions may be called from several threads at once. */
typedef struct tamis_executor {
  size_t size;
  void* context; /* handed to both */
  /* Workers that can run at the same time, the calling thread among them; at least 1. */
  int (*concurrency)(void* context);
  /* Calls body(work, 0) on the calling thread and body(work, w) for 0 < w < workers on any other,
   * each at most once; returns when all that have begun have ended. The workers share out one list
   * of items, and worker 0 does whatever the others leave: they may come late, or not at all. */
  void (*run)(void* context, int workers, void* work, void (*body)(void* work, int worker));
} tamis_executor;

/* Puts `executor` in the place of the library's own threads, for the calls that begin from now on;
 * NULL puts those back. The struct is copied; what it names must live as long as the process, or
 * until another is set and the calls that it works for have returned. The library's own threads, as
 * many as there are cores, are made when first needed and sleep soon after their work is done. */
TAMIS_API tamis_code tamis_set_default_executor(const tamis_executor* executor);

/* ---- Scratch memory ---- */

/* Scratch and the number of threads. Grows to the largest call it has seen and is kept. */
typedef struct tamis_workspace tamis_workspace;
/* threads = 0 takes all of the default executor: every core this process may use. Results do not
 * depend on it. */
TAMIS_API tamis_code tamis_workspace_create(int threads, tamis_workspace** out);
/* The same on threads of the caller's. The struct is copied; what it names must outlive the
 * workspace. */
TAMIS_API tamis_code tamis_workspace_create_on(int threads, const tamis_executor* executor,
                                               tamis_workspace** out);
TAMIS_API void tamis_workspace_free(tamis_workspace* workspace);
TAMIS_API tamis_code tamis_workspace_threads(const tamis_workspace* workspace, int* threads);

/* ---- Attention ---- */

/* Tokens in a page of keys and values. */
#define TAMIS_PAGE_TOKENS 128

/* What the heads of one call share. A query head h reads KV head h * kv_heads / query_heads. */
typedef struct tamis_shape {
  size_t size;
  int64_t query_heads; /* a multiple of kv_heads, at most 2^20 */
  int64_t kv_heads;
  int64_t queries;   /* per query head */
  int64_t head_dim;  /* of queries and keys, 1 to 1024 */
  int64_t value_dim; /* of values and outputs, 1 to 1024 */
  tamis_dtype dtype; /* of keys and values: TAMIS_F32, TAMIS_F16 or TAMIS_BF16 */
  float scale;       /* logits are scale * q.k */
} tamis_shape;

/* Keys and values of one KV head: token t's key is row t % 128 of page t / 128. Their type is the
 * caller's to remember: calls take shape.dtype at its word. */
typedef struct tamis_kv_pages {
  const void* const* k; /* ceil(tokens / 128) addresses */
  const void* const* v; /* the same number of addresses */
  int64_t tokens;
  int64_t k_stride; /* elements from one token's key to the next within a page */
  int64_t v_stride; /* the same for values */
} tamis_kv_pages;

/* Attention of every query, in f32. rows = query_heads * queries.
 *   q     rows x head_dim; row h * queries + i is query i of head h
 *   kv    kv_heads entries
 *   seen  queries entries: query i attends to keys 0 .. seen[i] - 1 of its head; NULL means all.
 *         Causal attention of a query at position p has seen = p + 1.
 *   out   rows x value_dim
 *   lse   rows values: log of the sum of exp(logit), natural
 * A query that sees no key gives out = 0 and lse = -inf. TAMIS_INPUT, naming the row, if a logit or
 * an output is not finite. Same bits for any number of threads. Allocates nothing once the
 * workspace has seen the shape. */
TAMIS_API tamis_code tamis_dense(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                                 const int64_t* seen, tamis_workspace* workspace, float* out,
                                 float* lse);
/* The same over arrays: k is [kv_heads, tokens, head_dim] and v is [kv_heads, tokens, value_dim],
 * both of shape->dtype. Allocates two pointers per page for the duration of the call. */
TAMIS_API tamis_code tamis_dense_arrays(const tamis_shape* shape, const float* q, const void* k,
                                        const void* v, int64_t tokens, const int64_t* seen,
                                        tamis_workspace* workspace, float* out, float* lse);
/* The same attention in f64 and plain loops: slow, to compare with. */
TAMIS_API tamis_code tamis_reference(const tamis_shape* shape, const float* q,
                                     const tamis_kv_pages* kv, const int64_t* seen, double* out,
                                     double* lse);

/* The definitions of the paper in f64: x is n x d_hid, w_q, w_k, w_v are d_hid x d. The matrices
 * (usam, sam and causal cusam, csam) are n x n, the outputs (sa, csa) n x d. O(n * n * d). */
TAMIS_API tamis_code tamis_usam(int64_t n, int64_t d_hid, int64_t d, const double* x,
                                const double* w_q, const double* w_k, double* out);
TAMIS_API tamis_code tamis_sam(int64_t n, int64_t d_hid, int64_t d, const double* x,
                               const double* w_q, const double* w_k, double* out);
TAMIS_API tamis_code tamis_sa(int64_t n, int64_t d_hid, int64_t d, const double* x,
                              const double* w_q, const double* w_k, const double* w_v, double* out);
TAMIS_API tamis_code tamis_cusam(int64_t n, int64_t d_hid, int64_t d, const double* x,
                                 const double* w_q, const double* w_k, double* out);
TAMIS_API tamis_code tamis_csam(int64_t n, int64_t d_hid, int64_t d, const double* x,
                                const double* w_q, const double* w_k, double* out);
TAMIS_API tamis_code tamis_csa(int64_t n, int64_t d_hid, int64_t d, const double* x,
                               const double* w_q, const double* w_k, const double* w_v,
                               double* out);

/* Attention over a part of the keys, before its division, so that parts can be merged. Per row: m
 * the largest logit, l the sum of exp(logit - m), o the sum of exp(logit - m) * v, with m in units
 * of log 2. No keys: m = -inf, l = 0, o = 0. */
typedef struct tamis_states {
  float* m; /* rows */
  float* l; /* rows */
  float* o; /* rows x value_dim */
} tamis_states;

TAMIS_API tamis_code tamis_dense_states(const tamis_shape* shape, const float* q,
                                        const tamis_kv_pages* kv, const int64_t* seen,
                                        tamis_workspace* workspace, const tamis_states* states);
/* into becomes the state of both sets of keys together. */
TAMIS_API tamis_code tamis_merge(int64_t rows, int64_t value_dim, const tamis_states* into,
                                 const tamis_states* from);
/* out = o / l (rows x value_dim) and lse = log l + m log 2 (rows). */
TAMIS_API tamis_code tamis_finish(int64_t rows, int64_t value_dim, const tamis_states* states,
                                  float* out, float* lse);

/* How far f32 attention of one query can be from exact attention; see docs/rounding.md. */
typedef struct tamis_rounding {
  size_t size;
  double tau;   /* total-variation distance between exact and used weights */
  double error; /* 2-norm of the output's error */
  double lse;   /* |lse - exact| */
} tamis_rounding;

/* query_norm = |q|, key_norm >= |k_j| and value_norm >= |v_j| (2-norms) for each of the `keys`
 * seen. */
TAMIS_API tamis_code tamis_attention_rounding(const tamis_shape* shape, int64_t keys,
                                              double query_norm, double key_norm, double value_norm,
                                              tamis_rounding* out);

/* ---- Budgets: how much sparse attention may read ---- */

typedef int32_t tamis_budget_kind;
enum {
  TAMIS_MASS = 0,  /* eps: read until the certified tau is at most eps */
  TAMIS_BYTES = 1, /* share: read at most this share of what dense attention reads */
  TAMIS_TOPK = 2,  /* k: read the k keys of largest weight, drop the rest */
  TAMIS_POWER =
      3, /* alpha, exponent: topk with k = ceil(alpha * n^exponent) where n keys are seen */
  TAMIS_WINDOW =
      4 /* window, sinks: read the last `window` and the first `sinks` keys, drop the rest */
};

/* Only the fields of its kind count. */
typedef struct tamis_budget {
  tamis_budget_kind kind;
  int32_t reserved; /* 0 */
  double eps;       /* above 0, below 1 */
  double share;     /* above 0, at most 1 */
  double alpha;     /* above 0 */
  double exponent;  /* 0 to 1 */
  int64_t k;        /* at least 1; as many as there are keys, or more, means dense */
  int64_t window;   /* at least 1 */
  int64_t sinks;    /* at least 0 */
} tamis_budget;

/* Reads "mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5" or "window:256,4"; fields of other
 * kinds become 0. TAMIS_USAGE, saying which forms there are or which number is out of range,
 * otherwise. */
TAMIS_API tamis_code tamis_budget_parse(const char* text, tamis_budget* out);
/* Bytes that hold the text of any budget and its zero byte. */
#define TAMIS_BUDGET_TEXT 64
/* The text that reads back to the same numbers. `capacity` bytes are at `out`; TAMIS_USAGE if they
 * are too few. */
TAMIS_API tamis_code tamis_budget_to_text(const tamis_budget* budget, char* out, size_t capacity);

/* ---- The cache: keys and values of many sequences, in planes of 4 bits ---- */

/* The keys and values of one layer, stored once, so that attention can read each at the precision
 * that a query needs. Any number of sequences of any lengths; the caller names them, by the same
 * numbers in the caches of all layers.
 *
 * Calls that change a sequence exclude all other calls on that sequence; calls on different
 * sequences may run at once on different threads, tamis_cache_fork from one sequence into several
 * others too. A call that fails leaves the cache as it was. Same calls in the same order, same
 * bits. */
typedef struct tamis_cache tamis_cache;

/* The caller's name for a sequence. */
typedef uint64_t tamis_sequence;

/* What the attention heads of a layer have in common. Query head h reads KV head
 * h * kv_heads / query_heads. */
typedef struct tamis_heads {
  size_t size;
  int64_t query_heads; /* a multiple of kv_heads, at most 65,536 */
  int64_t kv_heads;
  int64_t key_dim;   /* of queries and keys, 1 to 1024 */
  int64_t value_dim; /* of values and outputs, 1 to 1024 */
  float scale;       /* logits are scale * q.k */
  int32_t reserved;  /* 0 */
} tamis_heads;

/* Memory that an engine lends. Both functions may be called from several threads at once. */
typedef struct tamis_memory {
  size_t size;
  void* context; /* handed to both */
  /* At least `bytes`, aligned to 4,096, zeroed or not; NULL if there is none left. */
  void* (*allocate)(void* context, size_t bytes);
  /* What allocate(context, bytes) gave. */
  void (*release)(void* context, void* memory, size_t bytes);
} tamis_memory;

/* How a cache stores what it is given. A field that is 0 takes its default, but for dtype. */
typedef struct tamis_cache_options {
  size_t size;
  int32_t bits; /* per number of a coded key or value: 16, 12 or 8; 0: 12, which proves mass budgets
                   of 2 % and more nearly always; 16 is for smaller ones */
  tamis_dtype dtype; /* of raw tokens: TAMIS_F32, TAMIS_F16 or TAMIS_BF16; what is appended must fit
                        it without rounding */
  int64_t sinks; /* the first tokens of a sequence, always read exactly: 1 to 128; 0: 4; -1: none */
  int64_t raw_below; /* a sequence is kept raw until it has so many tokens; 0: 1024; -1: never */
  size_t capacity;   /* most bytes that the cache may take; 0: no limit */
  const tamis_memory*
      memory; /* NULL: the system's; copied, but what it names must outlive the cache */
} tamis_cache_options;

typedef struct tamis_cache_info {
  size_t size;
  int64_t sequences;
  size_t bytes;      /* taken from memory */
  size_t free_bytes; /* of these, what no sequence uses at present */
} tamis_cache_info;

/* options may be NULL for the defaults, with raw tokens in bf16. */
TAMIS_API tamis_code tamis_cache_create(const tamis_heads* heads,
                                        const tamis_cache_options* options, tamis_cache** out);
TAMIS_API void tamis_cache_free(tamis_cache* cache);
TAMIS_API tamis_code tamis_cache_get_info(const tamis_cache* cache, tamis_cache_info* out);

/* An empty sequence. TAMIS_USAGE if there is one of this name. */
TAMIS_API tamis_code tamis_cache_add(tamis_cache* cache, tamis_sequence sequence);
/* `to`, which must not exist, begins as the first `tokens` tokens of `from` and shares their
 * memory. */
TAMIS_API tamis_code tamis_cache_fork(tamis_cache* cache, tamis_sequence from, int64_t tokens,
                                      tamis_sequence to);
TAMIS_API tamis_code tamis_cache_remove(tamis_cache* cache, tamis_sequence sequence);
/* 1 or 0. */
TAMIS_API tamis_code tamis_cache_contains(const tamis_cache* cache, tamis_sequence sequence,
                                          int* contains);
TAMIS_API tamis_code tamis_cache_tokens(const tamis_cache* cache, tamis_sequence sequence,
                                        int64_t* tokens);

/* Rows of keys or values, strides in elements: row t of the s-th sequence of a call, KV head h,
 * channel c is element s * sequence_stride + t * token_stride + h * head_stride + c *
 * channel_stride. A sequence_stride of 0 says that the rows of all sequences follow each other: row
 * t of sequence s is row (tokens of the sequences before s) + t. */
typedef struct tamis_rows {
  size_t size;
  const void* data;
  tamis_dtype dtype; /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16 */
  int32_t reserved;  /* 0 */
  int64_t token_stride;
  int64_t head_stride;
  int64_t channel_stride; /* 0: 1 */
  int64_t sequence_stride;
} tamis_rows;

/* Appends tokens[s] tokens to sequences[s], for s = 0 .. count - 1: sequences that exist, each
 * once. TAMIS_INPUT, naming sequence, token, head and channel, for a number that is not finite;
 * TAMIS_USAGE if the rows' dtype does not fit the cache's without rounding; TAMIS_INTERNAL if
 * memory or the capacity is exhausted. */
TAMIS_API tamis_code tamis_cache_append(tamis_cache* cache, size_t count,
                                        const tamis_sequence* sequences, const int64_t* tokens,
                                        const tamis_rows* keys, const tamis_rows* values,
                                        tamis_workspace* workspace);
/* Forgets all tokens from `tokens` on. What is left keeps its bits. */
TAMIS_API tamis_code tamis_cache_truncate(tamis_cache* cache, tamis_sequence sequence,
                                          int64_t tokens);
/* Drops this sequence's use of what is stored below `bits` (12 or 8) of the blocks that lie wholly
 * before `tokens`; other sequences that share them keep theirs. Certificates stay true. */
TAMIS_API tamis_code tamis_cache_shed(tamis_cache* cache, tamis_sequence sequence, int32_t bits,
                                      int64_t tokens);

/* Writes a sequence: under a temporary name, then renamed. */
TAMIS_API tamis_code tamis_cache_save(const tamis_cache* cache, tamis_sequence sequence,
                                      const char* path);
/* `sequence` must not exist. TAMIS_INPUT, naming the file, if it is not one of a sequence, is
 * damaged, or was saved from heads or options that are not this cache's. */
TAMIS_API tamis_code tamis_cache_load(tamis_cache* cache, tamis_sequence sequence,
                                      const char* path);

/* ---- Sparse attention that certifies what it leaves out ---- */

/* Which sequences a step is about, with how many queries each, and what each query sees. */
typedef struct tamis_batch {
  size_t size;
  size_t count;
  const tamis_sequence* sequences; /* count entries */
  const int64_t* queries;          /* count entries, 0 or more each */
  const int64_t*
      seen; /* one entry per query, sequence after sequence: it sees tokens 0 .. seen - 1. NULL:
               the last query of a sequence sees all of its tokens, the one before it one less */
} tamis_batch;

/* A batch, checked and cut into pieces of work: made once a step, used for the caches of all
 * layers, which must have as many heads and hold the same sequences at the same lengths. */
typedef struct tamis_plan tamis_plan;
/* TAMIS_USAGE if a sequence is missing, or a query sees more tokens than there are. */
TAMIS_API tamis_code tamis_plan_create(const tamis_cache* cache, const tamis_batch* batch,
                                       tamis_plan** out);
TAMIS_API void tamis_plan_free(tamis_plan* plan);
/* Of all sequences. */
TAMIS_API tamis_code tamis_plan_queries(const tamis_plan* plan, int64_t* queries);

/* Rows of queries, strides in elements: query i of all sequences' queries, head h, channel c is
 * element i * query_stride + h * head_stride + c. */
typedef struct tamis_queries {
  size_t size;
  const void* data;
  tamis_dtype dtype; /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16 */
  int32_t reserved;  /* 0 */
  int64_t query_stride;
  int64_t head_stride;
} tamis_queries;

/* What the result of a row is. */
typedef int32_t tamis_reached;
enum {
  TAMIS_MET = 0, /* the budget */
  TAMIS_STORED_BITS =
      1,                /* a mass budget was not proved: all stored bits were read, and prove tau */
  TAMIS_LOOK_ALONE = 2, /* what is read whatever the budget exceeds a budget of bytes */
  TAMIS_NOT_FINITE =
      3 /* the query or its logits are not finite: output NaN, a certificate of infinities */
};
/* The same in words. TAMIS_USAGE if there is no such result. Lives for ever. */
TAMIS_API tamis_code tamis_reached_words(tamis_reached reached, const char** words);

/* Why everything was read. */
typedef int32_t tamis_why_dense;
enum {
  TAMIS_SPARSE = 0,         /* it was not */
  TAMIS_SHORT_SEQUENCE = 1, /* fewer tokens than dense_below, or all of them raw */
  TAMIS_PREFILL = 2,        /* more than 64 rows per KV head */
  TAMIS_WIDE = 3            /* bounds so wide that sparse reading could not say anything */
};
TAMIS_API tamis_code tamis_dense_words(tamis_why_dense dense, const char** words);

typedef int32_t tamis_grade;
enum {
  TAMIS_PROVED = 0 /* the bounds hold: deterministic, rounding included */
};

/* What the result for one query of one head proves. What was read is counted once per KV head and
 * pass: rows that share a KV head share the reading, and each of their certificates holds the same
 * counts. New fields are added at the end: tamis_results says how many bytes of each the caller
 * has. */
typedef struct tamis_certificate {
  double tau;   /* total-variation distance between exact attention and the weights used, at most */
  double error; /* 2-norm of the output's error, at most */
  double lse_error; /* |lse - exact|, at most */
  tamis_reached reached;
  tamis_why_dense dense;
  tamis_grade grade;
  int32_t reserved;   /* 0 */
  int64_t raw_keys;   /* read as appended */
  int64_t keys[4];    /* coded keys by the deepest plane read; with raw_keys, the keys seen */
  int64_t raw_values; /* read as appended */
  int64_t
      centre_values;   /* for which their block's mean stands, or nothing where keys are dropped */
  int64_t values[4];   /* coded values by the deepest plane read */
  int64_t bytes;       /* of everything read */
  int64_t dense_bytes; /* of the keys and values seen, at 16 bits a number */
} tamis_certificate;

/* What is saved where there is a choice. */
typedef int32_t tamis_prefer;
enum {
  TAMIS_PREFER_BYTES = 0, /* the first look reads one plane of every key */
  TAMIS_PREFER_TIME = 1   /* two at once, but for budgets of bytes: fewer keys to come back to */
};

/* A field that is 0 takes its default. */
typedef struct tamis_attend_options {
  size_t size;
  tamis_prefer prefer;
  int32_t look; /* planes that the first look reads of all keys: 1, 2, or 0 for what prefer says */
  int64_t
      dense_below; /* queries that see fewer tokens are computed from all that is stored; 0: none */
  double value_share; /* of a mass budget, for values, relative to their spread; 0: 0.4 */
} tamis_attend_options;

/* Where results go: rows = queries of the plan * query_heads, row i * query_heads + h being query i
 * of head h. */
typedef struct tamis_results {
  size_t size;
  void* out; /* channel c of query i, head h is element i * query_stride + h * head_stride + c */
  tamis_dtype
      dtype; /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16; certificates include the rounding to it */
  int32_t reserved; /* 0 */
  int64_t query_stride;
  int64_t head_stride;
  float* lse; /* rows: log of the sum of exp(logit), natural */
  tamis_certificate*
      certificates;        /* rows, each certificate_size bytes after the one before; or NULL */
  size_t certificate_size; /* sizeof(tamis_certificate) */
} tamis_results;

/* Attention of every query of the plan over its sequence, reading only what the budgets need.
 *   budgets        budget_count entries: 1, for all query heads, or query_heads; heads that share a
 * KV head need one kind options        NULL means the defaults A row that is not finite fails
 * itself and no other. Same bits for any number of threads; a sequence's bits do not depend on the
 * rest of the batch. Allocates nothing once the workspace has seen a call as large. */
TAMIS_API tamis_code tamis_attend(const tamis_cache* cache, const tamis_plan* plan,
                                  const tamis_queries* queries, const tamis_budget* budgets,
                                  size_t budget_count, const tamis_attend_options* options,
                                  tamis_workspace* workspace, const tamis_results* results);

#ifdef __cplusplus
}
#endif

#endif
