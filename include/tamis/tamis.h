/* The C ABI of the engine, in C99. The binary form of the two C ABIs, this one and that of the lab
 * in tamis_lab.h, is stable: it only grows, as said below. That of the C++ interfaces is not.
 *
 * Names: functions are called tamis_<thing>_<verb>. A type tamis_x is made by tamis_x_create,
 * _open, _read or _copy and destroyed by tamis_x_free. Freeing NULL does nothing.
 *
 * Errors: functions that can fail return a tamis_code, which is 0 for success. After a failure,
 * tamis_last_error() returns one sentence for the calling thread. The outputs of a failed call are
 * unspecified, except that a handle that was to be created is set to NULL. No call prints, aborts,
 * exits or lets a C++ exception out. A null pointer or an impossible size gives TAMIS_USAGE. The
 * library cannot check that a pointer that is not null refers to as much memory as it should.
 *
 * Ownership: the caller owns what it passes in and must keep it unchanged during the call. Pointers
 * that come out of a handle belong to the handle. They stay valid as long as the function that
 * returned them says, otherwise as long as the handle. Strings are UTF-8 and end in a zero byte.
 *
 * Threads: different handles are independent. Functions that take a handle as a pointer to const
 * may run concurrently on the same handle. A tamis_workspace serves one call at a time; a call that
 * finds it in use by another thread returns TAMIS_USAGE.
 *
 * Growth: structs that begin with `size` may get more fields at the end. Set `size` to the sizeof
 * of the struct before every call. Fields that an older caller does not have take the defaults
 * stated here. Structs without `size` never change.
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
  TAMIS_INPUT = 2,     /* a file or a tensor is invalid, or cannot be opened */
  TAMIS_IO = 3,        /* the system failed: disk full, a write refused */
  TAMIS_CANCELLED = 4, /* a progress callback asked to stop */
  TAMIS_INTERNAL = 5   /* a defect of tamis, or memory is exhausted */
};

/* Describes the last failed call of the calling thread; "" if no call of this thread has failed.
 * The string is valid until the next failing call of the same thread, or until the thread ends. */
TAMIS_API const char* tamis_last_error(void);

/* ---- What this build is ---- */

/* The version of the library, such as "0.2.0". All strings of this section stay valid for the life
 * of the process. */
TAMIS_API const char* tamis_version(void);
/* The number of compiled targets. A target is a set of kernels for one instruction set; targets are
 * listed slowest first. */
TAMIS_API size_t tamis_target_count(void);
/* The name of a target. *runs_here is set to 1 if this CPU can run it, else to 0. Either output may
 * be NULL. */
TAMIS_API tamis_code tamis_target_at(size_t index, const char** name, int* runs_here);
/* The target in use. It is chosen once per process; the environment variable TAMIS_TARGET forces a
 * choice. TAMIS_USAGE if that variable names no target, or one that this CPU cannot run. */
TAMIS_API tamis_code tamis_target(const char** name);
/* The number of cores that this process may use. */
TAMIS_API int tamis_hardware_threads(void);
/* The threads that calls use when they are given no executor: "threads" for the library's own, or
 * "executor" for the one set by tamis_set_default_executor. */
TAMIS_API const char* tamis_parallel_runtime(void);
/* Libraries that are linked or compiled in, as "name version". */
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

/* The size of one element in bytes. */
TAMIS_API tamis_code tamis_dtype_size(tamis_dtype dtype, int64_t* bytes);
/* "f16", "bf16", ... The string stays valid for the life of the process. */
TAMIS_API tamis_code tamis_dtype_name(tamis_dtype dtype, const char** name);
/* 16-bit floats are passed as their bits. Conversion to float is exact; conversion from float
 * rounds to nearest, ties to even. */
TAMIS_API float tamis_f16_to_float(uint16_t bits);
TAMIS_API float tamis_bf16_to_float(uint16_t bits);
TAMIS_API uint16_t tamis_f16_from_float(float x);
TAMIS_API uint16_t tamis_bf16_from_float(float x);

/* ---- Threads ---- */

/* Threads that the caller lends to the library. Both functions may be called from several threads
 * at once. */
