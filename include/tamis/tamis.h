/* The C ABI of tamis: C99, the only interface whose binary form is stable.
 *
 * Names      tamis_<thing>_<verb>; a type tamis_x is made by tamis_x_create, _open, _read or _copy and
 *            destroyed by tamis_x_free. Freeing NULL does nothing.
 * Errors     Functions that can fail return a tamis_code, 0 for success. After a failure
 *            tamis_last_error() gives one sentence for the calling thread. Outputs are then
 *            unspecified, except that a handle to be created is set to NULL. No call prints, aborts,
 *            exits or lets a C++ exception out. A null pointer or an impossible size is TAMIS_USAGE.
 *            Pointers that are not null must point at as much memory as the call says: C cannot check.
 * Ownership  The caller owns what it passes in and must keep it unchanged during the call. Pointers that
 *            come out of a handle belong to it and live as long as the call that gave them says, or
 *            else as long as the handle. Strings are UTF-8 and end in a zero byte.
 * Threads    Different handles are independent. On one handle, functions that take it as a pointer to
 *            const may run concurrently; a tamis_workspace serves one call at a time, and a call that
 *            finds it in use by another thread is TAMIS_USAGE.
 * Growth     Structs that begin with `size` may get more fields at the end: set size to sizeof the
 *            struct before every call. Fields that an older caller does not have take the defaults
 *            named here. Structs without `size` never change.
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
  /* Calls body(work, 0) on the calling thread and body(work, w) for 0 < w < workers on any other, each at
   * most once; returns when all that have begun have ended. The workers share out one list of items, and
   * worker 0 does whatever the others leave: they may come late, or not at all. */
  void (*run)(void* context, int workers, void* work, void (*body)(void* work, int worker));
} tamis_executor;

/* Puts `executor` in the place of the library's own threads, for the calls that begin from now on; NULL
 * puts those back. The struct is copied; what it names must live as long as the process, or until another
 * is set and the calls that it works for have returned. The library's own threads, as many as there are
 * cores, are made when first needed and sleep soon after their work is done. */
TAMIS_API tamis_code tamis_set_default_executor(const tamis_executor* executor);

/* ---- Scratch memory ---- */

/* Scratch and the number of threads. Grows to the largest call it has seen and is kept. */
typedef struct tamis_workspace tamis_workspace;
/* threads = 0 takes all of the default executor: every core this process may use. Results do not depend
 * on it. */
TAMIS_API tamis_code tamis_workspace_create(int threads, tamis_workspace** out);
/* The same on threads of the caller's. The struct is copied; what it names must outlive the workspace. */
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

/* Keys and values of one KV head: token t's key is row t % 128 of page t / 128. Their type is the caller's
 * to remember: calls take shape.dtype at its word. */
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
 * A query that sees no key gives out = 0 and lse = -inf. TAMIS_INPUT, naming the row, if a logit or an
 * output is not finite. Same bits for any number of threads. Allocates nothing once the workspace has
 * seen the shape. */
TAMIS_API tamis_code tamis_dense(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                                 const int64_t* seen, tamis_workspace* workspace, float* out, float* lse);
/* The same over arrays: k is [kv_heads, tokens, head_dim] and v is [kv_heads, tokens, value_dim], both
 * of shape->dtype. Allocates two pointers per page for the duration of the call. */
TAMIS_API tamis_code tamis_dense_arrays(const tamis_shape* shape, const float* q, const void* k,
                                        const void* v, int64_t tokens, const int64_t* seen,
                                        tamis_workspace* workspace, float* out, float* lse);
/* The same attention in f64 and plain loops: slow, to compare with. */
TAMIS_API tamis_code tamis_reference(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                                     const int64_t* seen, double* out, double* lse);

/* The definitions of the paper in f64: x is n x d_hid, w_q, w_k, w_v are d_hid x d. The matrices
 * (usam, sam and causal cusam, csam) are n x n, the outputs (sa, csa) n x d. O(n * n * d). */
TAMIS_API tamis_code tamis_usam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                                const double* w_k, double* out);
TAMIS_API tamis_code tamis_sam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                               const double* w_k, double* out);
TAMIS_API tamis_code tamis_sa(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                              const double* w_k, const double* w_v, double* out);
TAMIS_API tamis_code tamis_cusam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                                 const double* w_k, double* out);
TAMIS_API tamis_code tamis_csam(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                                const double* w_k, double* out);
TAMIS_API tamis_code tamis_csa(int64_t n, int64_t d_hid, int64_t d, const double* x, const double* w_q,
                               const double* w_k, const double* w_v, double* out);

