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

/* "0.1.0". Lives for ever, as do all strings of this section. */
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

/* ---- A store of keys and values, for those who have no paged cache ---- */

typedef struct tamis_kv tamis_kv;

typedef struct tamis_kv_info {
  size_t size;
  int64_t tokens;
  int64_t kv_heads;
  int64_t head_dim;
  int64_t value_dim;
  tamis_dtype dtype;
  size_t bytes; /* of memory held */
} tamis_kv_info;

/* dtype is TAMIS_F32, TAMIS_F16 or TAMIS_BF16; kv_heads is at most 2^20. */
TAMIS_API tamis_code tamis_kv_create(tamis_dtype dtype, int64_t kv_heads, int64_t head_dim,
                                     int64_t value_dim, tamis_kv** out);
TAMIS_API tamis_code tamis_kv_copy(const tamis_kv* kv, tamis_kv** out);
TAMIS_API void tamis_kv_free(tamis_kv* kv);
/* k is [kv_heads, new_tokens, head_dim], v is [kv_heads, new_tokens, value_dim]. Rounds to the store's
 * dtype. TAMIS_INPUT, leaving the store as it was, for NaN, infinity, or overflow of the dtype. */
TAMIS_API tamis_code tamis_kv_append_f32(tamis_kv* kv, const float* k, const float* v, int64_t new_tokens);
/* The same from arrays in the store's dtype. */
TAMIS_API tamis_code tamis_kv_append(tamis_kv* kv, const void* k, const void* v, int64_t new_tokens);
/* Forgets all tokens from `tokens` on. */
TAMIS_API tamis_code tamis_kv_truncate(tamis_kv* kv, int64_t tokens);
TAMIS_API tamis_code tamis_kv_get_info(const tamis_kv* kv, tamis_kv_info* out);
/* Fills one entry per KV head: what tamis_dense reads. `count` must be kv_heads. The entries are valid
 * until the next append, truncate or free. */
TAMIS_API tamis_code tamis_kv_get_pages(const tamis_kv* kv, tamis_kv_pages* out, size_t count);

/* ---- Budgets: how much sparse attention may read ---- */