typedef struct tamis_executor {
  size_t size;
  void* context; /* passed to both functions */
  /* The number of workers that can run at once, including the calling thread; at least 1. */
  int (*concurrency)(void* context);
  /* Calls body(work, 0) on the calling thread and body(work, w) for 0 < w < workers on any other
   * threads, each at most once. Returns when every body that has begun has ended. The workers share
   * one list of items, and worker 0 does whatever the others leave, so the others may start late or
   * not at all. */
  void (*run)(void* context, int workers, void* work, void (*body)(void* work, int worker));
} tamis_executor;

/* Makes calls that begin from now on use `executor` instead of the library's own threads; NULL goes
 * back to the library's own. The struct is copied. What it points to must stay valid until another
 * executor has been set and the calls that use this one have returned, otherwise for the life of
 * the process. The library's own threads, one per core, are started when first needed and sleep
 * soon after their work is done. */
TAMIS_API tamis_code tamis_set_default_executor(const tamis_executor* executor);

/* ---- Scratch memory ---- */

/* Scratch memory and a number of threads. The memory grows to the needs of the largest call so far
 * and is kept. */
typedef struct tamis_workspace tamis_workspace;
/* Makes a workspace on the default executor. threads = 0 uses all of it, which is every core that
 * this process may use. Results do not depend on the number of threads. */
TAMIS_API tamis_code tamis_workspace_create(int threads, tamis_workspace** out);
/* Makes a workspace on the caller's threads. The struct is copied; what it points to must outlive
 * the workspace. */
TAMIS_API tamis_code tamis_workspace_create_on(int threads, const tamis_executor* executor,
                                               tamis_workspace** out);
TAMIS_API void tamis_workspace_free(tamis_workspace* workspace);
TAMIS_API tamis_code tamis_workspace_threads(const tamis_workspace* workspace, int* threads);

/* ---- Attention ---- */

/* The number of tokens in a page of keys and values. */
#define TAMIS_PAGE_TOKENS 128

/* The sizes that all heads of a call share. Query head h reads KV head
 * h * kv_heads / query_heads. */
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

/* Keys and values of one KV head. The key of token t is row t % 128 of page t / 128. Nothing here
 * records the element type: calls trust shape.dtype. */
typedef struct tamis_kv_pages {
  const void* const* k; /* ceil(tokens / 128) addresses */
  const void* const* v; /* the same number of addresses */
  int64_t tokens;
  int64_t k_stride; /* elements from one token's key to the next, within a page */
  int64_t v_stride; /* the same for values */
} tamis_kv_pages;

/* Computes the attention of every query, in f32. With rows = query_heads * queries:
 *   q     rows x head_dim; row h * queries + i is query i of head h
 *   kv    kv_heads entries
 *   seen  queries entries: query i attends to keys 0 .. seen[i] - 1 of its head; NULL means all.
 *         Causal attention of a query at position p has seen = p + 1.
 *   out   rows x value_dim
 *   lse   rows values: the natural logarithm of the sum of exp(logit)
 * A query that sees no key gives out = 0 and lse = -inf. Returns TAMIS_INPUT, naming the row, if a
 * logit or an output is not finite. The result is bit-identical for any number of threads.
 * Allocates nothing once the workspace has served a call of the same shape. */
TAMIS_API tamis_code tamis_dense(const tamis_shape* shape, const float* q, const tamis_kv_pages* kv,
                                 const int64_t* seen, tamis_workspace* workspace, float* out,
                                 float* lse);
/* tamis_dense over contiguous arrays: k is [kv_heads, tokens, head_dim] and v is
 * [kv_heads, tokens, value_dim], both of type shape->dtype. Allocates two pointers per page for the
 * duration of the call. */
TAMIS_API tamis_code tamis_dense_arrays(const tamis_shape* shape, const float* q, const void* k,
                                        const void* v, int64_t tokens, const int64_t* seen,
                                        tamis_workspace* workspace, float* out, float* lse);
/* The same attention in f64 and plain loops. It is slow and serves as a reference. */
TAMIS_API tamis_code tamis_reference(const tamis_shape* shape, const float* q,
                                     const tamis_kv_pages* kv, const int64_t* seen, double* out,
                                     double* lse);

/* The definitions of the paper (Likhosherstov, Choromanski and Weller, equations (1) to (3)) in
 * f64. x is n x d_hid; w_q, w_k and w_v are d_hid x d. The outputs of usam and sam and of the
 * causal cusam and csam are n x n; those of sa and csa are n x d. Each takes O(n * n * d) time. */
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