/* Attention over a part of the keys, before its division, so that parts can be merged. Per row: m the
 * largest logit, l the sum of exp(logit - m), o the sum of exp(logit - m) * v, with m in units of
 * log 2. No keys: m = -inf, l = 0, o = 0. */
typedef struct tamis_states {
  float* m; /* rows */
  float* l; /* rows */
  float* o; /* rows x value_dim */
} tamis_states;

TAMIS_API tamis_code tamis_dense_states(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                                        const int64_t* seen, tamis_workspace* workspace,
                                        const tamis_states* states);
/* into becomes the state of both sets of keys together. */
TAMIS_API tamis_code tamis_merge(int64_t rows, int64_t value_dim, const tamis_states* into,
                                 const tamis_states* from);
/* out = o / l (rows x value_dim) and lse = log l + m log 2 (rows). */
TAMIS_API tamis_code tamis_finish(int64_t rows, int64_t value_dim, const tamis_states* states, float* out,
                                  float* lse);

/* How far f32 attention of one query can be from exact attention; see docs/rounding.md. */
typedef struct tamis_rounding {
  size_t size;
  double tau;   /* total-variation distance between exact and used weights */
  double error; /* 2-norm of the output's error */
  double lse;   /* |lse - exact| */
} tamis_rounding;

/* query_norm = |q|, key_norm >= |k_j| and value_norm >= |v_j| (2-norms) for each of the `keys` seen. */
TAMIS_API tamis_code tamis_attention_rounding(const tamis_shape* shape, int64_t keys, double query_norm,
                                              double key_norm, double value_norm, tamis_rounding* out);

/* ---- Budgets: how much sparse attention may read ---- */

typedef int32_t tamis_budget_kind;
enum {
  TAMIS_MASS = 0,  /* eps: read until the certified tau is at most eps */
  TAMIS_BYTES = 1, /* share: read at most this share of what dense attention reads */
  TAMIS_TOPK = 2,  /* k: read the k keys of largest weight, drop the rest */
  TAMIS_POWER = 3, /* alpha, exponent: topk with k = ceil(alpha * n^exponent) where n keys are seen */
  TAMIS_WINDOW = 4 /* window, sinks: read the last `window` and the first `sinks` keys, drop the rest */
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

/* Reads "mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5" or "window:256,4"; fields of other kinds
 * become 0. TAMIS_USAGE, saying which forms there are or which number is out of range, otherwise. */
TAMIS_API tamis_code tamis_budget_parse(const char* text, tamis_budget* out);
/* Bytes that hold the text of any budget and its zero byte. */
#define TAMIS_BUDGET_TEXT 64
/* The text that reads back to the same numbers. `capacity` bytes are at `out`; TAMIS_USAGE if they are
 * too few. */
TAMIS_API tamis_code tamis_budget_to_text(const tamis_budget* budget, char* out, size_t capacity);

/* What a profile of a model recommends for its heads. */
typedef struct tamis_profile tamis_profile;

typedef struct tamis_head_budget {
  int64_t layer;
  int64_t head;
  tamis_budget budget;
} tamis_head_budget;

/* Reads {"heads": [{"layer": L, "head": H, "budget": "power:2,0.5"}, ...]}; other members are ignored. */
TAMIS_API tamis_code tamis_profile_read(const char* path, tamis_profile** out);
TAMIS_API void tamis_profile_free(tamis_profile* profile);
/* In the order of the file. */
TAMIS_API tamis_code tamis_profile_budgets(const tamis_profile* profile, const tamis_head_budget** budgets,
                                           size_t* count);

/* ---- The cache: keys and values of many sequences, in planes of 4 bits ---- */

/* The keys and values of one layer, stored once, so that attention can read each at the precision that a
 * query needs. Any number of sequences of any lengths; the caller names them, by the same numbers in the
 * caches of all layers.
 *
 * Calls that change a sequence exclude all other calls on that sequence; calls on different sequences may
 * run at once on different threads, tamis_cache_fork from one sequence into several others too. A call
 * that fails leaves the cache as it was. Same calls in the same order, same bits. */
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
  int32_t bits;      /* per number of a coded key or value: 16, 12 or 8; 0: 12, which proves mass budgets of
                        2 % and more nearly always; 16 is for smaller ones */
  tamis_dtype dtype; /* of raw tokens: TAMIS_F32, TAMIS_F16 or TAMIS_BF16; what is appended must fit it
                        without rounding */
  int64_t sinks;     /* the first tokens of a sequence, always read exactly: 1 to 128; 0: 4; -1: none */
  int64_t raw_below; /* a sequence is kept raw until it has so many tokens; 0: 1024; -1: never */
  size_t capacity;   /* most bytes that the cache may take; 0: no limit */
  const tamis_memory* memory; /* NULL: the system's; copied, but what it names must outlive the cache */
} tamis_cache_options;