typedef int32_t tamis_budget_kind;
enum {
  TAMIS_MASS = 0,  /* eps: read until the certified tau is at most eps; dense where that is cheaper */
  TAMIS_BYTES = 1, /* share: read at most this share of what dense attention reads */
  TAMIS_TOPK = 2,  /* k: read as many bytes as k exact keys per query */
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

/* ---- The index: what sparse attention reads in place of most keys and values ---- */

/* Belongs to keys and values that the caller keeps: every call is given their pages again. Whole blocks
 * of 128 tokens are indexed; attention reads the tokens after them exactly.
 *
 * What an index proves holds for the tokens that it was made of, and pages do not tell whether they still
 * hold these: where other tokens take the place of indexed ones (after tamis_kv_truncate too), it is the
 * caller's duty to call tamis_index_truncate with the number of tokens that are still the same, and then
 * tamis_index_extend. Without it certificates are false. */
typedef struct tamis_index tamis_index;

typedef struct tamis_index_shape {
  size_t size;
  int64_t kv_heads;  /* at most 2^20 */
  int64_t head_dim;  /* 1 to 1024 */
  int64_t value_dim; /* 1 to 1024 */
  int64_t sinks;     /* the first tokens, always read exactly: 0 to 128; 4 serves most models */
  tamis_dtype dtype; /* of keys and values: TAMIS_F32, TAMIS_F16 or TAMIS_BF16 */
  int32_t no_values; /* 1: keep no 4-bit values, for a smaller index; 0: keep them */
} tamis_index_shape;

typedef struct tamis_index_info {
  size_t size;
  int64_t tokens; /* indexed: a multiple of 128 */
  size_t bytes;   /* of codes, norms and parameters for them */
  int64_t kv_heads;
  int64_t head_dim;
  int64_t value_dim;
  int64_t sinks;
  tamis_dtype dtype;
  int32_t no_values;
} tamis_index_info;

TAMIS_API tamis_code tamis_index_create(const tamis_index_shape* shape, tamis_index** out);
TAMIS_API tamis_code tamis_index_copy(const tamis_index* index, tamis_index** out);
TAMIS_API void tamis_index_free(tamis_index* index);
/* Indexes the whole blocks that kv holds beyond those already indexed: call it after appending one token
 * or many. `count` must be the index's kv_heads; all entries have as many tokens. TAMIS_INPUT, leaving
 * the index as it was, if a key or value is NaN or infinite. Reads each new key and value once. */
TAMIS_API tamis_code tamis_index_extend(tamis_index* index, const tamis_kv_pages* kv, size_t count,
                                        tamis_workspace* workspace);
/* Forgets tokens from `tokens` on; at most 127 tokens before it are indexed again by the next extend.
 * Needed before other keys take the place of indexed ones. */
TAMIS_API tamis_code tamis_index_truncate(tamis_index* index, int64_t tokens);
TAMIS_API tamis_code tamis_index_get_info(const tamis_index* index, tamis_index_info* out);
/* Writes the index and a hash of the keys and values it was built from, which kv must hold; see
 * docs/index.md. Written under a temporary name, then renamed. */
TAMIS_API tamis_code tamis_index_save(const tamis_index* index, const char* path, const tamis_kv_pages* kv,
                                      size_t count);
/* dtype is that of the keys and values at the `count` entries of kv. TAMIS_INPUT, naming the file, if it
 * is not an index, is damaged, or belongs to other keys and values. */
TAMIS_API tamis_code tamis_index_load(const char* path, tamis_dtype dtype, const tamis_kv_pages* kv,
                                      size_t count, tamis_index** out);

/* ---- Sparse attention that certifies what it leaves out ---- */

typedef int32_t tamis_grade;
enum {
  TAMIS_PROVED = 0 /* the bounds hold: deterministic, rounding included */
};

/* What the result for one query of one head proves. What was read is counted once per KV head and step:
 * queries that share a KV head share the reading, and each of their certificates holds the same counts. */
typedef struct tamis_certificate {
  double tau;       /* total-variation distance between exact and used weights, at most */
  double error;     /* 2-norm of the output's error, at most */
  double lse_error; /* |lse - exact|, at most */
  tamis_grade grade;
  int32_t dense;         /* 1: every key and value was read; out and lse are the bits of tamis_dense */
  int64_t coarse_keys;   /* keys by the finest mesh at which they were read: 4 bits per channel, */
  int64_t middle_keys;   /* 8 bits per channel, */
  int64_t exact_keys;    /* as stored; the three add up to the keys seen */
  int64_t middle_values; /* values read in 4 bits per channel */
  int64_t exact_values;  /* values read as stored */
  int64_t coarse_bytes;  /* codes, norms and block parameters included */
  int64_t middle_bytes;
  int64_t exact_bytes;
  int64_t reserved[4]; /* 0 */
} tamis_certificate;

/* A field that is 0 takes its default. For checks, weights may be a matrix of rows x weights_cols: row r
 * receives the weight used for each key that it sees, all divided by one number of the row's own. */
typedef struct tamis_sieve_options {
  size_t size;
  int32_t no_ladder; /* 1: drop the keys that are not read exactly; 0: use what their codes say */
  int32_t
      fewest_bytes; /* 1: meet a budget of mass by reading as little as possible; 0: as soon as possible */
  int64_t dense_below;  /* queries that see fewer keys are computed densely; 0: 1024; 1: none are */
  float* weights;       /* NULL: not wanted */
  int64_t weights_cols; /* at least as many as the most keys seen */
} tamis_sieve_options;

/* Attention of every query, reading only what the budget of its head needs.
 *   shape, q, kv, seen, out, lse   as for tamis_dense
 *   budgets        budget_count entries: 1, for all query heads, or query_heads; heads that share a KV
 *                  head need one kind
 *   options        NULL means the defaults
 *   certificates   rows entries, or NULL
 * index must have been extended over kv; blocks that it lacks are read exactly. A query that sees no key
 * gives out = 0, lse = -inf and a certificate of zeros. With more than 16 rows per KV head every query is
 * computed as by tamis_dense. Same bits for any number of threads, and whatever the workspace did before.
 * Allocates nothing once the workspace has seen a call as large. */
TAMIS_API tamis_code tamis_attend(const tamis_index* index, const tamis_shape* shape, const float* q,
                                  const tamis_kv_pages* kv, const int64_t* seen,
                                  const tamis_budget* budgets, size_t budget_count,
                                  const tamis_sieve_options* options, tamis_workspace* workspace,
                                  float* out, float* lse, tamis_certificate* certificates);

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