/* Softmax states: attention over a part of the keys, before the final division, so that parts can
 * be merged. For each row, m is the largest logit, l the sum of exp(logit - m), and o the sum of
 * exp(logit - m) * v. m is stored in units of log 2. A row without keys has m = -inf, l = 0 and
 * o = 0. */
typedef struct tamis_states {
  float* m; /* rows */
  float* l; /* rows */
  float* o; /* rows x value_dim */
} tamis_states;

/* tamis_dense without the final division. */
TAMIS_API tamis_code tamis_dense_states(const tamis_shape* shape, const float* q,
                                        const tamis_kv_pages* kv, const int64_t* seen,
                                        tamis_workspace* workspace, const tamis_states* states);
/* Merges `from` into `into`, which becomes the state of both sets of keys together. The two sets of
 * keys must be disjoint. */
TAMIS_API tamis_code tamis_merge(int64_t rows, int64_t value_dim, const tamis_states* into,
                                 const tamis_states* from);
/* Computes out = o / l (rows x value_dim) and lse = log l + m log 2 (rows). A row without keys
 * gives out = 0 and lse = -inf. TAMIS_INPUT if a row of the result is not finite. */
TAMIS_API tamis_code tamis_finish(int64_t rows, int64_t value_dim, const tamis_states* states,
                                  float* out, float* lse);

/* Upper bounds on the distance of one query's f32 attention from exact attention, which
 * docs/rounding.md derives. */
typedef struct tamis_rounding {
  size_t size;
  double tau;   /* total-variation distance between the exact weights and those used */
  double error; /* 2-norm of the output's error */
  double lse;   /* |lse - exact| */
} tamis_rounding;

/* Requires query_norm = |q|, and key_norm >= |k_j| and value_norm >= |v_j| for every key seen, all
 * in the 2-norm. `keys` is the number of keys seen. */
TAMIS_API tamis_code tamis_attention_rounding(const tamis_shape* shape, int64_t keys,
                                              double query_norm, double key_norm, double value_norm,
                                              tamis_rounding* out);

/* ---- Budgets: how much sparse attention may read ---- */

/* The kinds of budgets, with the fields that each uses. Under every budget raw tokens are read
 * exactly and a first look reads a plane or two of all keys. */
typedef int32_t tamis_budget_kind;
enum {
  /* eps: read until the certified tau is at most eps, or everything is read */
  TAMIS_MASS = 0,
  /* share: read at most this share of the bytes that dense attention reads */
  TAMIS_BYTES = 1,
  /* k: use the k coded keys whose stored bits give the largest weights, drop the others */
  TAMIS_TOPK = 2,
  /* alpha, exponent: as topk with k = ceil(alpha * n^exponent) for a query that sees n keys */
  TAMIS_POWER = 3,
  /* window, sinks: read the last `window` and the first `sinks` keys, drop the rest */
  TAMIS_WINDOW = 4
};

/* A budget. Only the fields that its kind names are used. */
typedef struct tamis_budget {
  tamis_budget_kind kind;
  int32_t reserved; /* 0 */
  double eps;       /* above 0, below 1 */
  double share;     /* above 0, at most 1 */
  double alpha;     /* above 0 */
  double exponent;  /* 0 to 1 */
  int64_t k;        /* at least 1; dense if it is at least the number of keys */
  int64_t window;   /* at least 1 */
  int64_t sinks;    /* at least 0 */
} tamis_budget;

/* Reads "mass:0.05", "bytes:0.25", "topk:64", "power:2,0.5" or "window:256,4" and sets the fields
 * of other kinds to 0. Otherwise returns TAMIS_USAGE, with a message that lists the valid forms or
 * names the number that is out of range. */
TAMIS_API tamis_code tamis_budget_parse(const char* text, tamis_budget* out);
/* Enough bytes for the text of any budget, including the zero byte. */
#define TAMIS_BUDGET_TEXT 64
/* Writes text that tamis_budget_parse reads back to the same numbers. `out` has room for `capacity`
 * bytes; TAMIS_USAGE if they are too few. */
TAMIS_API tamis_code tamis_budget_to_text(const tamis_budget* budget, char* out, size_t capacity);

/* ---- The cache: keys and values of many sequences, in planes of 4 bits ---- */