typedef struct tamis_cache_info {
  size_t size;
  int64_t sequences;
  size_t bytes;      /* taken from memory */
  size_t free_bytes; /* of these, what no sequence uses at present */
} tamis_cache_info;

/* options may be NULL for the defaults, with raw tokens in bf16. */
TAMIS_API tamis_code tamis_cache_create(const tamis_heads* heads, const tamis_cache_options* options,
                                        tamis_cache** out);
TAMIS_API void tamis_cache_free(tamis_cache* cache);
TAMIS_API tamis_code tamis_cache_get_info(const tamis_cache* cache, tamis_cache_info* out);

/* An empty sequence. TAMIS_USAGE if there is one of this name. */
TAMIS_API tamis_code tamis_cache_add(tamis_cache* cache, tamis_sequence sequence);
/* `to`, which must not exist, begins as the first `tokens` tokens of `from` and shares their memory. */
TAMIS_API tamis_code tamis_cache_fork(tamis_cache* cache, tamis_sequence from, int64_t tokens,
                                      tamis_sequence to);
TAMIS_API tamis_code tamis_cache_remove(tamis_cache* cache, tamis_sequence sequence);
/* 1 or 0. */
TAMIS_API tamis_code tamis_cache_contains(const tamis_cache* cache, tamis_sequence sequence, int* contains);
TAMIS_API tamis_code tamis_cache_tokens(const tamis_cache* cache, tamis_sequence sequence, int64_t* tokens);

/* Rows of keys or values, strides in elements: row t of the s-th sequence of a call, KV head h, channel c
 * is element s * sequence_stride + t * token_stride + h * head_stride + c * channel_stride. A
 * sequence_stride of 0 says that the rows of all sequences follow each other: row t of sequence s is row
 * (tokens of the sequences before s) + t. */
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

/* Appends tokens[s] tokens to sequences[s], for s = 0 .. count - 1: sequences that exist, each once.
 * TAMIS_INPUT, naming sequence, token, head and channel, for a number that is not finite; TAMIS_USAGE if
 * the rows' dtype does not fit the cache's without rounding; TAMIS_INTERNAL if memory or the capacity is
 * exhausted. */
TAMIS_API tamis_code tamis_cache_append(tamis_cache* cache, size_t count, const tamis_sequence* sequences,
                                        const int64_t* tokens, const tamis_rows* keys,
                                        const tamis_rows* values, tamis_workspace* workspace);
/* Forgets all tokens from `tokens` on. What is left keeps its bits. */
TAMIS_API tamis_code tamis_cache_truncate(tamis_cache* cache, tamis_sequence sequence, int64_t tokens);
/* Drops this sequence's use of what is stored below `bits` (12 or 8) of the blocks that lie wholly before
 * `tokens`; other sequences that share them keep theirs. Certificates stay true. */
TAMIS_API tamis_code tamis_cache_shed(tamis_cache* cache, tamis_sequence sequence, int32_t bits,
                                      int64_t tokens);

/* Writes a sequence: under a temporary name, then renamed. */
TAMIS_API tamis_code tamis_cache_save(const tamis_cache* cache, tamis_sequence sequence, const char* path);
/* `sequence` must not exist. TAMIS_INPUT, naming the file, if it is not one of a sequence, is damaged, or
 * was saved from heads or options that are not this cache's. */
TAMIS_API tamis_code tamis_cache_load(tamis_cache* cache, tamis_sequence sequence, const char* path);

/* ---- Sparse attention that certifies what it leaves out ---- */

/* Which sequences a step is about, with how many queries each, and what each query sees. */
typedef struct tamis_batch {
  size_t size;
  size_t count;
  const tamis_sequence* sequences; /* count entries */
  const int64_t* queries;          /* count entries, 0 or more each */
  const int64_t* seen; /* one entry per query, sequence after sequence: it sees tokens 0 .. seen - 1. NULL:
                          the last query of a sequence sees all of its tokens, the one before it one less */
} tamis_batch;