/* The keys and values of one layer, stored once, so that attention can read each at the precision
 * that a query needs. A cache holds any number of sequences of any lengths. The caller chooses
 * their names, which are the same numbers in the caches of all layers.
 *
 * A number is stored as planes of 4 bits, the highest bits first. 128 consecutive tokens of a
 * sequence are coded together as a block; "raw" tokens are kept in the dtype of the cache instead.
 *
 * A call that changes a sequence must not overlap with any other call on that sequence. Calls on
 * different sequences may run at once on different threads, and so may tamis_cache_fork from one
 * sequence into several others. A call that fails leaves the cache as it was. The same calls in the
 * same order give the same bits. */
typedef struct tamis_cache tamis_cache;

/* The caller's name for a sequence. */
typedef uint64_t tamis_sequence;

/* The sizes that the attention heads of a layer have in common. Query head h reads KV head
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

/* An allocator that the caller provides. Several threads may call both functions at once. */
typedef struct tamis_memory {
  size_t size;
  void* context; /* passed to both functions */
  /* Returns at least `bytes` bytes, aligned to 4,096, zeroed or not; NULL if no memory is left. */
  void* (*allocate)(void* context, size_t bytes);
  /* Takes back what allocate(context, bytes) returned. */
  void (*release)(void* context, void* memory, size_t bytes);
} tamis_memory;

/* How a cache stores its tokens. A field that is 0 takes its default, except dtype. */
typedef struct tamis_cache_options {
  size_t size;
  /* Bits per number of a coded key or value: 16, 12 or 8; 0 means 12. With 12 bits, mass budgets of
   * 2 % and more are nearly always proved; 16 bits are for smaller budgets. */
  int32_t bits;
  /* Type of raw tokens: TAMIS_F32, TAMIS_F16 or TAMIS_BF16. Appended numbers must fit this
   * type without rounding. */
  tamis_dtype dtype;
  /* The first tokens of a sequence, which are always read exactly: 1 to 128; 0 means 4, -1 none. */
  int64_t sinks;
  /* A sequence is kept raw until it has this many tokens; 0 means 1024, -1 never. */
  int64_t raw_below;
  /* The most bytes that the cache may take; 0 means no limit. */
  size_t capacity;
  /* NULL means the system's allocator. The struct is copied, but what it points to must outlive
   * the cache. */
  const tamis_memory* memory;
} tamis_cache_options;

typedef struct tamis_cache_info {
  size_t size;
  int64_t sequences;
  size_t bytes;      /* taken from the allocator, and the lists kept beside it */
  size_t free_bytes; /* the part of `bytes` that no sequence uses at present */
} tamis_cache_info;

/* options may be NULL, which means the defaults, with raw tokens in bf16. */
TAMIS_API tamis_code tamis_cache_create(const tamis_heads* heads,
                                        const tamis_cache_options* options, tamis_cache** out);
TAMIS_API void tamis_cache_free(tamis_cache* cache);
TAMIS_API tamis_code tamis_cache_get_info(const tamis_cache* cache, tamis_cache_info* out);

/* Adds an empty sequence. TAMIS_USAGE if a sequence of this name exists. */
TAMIS_API tamis_code tamis_cache_add(tamis_cache* cache, tamis_sequence sequence);
/* Creates `to`, which must not exist, with the first `tokens` tokens of `from`. Both share the
 * memory of these tokens. */
TAMIS_API tamis_code tamis_cache_fork(tamis_cache* cache, tamis_sequence from, int64_t tokens,
                                      tamis_sequence to);
TAMIS_API tamis_code tamis_cache_remove(tamis_cache* cache, tamis_sequence sequence);
/* Sets *contains to 1 or 0. */
TAMIS_API tamis_code tamis_cache_contains(const tamis_cache* cache, tamis_sequence sequence,
                                          int* contains);
TAMIS_API tamis_code tamis_cache_tokens(const tamis_cache* cache, tamis_sequence sequence,
                                        int64_t* tokens);

/* Rows of keys or values; strides are in elements. Channel c of KV head h of row t of the s-th
 * sequence of a call is element
 * s * sequence_stride + t * token_stride + h * head_stride + c * channel_stride.
 * With a sequence_stride of 0 the rows of all sequences follow each other: row t of sequence s is
 * then row (tokens of the sequences before s) + t. */
typedef struct tamis_rows {
  size_t size;
  const void* data;
  tamis_dtype dtype; /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16 */
  int32_t reserved;  /* 0 */
  int64_t token_stride;
  int64_t head_stride;
  int64_t channel_stride; /* 0 means 1 */
  int64_t sequence_stride;
} tamis_rows;