/* A batch, checked and cut into pieces of work: made once a step, used for the caches of all layers, which
 * must have as many heads and hold the same sequences at the same lengths. */
typedef struct tamis_plan tamis_plan;
/* TAMIS_USAGE if a sequence is missing, or a query sees more tokens than there are. */
TAMIS_API tamis_code tamis_plan_create(const tamis_cache* cache, const tamis_batch* batch,
                                       tamis_plan** out);
TAMIS_API void tamis_plan_free(tamis_plan* plan);
/* Of all sequences. */
TAMIS_API tamis_code tamis_plan_queries(const tamis_plan* plan, int64_t* queries);

/* Rows of queries, strides in elements: query i of all sequences' queries, head h, channel c is element
 * i * query_stride + h * head_stride + c. */
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
  TAMIS_MET = 0,         /* the budget */
  TAMIS_STORED_BITS = 1, /* a mass budget was not proved: all stored bits were read, and prove tau */
  TAMIS_LOOK_ALONE = 2,  /* what is read whatever the budget exceeds a budget of bytes */
  TAMIS_NOT_FINITE = 3 /* the query or its logits are not finite: output NaN, a certificate of infinities */
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

/* What the result for one query of one head proves. What was read is counted once per KV head and pass:
 * rows that share a KV head share the reading, and each of their certificates holds the same counts. New
 * fields are added at the end: tamis_results says how many bytes of each the caller has. */
typedef struct tamis_certificate {
  double tau;       /* total-variation distance between exact attention and the weights used, at most */
  double error;     /* 2-norm of the output's error, at most */
  double lse_error; /* |lse - exact|, at most */
  tamis_reached reached;
  tamis_why_dense dense;
  tamis_grade grade;
  int32_t reserved;      /* 0 */
  int64_t raw_keys;      /* read as appended */
  int64_t keys[4];       /* coded keys by the deepest plane read; with raw_keys, the keys seen */
  int64_t raw_values;    /* read as appended */
  int64_t centre_values; /* for which their block's mean stands, or nothing where keys are dropped */
  int64_t values[4];     /* coded values by the deepest plane read */
  int64_t bytes;         /* of everything read */
  int64_t dense_bytes;   /* of the keys and values seen, at 16 bits a number */
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
  int32_t look;        /* planes that the first look reads of all keys: 1, 2, or 0 for what prefer says */
  int64_t dense_below; /* queries that see fewer tokens are computed from all that is stored; 0: none */
  double value_share;  /* of a mass budget, for values, relative to their spread; 0: 0.4 */
} tamis_attend_options;

/* Where results go: rows = queries of the plan * query_heads, row i * query_heads + h being query i of
 * head h. */
typedef struct tamis_results {
  size_t size;
  void* out;         /* channel c of query i, head h is element i * query_stride + h * head_stride + c */
  tamis_dtype dtype; /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16; certificates include the rounding to it */
  int32_t reserved;  /* 0 */
  int64_t query_stride;
  int64_t head_stride;
  float* lse;                      /* rows: log of the sum of exp(logit), natural */
  tamis_certificate* certificates; /* rows, each certificate_size bytes after the one before; or NULL */
  size_t certificate_size;         /* sizeof(tamis_certificate) */
} tamis_results;

/* Attention of every query of the plan over its sequence, reading only what the budgets need.
 *   budgets        budget_count entries: 1, for all query heads, or query_heads; heads that share a KV
 *                  head need one kind
 *   options        NULL means the defaults
 * A row that is not finite fails itself and no other. Same bits for any number of threads; a sequence's
 * bits do not depend on the rest of the batch. Allocates nothing once the workspace has seen a call as
 * large. */
TAMIS_API tamis_code tamis_attend(const tamis_cache* cache, const tamis_plan* plan,
                                  const tamis_queries* queries, const tamis_budget* budgets,
                                  size_t budget_count, const tamis_attend_options* options,
                                  tamis_workspace* workspace, const tamis_results* results);

/* ---- Arrays in files ---- */

/* An array: what a tensor is, or is to become. name may be NULL where a file has one array (.npy). */
typedef struct tamis_array {
  const char* name;
  const int64_t* shape; /* rank entries; may be NULL if rank is 0 */
  const void* data;     /* row-major */
  int32_t rank;
  tamis_dtype dtype;
} tamis_array;