/* Appends tokens[s] tokens to sequences[s], for s = 0 .. count - 1. The sequences must exist and
 * differ. Returns TAMIS_INPUT, naming sequence, token, head and channel, for a number that is not
 * finite; TAMIS_USAGE if the dtype of the rows does not fit that of the cache without rounding; and
 * TAMIS_INTERNAL if memory or the capacity is exhausted. */
TAMIS_API tamis_code tamis_cache_append(tamis_cache* cache, size_t count,
                                        const tamis_sequence* sequences, const int64_t* tokens,
                                        const tamis_rows* keys, const tamis_rows* values,
                                        tamis_workspace* workspace);
/* Removes all tokens from number `tokens` on. The others keep their bits. */
TAMIS_API tamis_code tamis_cache_truncate(tamis_cache* cache, tamis_sequence sequence,
                                          int64_t tokens);
/* Lets this sequence give up the planes below `bits` (12 or 8) of the blocks that lie wholly before
 * `tokens`. Other sequences that share these planes keep them. Certificates stay true. */
TAMIS_API tamis_code tamis_cache_shed(tamis_cache* cache, tamis_sequence sequence, int32_t bits,
                                      int64_t tokens);

/* Writes a sequence to a file, under a temporary name that is then renamed. */
TAMIS_API tamis_code tamis_cache_save(const tamis_cache* cache, tamis_sequence sequence,
                                      const char* path);
/* Reads a sequence from a file; `sequence` must not exist. Returns TAMIS_INPUT, naming the file, if
 * it does not hold a sequence, is damaged, or comes from a cache with other heads or options. */
TAMIS_API tamis_code tamis_cache_load(tamis_cache* cache, tamis_sequence sequence,
                                      const char* path);

/* ---- Sparse attention that certifies what it leaves out ---- */

/* The sequences of one step, the number of queries of each, and what each query sees. */
typedef struct tamis_batch {
  size_t size;
  size_t count;
  const tamis_sequence* sequences; /* count entries */
  const int64_t* queries;          /* count entries, 0 or more each */
  /* One entry per query, sequence after sequence: the query sees tokens 0 .. seen - 1. NULL means
   * that a sequence's last query sees all tokens, the one before it one less, and so on. */
  const int64_t* seen;
} tamis_batch;

/* A batch that was checked and divided into work items. Make it once per step and use it for the
 * caches of all layers, which must have the same numbers of heads and hold the same sequences at
 * the same lengths. */
typedef struct tamis_plan tamis_plan;
/* TAMIS_USAGE if a sequence is missing, or a query sees more tokens than there are. */
TAMIS_API tamis_code tamis_plan_create(const tamis_cache* cache, const tamis_batch* batch,
                                       tamis_plan** out);
TAMIS_API void tamis_plan_free(tamis_plan* plan);
/* The number of queries of all sequences together. */
TAMIS_API tamis_code tamis_plan_queries(const tamis_plan* plan, int64_t* queries);

/* Rows of queries; strides are in elements. Channel c of head h of query i, counted over all
 * sequences, is element i * query_stride + h * head_stride + c. */
typedef struct tamis_queries {
  size_t size;
  const void* data;
  tamis_dtype dtype; /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16 */
  int32_t reserved;  /* 0 */
  int64_t query_stride;
  int64_t head_stride;
} tamis_queries;

/* Whether a row met its budget, and if not, why. */
typedef int32_t tamis_reached;
enum {
  /* The budget is met. */
  TAMIS_MET = 0,
  /* A mass budget could not be proved. All stored bits were read, and they prove the tau given. */
  TAMIS_STORED_BITS = 1,
  /* A budget of bytes is exceeded by what is read under every budget: the first look, raw tokens,
   * or everything where attention is dense. */
  TAMIS_LOOK_ALONE = 2,
  /* The query or its logits are not finite. The output is NaN and the bounds are infinite. */
  TAMIS_NOT_FINITE = 3
};
/* Describes a result in words. TAMIS_USAGE if there is no such result. The string stays valid for
 * the life of the process. */
TAMIS_API tamis_code tamis_reached_words(tamis_reached reached, const char** words);