/* An array in memory that tamis owns. */
typedef struct tamis_tensor tamis_tensor;
TAMIS_API void tamis_tensor_free(tamis_tensor* tensor);
/* What it holds; all pointers live as long as the tensor. */
TAMIS_API tamis_code tamis_tensor_get(const tamis_tensor* tensor, tamis_array* out);
/* Elements converted: exact for the types that fit, nearest otherwise. count must be the number of
 * elements. */
TAMIS_API tamis_code tamis_tensor_to_f32(const tamis_tensor* tensor, float* out, size_t count);
TAMIS_API tamis_code tamis_tensor_to_f64(const tamis_tensor* tensor, double* out, size_t count);

/* NumPy's .npy. */
TAMIS_API tamis_code tamis_npy_read(const char* path, tamis_tensor** out);
TAMIS_API tamis_code tamis_npy_write(const char* path, const tamis_array* array);

/* A safetensors file, open for reading: the header is checked whole when opened, tensors are read when
 * asked for. Safe to read from many threads. */
typedef struct tamis_safetensors tamis_safetensors;
TAMIS_API tamis_code tamis_safetensors_open(const char* path, tamis_safetensors** out);
TAMIS_API void tamis_safetensors_free(tamis_safetensors* file);
TAMIS_API tamis_code tamis_safetensors_count(const tamis_safetensors* file, size_t* count);
/* Name, type and shape of a tensor, in the order of the data; data is set to NULL. */
TAMIS_API tamis_code tamis_safetensors_at(const tamis_safetensors* file, size_t index, tamis_array* out);
/* TAMIS_INPUT if there is no tensor of that name. */
TAMIS_API tamis_code tamis_safetensors_read(const tamis_safetensors* file, const char* name,
                                            tamis_tensor** out);
/* *value is NULL if the file's metadata has no such key. */
TAMIS_API tamis_code tamis_safetensors_metadata(const tamis_safetensors* file, const char* key,
                                                const char** value);
/* Written under a temporary name, then renamed. metadata: `pairs` keys and values, alternating; may be
 * NULL if pairs is 0. */
TAMIS_API tamis_code tamis_safetensors_write(const char* path, const tamis_array* arrays, size_t count,
                                             const char* const* metadata, size_t pairs);

/* ---- Traces: queries, keys and values captured from a model ---- */

typedef struct tamis_trace tamis_trace;

typedef struct tamis_trace_info {
  size_t size;
  int64_t tokens;
  int64_t queries; /* per head */
  int64_t layers;
  int32_t causal;             /* 1 or 0 */
  int32_t has_rotary;         /* 1 if the three fields below say which rotary embedding was applied */
  double rotary_theta;        /* base of the frequencies */
  int64_t rotary_dims;        /* how many leading dimensions of a head are rotated */
  int32_t rotary_interleaved; /* 1: pairs are (0,1), (2,3), ...; 0: (i, i + dims/2) */
  int32_t reserved;           /* 0 */
} tamis_trace_info;

typedef struct tamis_layer_info {
  size_t size;
  int64_t layer; /* its number in the model */
  tamis_dtype query_dtype;
  int32_t has_weights;
  int32_t has_weight_norms;
  int32_t has_input_bound;
  double input_bound; /* a bound on the entries of the layer's input */
} tamis_layer_info;

TAMIS_API tamis_code tamis_trace_open(const char* path, tamis_trace** out);
TAMIS_API void tamis_trace_free(tamis_trace* trace);
TAMIS_API tamis_code tamis_trace_get_info(const tamis_trace* trace, tamis_trace_info* out);
/* *value is NULL if the trace's metadata has no such key. */
TAMIS_API tamis_code tamis_trace_metadata(const tamis_trace* trace, const char* key, const char** value);
/* Arrays of `queries` entries: each query's place in the text, and how many keys it sees. Either output
 * may be NULL. */
TAMIS_API tamis_code tamis_trace_positions(const tamis_trace* trace, const int64_t** positions,
                                           const int64_t** seen);
/* Layers are counted 0 .. layers - 1 by ascending layer number. Set `size` of both outputs; either may
 * be NULL. */
TAMIS_API tamis_code tamis_trace_layer(const tamis_trace* trace, int64_t index, tamis_layer_info* info,
                                       tamis_shape* shape);

/* The numbers of one layer, checked to be finite. */
typedef struct tamis_layer tamis_layer;
TAMIS_API tamis_code tamis_layer_read(const tamis_trace* trace, int64_t index, tamis_layer** out);
TAMIS_API void tamis_layer_free(tamis_layer* layer);
/* What tamis_dense_arrays takes: q in f32, k and v in the layer's dtype. Any output may be NULL. */
TAMIS_API tamis_code tamis_layer_get(const tamis_layer* layer, const float** q, const void** k,
                                     const void** v);
/* w_q is [query_heads, hidden, head_dim], w_k is [kv_heads, hidden, head_dim]. TAMIS_INPUT unless
 * has_weights. */
TAMIS_API tamis_code tamis_layer_read_weights(const tamis_trace* trace, int64_t index, tamis_tensor** w_q,
                                              tamis_tensor** w_k);
/* `count` must be query_heads. TAMIS_INPUT unless has_weight_norms. */
TAMIS_API tamis_code tamis_layer_read_weight_norms(const tamis_trace* trace, int64_t index, double* out,
                                                   size_t count);

/* ---- Patterns: sparse target matrices ---- */

typedef struct tamis_pattern tamis_pattern;

/* A sparse matrix by rows; columns ascend within a row. */
typedef struct tamis_pattern_view {
  size_t size;
  int64_t rows;
  int64_t cols;
  const int64_t* row_start; /* rows + 1 offsets into column and value */
  const int64_t* column;
  const double* value;
} tamis_pattern_view;

/* Matrix Market, .npy or TREC qrels. */
TAMIS_API tamis_code tamis_pattern_read(const char* path, tamis_pattern** out);
/* A copy. TAMIS_USAGE unless every row has a nonzero, columns ascend and values are positive and finite. */
TAMIS_API tamis_code tamis_pattern_create(const tamis_pattern_view* pattern, tamis_pattern** out);
TAMIS_API void tamis_pattern_free(tamis_pattern* pattern);
TAMIS_API tamis_code tamis_pattern_get(const tamis_pattern* pattern, tamis_pattern_view* out);
/* *name is NULL if the file named none. */
TAMIS_API tamis_code tamis_pattern_row_name(const tamis_pattern* pattern, int64_t row, const char** name);
TAMIS_API tamis_code tamis_pattern_column_name(const tamis_pattern* pattern, int64_t column,
                                               const char** name);
/* Writes Matrix Market. */
TAMIS_API tamis_code tamis_pattern_write(const char* path, const tamis_pattern_view* pattern);

/* ---- Witnesses: queries and keys that produce a pattern; see docs/witness.md and docs/realise.md ---- */

/* What logits L = q.k must do to count as the pattern A, in every row i:
 *   L_ij - L_il < log eps1                   where A_ij = 0 and A_il != 0
 *   |L_ij - L_il - log(A_ij/A_il)| < eps2    where both are nonzero
 * or, if weak, L_ij < L_il where A_ij = 0 and A_il != 0. NULL in place of a pointer to conditions means
 * eps1 = 0.1 and eps2 = 1, neither causal nor weak. */
typedef struct tamis_conditions {
  size_t size;
  double eps1;    /* above 0, below 1 */
  double eps2;    /* above 0 */
  int32_t causal; /* 1: row i sees columns 0 .. i only, and A has no others; 0: it sees all */
  int32_t weak;   /* 1: eps1 and eps2 are not looked at */
} tamis_conditions;

/* q [rows, m] and k [columns, m] with logits q k^T, or x [n, hidden], w_q and w_k [hidden, d] with logits
 * x w_q w_k^T x^T, or both; TAMIS_F32 or TAMIS_F64. */
typedef struct tamis_witness tamis_witness;

/* Copies `count` arrays with names among those above. */
TAMIS_API tamis_code tamis_witness_create(const tamis_array* arrays, size_t count,
                                          const tamis_conditions* made_for, tamis_witness** out);
TAMIS_API tamis_code tamis_witness_read(const char* path, tamis_witness** out);
TAMIS_API void tamis_witness_free(tamis_witness* witness);
/* Written under a temporary name, then renamed. */
TAMIS_API tamis_code tamis_witness_write(const char* path, const tamis_witness* witness);
/* The array of one of the names above; out->data is NULL if the witness does not hold it. */
TAMIS_API tamis_code tamis_witness_get(const tamis_witness* witness, const char* name, tamis_array* out);
/* The conditions that it was made for. */
TAMIS_API tamis_code tamis_witness_conditions(const tamis_witness* witness, tamis_conditions* out);
/* "method", "seed" and whatever else its maker wanted known; *value is NULL if it has no such key. */
TAMIS_API tamis_code tamis_witness_metadata(const tamis_witness* witness, const char* key,
                                            const char** value);