/* Why attention was dense, which means that everything stored was read. */
typedef int32_t tamis_why_dense;
enum {
  TAMIS_SPARSE = 0,         /* it was not dense */
  TAMIS_SHORT_SEQUENCE = 1, /* fewer tokens than dense_below, or all of them raw */
  TAMIS_PREFILL = 2,        /* more than 64 rows per KV head */
  TAMIS_WIDE = 3            /* the bounds are too wide for sparse reading to prove anything */
};
/* Describes a reason in words, like tamis_reached_words. */
TAMIS_API tamis_code tamis_dense_words(tamis_why_dense dense, const char** words);

/* How certain the bounds of a certificate are. */
typedef int32_t tamis_grade;
enum {
  TAMIS_PROVED = 0 /* the bounds hold deterministically, rounding included */
};

/* What the result for one query of one head proves. Keys, values and bytes are counted once per KV
 * head and pass: rows that share a KV head share the reading, and each of their certificates holds
 * the same counts. Later versions may add fields at the end; tamis_results.certificate_size states
 * the size that the caller uses. */
typedef struct tamis_certificate {
  /* Upper bound on the total-variation distance between the exact weights and those used. */
  double tau;
  double error;     /* upper bound on the 2-norm of the output's error */
  double lse_error; /* upper bound on |lse - exact| */
  tamis_reached reached;
  tamis_why_dense dense;
  tamis_grade grade;
  int32_t reserved;   /* 0 */
  int64_t raw_keys;   /* keys read as they were appended */
  int64_t keys[4];    /* coded keys by the deepest plane read; with raw_keys, all keys seen */
  int64_t raw_values; /* values read as they were appended */
  /* Values that were not read. The mean of their block stands in for them, or nothing where their
   * keys are dropped. */
  int64_t centre_values;
  int64_t values[4];   /* coded values by the deepest plane read */
  int64_t bytes;       /* everything read, block headers included */
  int64_t dense_bytes; /* size of the keys and values seen, at 16 bits a number */
} tamis_certificate;

/* What to save where there is a choice. */
typedef int32_t tamis_prefer;
enum {
  /* The first look reads one plane of every key. */
  TAMIS_PREFER_BYTES = 0,
  /* For mass budgets the first look reads two planes of every key. That reads more bytes, but fewer
   * keys must be read again. */
  TAMIS_PREFER_TIME = 1
};

/* Options of tamis_attend. A field that is 0 takes its default. */
typedef struct tamis_attend_options {
  size_t size;
  tamis_prefer prefer;
  /* Planes that the first look reads of all keys: 1 or 2; 0 lets `prefer` decide. Budgets of the
   * kinds topk, power and window always use 1. */
  int32_t look;
  /* Queries that see fewer tokens are computed from everything stored; 0 means none. */
  int64_t dense_below;
  /* Share of a mass budget that unread bits of values may add to the output's error, relative to
   * the spread of the values; 0 means 0.4. */
  double value_share;
} tamis_attend_options;

/* Where results go. With rows = queries of the plan * query_heads, row i * query_heads + h is query
 * i of head h. */
typedef struct tamis_results {
  size_t size;
  void* out; /* channel c of query i, head h is element i * query_stride + h * head_stride + c */
  /* TAMIS_F32, TAMIS_F16 or TAMIS_BF16; certificates include the rounding to it. */
  tamis_dtype dtype;
  int32_t reserved; /* 0 */
  int64_t query_stride;
  int64_t head_stride;
  float* lse; /* rows values: the natural logarithm of the sum of exp(logit) */
  /* One certificate per row, certificate_size bytes apart; or NULL. */
  tamis_certificate* certificates;
  size_t certificate_size; /* sizeof(tamis_certificate) */
} tamis_results;

/* Computes the attention of every query of the plan over its sequence and reads only what the
 * budgets need. There is either 1 budget for all query heads, or one for each query head
 * (budget_count = query_heads); heads that share a KV head need budgets of one kind. options may be
 * NULL, which means the defaults. A row that is not finite does not affect other rows. The result
 * is bit-identical for any number of threads, and that of a sequence does not depend on the rest of
 * the batch. Allocates nothing once the workspace has served a call as large. */
TAMIS_API tamis_code tamis_attend(const tamis_cache* cache, const tamis_plan* plan,
                                  const tamis_queries* queries, const tamis_budget* budgets,
                                  size_t budget_count, const tamis_attend_options* options,
                                  tamis_workspace* workspace, const tamis_results* results);

#ifdef __cplusplus
}
#endif

#endif