/* Told how much is done, from 0 to total, on the thread that made the call; 0 asks to stop, and the call
 * returns TAMIS_CANCELLED. */
typedef int (*tamis_progress)(void* context, double done, double total);

/* The verdict in one arithmetic. */
typedef struct tamis_checked {
  double margin;     /* the least slack of a condition; above 0 if and only if all hold */
  int64_t worst_row; /* where that is; -1 if no row has a condition */
  int64_t failing_rows;
  int32_t holds;    /* 1 or 0 */
  int32_t reserved; /* 0 */
} tamis_checked;

typedef struct tamis_verification {
  size_t size;
  tamis_checked f32;   /* with logits computed in f32, */
  tamis_checked f64;   /* in f64, */
  tamis_checked exact; /* without rounding: what a claim means */
  double norm_product; /* max |q_i| * max |k_j|, 2-norms; the larger of two forms */
  double max_logit;    /* max |L_ij| over the pairs that are seen */
} tamis_verification;

/* Checks the numbers alone, and never takes the conditions from the witness: what it claims to be made for,
 * tamis_witness_conditions tells, and a claim of eps1 = 0.99999 or of weak ones is easily met. threads = 0
 * takes every core; progress may be NULL. TAMIS_OK whatever the verdict; TAMIS_INPUT if the sizes of
 * pattern and witness differ, or the conditions are causal and the pattern is not. */
TAMIS_API tamis_code tamis_verify(const tamis_pattern* pattern, const tamis_witness* witness,
                                  const tamis_conditions* conditions, int threads, tamis_progress progress,
                                  void* context, tamis_verification* out);

typedef int32_t tamis_method;
enum {
  TAMIS_AUTO = 0,   /* descent, and moment where that may do better */
  TAMIS_JL = 1,     /* the paper's random projection; square patterns */
  TAMIS_MOMENT = 2, /* closed form in 2k dimensions for k nonzeros in a row; large norms */
  TAMIS_DESCENT = 3 /* optimised */
};

/* A field that is 0 takes its default. */
typedef struct tamis_realise_options {
  size_t size;
  int64_t dim; /* columns of q and k; 0: as few as can be verified (jl: as are proved enough, moment: 2k) */
  double max_norm; /* largest norm product to accept; 0: if dim or weak any, else the paper's */
  int64_t hidden;  /* with TAMIS_JL: columns of x, at least 2 dim; 0: without x, w_q and w_k */
  int64_t redraws; /* draws of TAMIS_JL at most; 0: as many as rows */
  int64_t steps;   /* of one descent; 0: 2000, or 1000 above four million pairs of row and column */
  uint64_t seed;
  tamis_method method;
  int32_t threads; /* 0: every core; the result does not depend on it */
} tamis_realise_options;

typedef struct tamis_realisation {
  size_t size;
  double seconds;
  int64_t attempts;    /* one method at one dimension each */
  int64_t redraws;     /* draws that TAMIS_JL looked at */
  int64_t dim;         /* of the witness; 0 if there is none */
  tamis_method method; /* never TAMIS_AUTO if there is one */
  int32_t reserved;    /* 0 */
} tamis_realisation;

/* Looks for a witness, which holds in exact arithmetic or is not handed out: if none was found, the code
 * is TAMIS_OK, *witness NULL and verification all zeros. options may be NULL, as may progress, result
 * and verification. Same seed, same bits, for any number of threads. */
TAMIS_API tamis_code tamis_realise(const tamis_pattern* pattern, const tamis_conditions* conditions,
                                   const tamis_realise_options* options, tamis_progress progress,
                                   void* context, tamis_witness** witness, tamis_realisation* result,
                                   tamis_verification* verification);
/* What is known of norm products without a witness: that of the matrix which the paper projects (0 if
 * weak), and one that no witness goes below (0 where none is known). Either output may be NULL. */
TAMIS_API tamis_code tamis_norm_bounds(const tamis_pattern* pattern, const tamis_conditions* conditions,
                                       double* paper, double* lower);

#ifdef __cplusplus
}
#endif

#endif
