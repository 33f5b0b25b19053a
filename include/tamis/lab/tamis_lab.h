/* The C ABI of libtamis-lab: files of arrays, traces, profiles, patterns and witnesses. C99. Its
 * binary form is stable in the same sense as that of tamis.h: structs that begin with `size` grow
 * at the end, and nothing else changes. The conventions on names, errors, ownership and threads are
 * those of tamis.h too, and tamis_last_error also describes failures of these functions. */
#ifndef TAMIS_LAB_TAMIS_LAB_H
#define TAMIS_LAB_TAMIS_LAB_H

#include <tamis/tamis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- What this build is ---- */

/* Libraries that only the lab is linked with, as "name version". The strings live until exit. */
TAMIS_API size_t tamis_lab_library_count(void);
TAMIS_API tamis_code tamis_lab_library_at(size_t index, const char** name_and_version);

/* ---- Arrays in files ---- */

/* Describes an array: the contents of a tensor, or data to be written. name may be NULL for files
 * that hold one array (.npy). */
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
/* Describes the contents of a tensor. All pointers live as long as the tensor. */
TAMIS_API tamis_code tamis_tensor_get(const tamis_tensor* tensor, tamis_array* out);
/* The elements converted to float or double: exact for the types that fit, rounded to nearest
 * otherwise. count must be the number of elements. */
TAMIS_API tamis_code tamis_tensor_to_f32(const tamis_tensor* tensor, float* out, size_t count);
TAMIS_API tamis_code tamis_tensor_to_f64(const tamis_tensor* tensor, double* out, size_t count);

/* Read and write NumPy's .npy. */
TAMIS_API tamis_code tamis_npy_read(const char* path, tamis_tensor** out);
TAMIS_API tamis_code tamis_npy_write(const char* path, const tamis_array* array);

/* A safetensors file that is open for reading. The whole header is checked when the file is opened;
 * tensors are read on demand. Safe to use from many threads. */
typedef struct tamis_safetensors tamis_safetensors;
TAMIS_API tamis_code tamis_safetensors_open(const char* path, tamis_safetensors** out);
TAMIS_API void tamis_safetensors_free(tamis_safetensors* file);
TAMIS_API tamis_code tamis_safetensors_count(const tamis_safetensors* file, size_t* count);
/* Name, type and shape of a tensor, in the order of the data; data is set to NULL. */
TAMIS_API tamis_code tamis_safetensors_at(const tamis_safetensors* file, size_t index,
                                          tamis_array* out);
/* TAMIS_INPUT if there is no tensor of that name. */
TAMIS_API tamis_code tamis_safetensors_read(const tamis_safetensors* file, const char* name,
                                            tamis_tensor** out);
/* *value is NULL if the file's metadata has no such key. */
TAMIS_API tamis_code tamis_safetensors_metadata(const tamis_safetensors* file, const char* key,
                                                const char** value);
/* Writes under a temporary name, then renames. metadata holds `pairs` keys and values, alternating;
 * it may be NULL if pairs is 0. */
TAMIS_API tamis_code tamis_safetensors_write(const char* path, const tamis_array* arrays,
                                             size_t count, const char* const* metadata,
                                             size_t pairs);

/* ---- Traces: queries, keys and values captured from a model ---- */

typedef struct tamis_trace tamis_trace;

typedef struct tamis_trace_info {
  size_t size;
  int64_t tokens;
  int64_t queries; /* per head */
  int64_t layers;
  int32_t causal;             /* 1 or 0 */
  int32_t has_rotary;         /* 1: the three fields below give the rotary embedding of q and k */
  double rotary_theta;        /* base of the frequencies */
  int64_t rotary_dims;        /* how many leading dimensions of a head are rotated */
  int32_t rotary_interleaved; /* 1: rotated pairs are (0,1), (2,3), ...; 0: (i, i + dims/2) */
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
TAMIS_API tamis_code tamis_trace_metadata(const tamis_trace* trace, const char* key,
                                          const char** value);
/* Arrays of `queries` entries: the position of each query in the text, and the number of keys that
 * it sees. Either output may be NULL. */
TAMIS_API tamis_code tamis_trace_positions(const tamis_trace* trace, const int64_t** positions,
                                           const int64_t** seen);
/* `index` counts the layers 0 .. layers - 1 by ascending layer number. Set `size` of both outputs;
 * either may be NULL. */
TAMIS_API tamis_code tamis_trace_layer(const tamis_trace* trace, int64_t index,
                                       tamis_layer_info* info, tamis_shape* shape);

/* The queries, keys and values of one layer. All elements are finite. */
typedef struct tamis_layer tamis_layer;
TAMIS_API tamis_code tamis_layer_read(const tamis_trace* trace, int64_t index, tamis_layer** out);
TAMIS_API void tamis_layer_free(tamis_layer* layer);
/* The arrays in the form that tamis_dense_arrays takes: q in f32, k and v in the layer's dtype. Any
 * output may be NULL. */
TAMIS_API tamis_code tamis_layer_get(const tamis_layer* layer, const float** q, const void** k,
                                     const void** v);
/* TAMIS_INPUT unless has_weights. w_q is [query_heads, hidden, head_dim], and w_k is [kv_heads,
 * hidden, head_dim]. */
TAMIS_API tamis_code tamis_layer_read_weights(const tamis_trace* trace, int64_t index,
                                              tamis_tensor** w_q, tamis_tensor** w_k);
/* `count` must be query_heads. TAMIS_INPUT unless has_weight_norms. */
TAMIS_API tamis_code tamis_layer_read_weight_norms(const tamis_trace* trace, int64_t index,
                                                   double* out, size_t count);

/* ---- Budgets from a profile ---- */

/* The budgets that a profile of a model recommends for its heads. */
typedef struct tamis_profile tamis_profile;

typedef struct tamis_head_budget {
  int64_t layer;
  int64_t head;
  tamis_budget budget;
} tamis_head_budget;

/* Reads {"heads": [{"layer": L, "head": H, "budget": "power:2,0.5"}, ...]}. Other members are
 * ignored, so a file may hold more. */
TAMIS_API tamis_code tamis_profile_read(const char* path, tamis_profile** out);
TAMIS_API void tamis_profile_free(tamis_profile* profile);
/* An array of `count` entries in the order of the file. */
TAMIS_API tamis_code tamis_profile_budgets(const tamis_profile* profile,
                                           const tamis_head_budget** budgets, size_t* count);

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

/* Reads Matrix Market, .npy or TREC qrels. */
TAMIS_API tamis_code tamis_pattern_read(const char* path, tamis_pattern** out);
/* Copies the arrays. TAMIS_USAGE unless every row has a nonzero, columns ascend and values are
 * positive and finite. */
TAMIS_API tamis_code tamis_pattern_create(const tamis_pattern_view* pattern, tamis_pattern** out);
TAMIS_API void tamis_pattern_free(tamis_pattern* pattern);
TAMIS_API tamis_code tamis_pattern_get(const tamis_pattern* pattern, tamis_pattern_view* out);
/* *name is NULL if the pattern has no names. */
TAMIS_API tamis_code tamis_pattern_row_name(const tamis_pattern* pattern, int64_t row,
                                            const char** name);
TAMIS_API tamis_code tamis_pattern_column_name(const tamis_pattern* pattern, int64_t column,
                                               const char** name);
/* Writes Matrix Market. */
TAMIS_API tamis_code tamis_pattern_write(const char* path, const tamis_pattern_view* pattern);

/* ---- Witnesses (docs/witness.md), and how they are found (docs/realise.md) ---- */

/* The conditions under which logits L = q.k produce the pattern A. In every row i:
 *   L_ij - L_il < log eps1                   where A_ij = 0 and A_il != 0
 *   |L_ij - L_il - log(A_ij/A_il)| < eps2    where both are nonzero
 * or, if weak, only L_ij < L_il where A_ij = 0 and A_il != 0. Functions that take a pointer to
 * conditions accept NULL for eps1 = 0.1 and eps2 = 1, neither causal nor weak. */
typedef struct tamis_conditions {
  size_t size;
  double eps1;    /* above 0, below 1 */
  double eps2;    /* above 0 */
  int32_t causal; /* 1: row i sees columns 0 .. i only, and A has no others; 0: all columns */
  int32_t weak;   /* 1: the weak condition; eps1 and eps2 are ignored */
} tamis_conditions;

/* A witness holds the arrays q [rows, m] and k [columns, m] with logits q k^T, or x [n, hidden],
 * w_q and w_k [hidden, d] with logits x w_q w_k^T x^T, or both. They are TAMIS_F32 or TAMIS_F64. */
typedef struct tamis_witness tamis_witness;

/* Copies `count` arrays, whose names must be among those above. */
TAMIS_API tamis_code tamis_witness_create(const tamis_array* arrays, size_t count,
                                          const tamis_conditions* made_for, tamis_witness** out);
TAMIS_API tamis_code tamis_witness_read(const char* path, tamis_witness** out);
TAMIS_API void tamis_witness_free(tamis_witness* witness);
/* Writes under a temporary name, then renames. */
TAMIS_API tamis_code tamis_witness_write(const char* path, const tamis_witness* witness);
/* The array of one of the names above; out->data is NULL if the witness does not hold it. */
TAMIS_API tamis_code tamis_witness_get(const tamis_witness* witness, const char* name,
                                       tamis_array* out);
/* The conditions that the witness claims to meet. */
TAMIS_API tamis_code tamis_witness_conditions(const tamis_witness* witness, tamis_conditions* out);
/* Notes of the program that made the witness, such as "method" and "seed". *value is NULL if there
 * is no such key. */
TAMIS_API tamis_code tamis_witness_metadata(const tamis_witness* witness, const char* key,
                                            const char** value);

/* A callback that receives how much is done, from 0 to total, on the thread that made the call. If
 * it returns 0, the call stops and returns TAMIS_CANCELLED. */
typedef int (*tamis_progress)(void* context, double done, double total);

/* The verdict in one arithmetic. */
typedef struct tamis_checked {
  double margin;     /* the smallest slack of a condition; above 0 if and only if all hold */
  int64_t worst_row; /* the row of this margin; -1 if no row has a condition */
  int64_t failing_rows;
  int32_t holds;    /* 1 or 0 */
  int32_t reserved; /* 0 */
} tamis_checked;

typedef struct tamis_verification {
  size_t size;
  tamis_checked f32;   /* with logits computed in f32 */
  tamis_checked f64;   /* with logits computed in f64 */
  tamis_checked exact; /* with exact logits, which is what a claim means */
  double norm_product; /* max |q_i| * max |k_j|, 2-norms; of two forms, the larger product */
  double max_logit;    /* max |L_ij|, over j <= i only if causal */
} tamis_verification;

/* Checks the numbers of a witness against a pattern. The conditions are never taken from the
 * witness, because its claim (tamis_witness_conditions) may be easy to meet, such as eps1 = 0.99999
 * or weak conditions. threads = 0 takes every core; progress may be NULL. Returns TAMIS_OK whatever
 * the verdict; TAMIS_INPUT if the sizes of pattern and witness differ, or if the conditions are
 * causal and the pattern is not. */
TAMIS_API tamis_code tamis_verify(const tamis_pattern* pattern, const tamis_witness* witness,
                                  const tamis_conditions* conditions, int threads,
                                  tamis_progress progress, void* context, tamis_verification* out);

typedef int32_t tamis_method;
enum {
  /* Descent; from dimension 2k on, where descent found nothing, also moment and a descent from its
   * points; up to 4k, where the norm product has no limit, moment in any case. A search for the
   * fewest columns of a square pattern ends with jl, in as many columns as rows, if nothing else
   * succeeded. */
  TAMIS_AUTO = 0,
  TAMIS_JL = 1,     /* the paper's random projection; square patterns */
  TAMIS_MOMENT = 2, /* closed form in 2k dimensions for k nonzeros in a row; large norms */
  TAMIS_DESCENT = 3 /* optimised queries and keys; any dimension */
};

/* A field that is 0 takes its default. */
typedef struct tamis_realise_options {
  size_t size;
  int64_t dim;     /* columns of q and k; 0: the fewest that can be verified (TAMIS_JL: a number
                      that is proved to suffice, TAMIS_MOMENT: 2k) */
  double max_norm; /* largest norm product to accept; 0: any if dim is set or the conditions are
                      weak, else that of the paper's construction */
  int64_t hidden;  /* with TAMIS_JL: columns of x, at least 2 dim; 0: no x, w_q and w_k */
  int64_t redraws; /* at most this many draws of TAMIS_JL; 0: as many as rows */
  int64_t steps;   /* of one descent; 0: 2000, or 1000 if rows * columns exceeds 2^22 */
  uint64_t seed;
  tamis_method method;
  int32_t threads; /* 0: every core; the result does not depend on it */
} tamis_realise_options;

typedef struct tamis_realisation {
  size_t size;
  double seconds;
  int64_t attempts;    /* each is one method at one dimension */
  int64_t redraws;     /* draws that TAMIS_JL tried */
  int64_t dim;         /* of the witness; 0 if there is none */
  tamis_method method; /* never TAMIS_AUTO if there is a witness */
  int32_t reserved;    /* 0 */
} tamis_realisation;

/* Looks for a witness. One is returned only if it holds in exact arithmetic. If none was found, the
 * code is TAMIS_OK, *witness is NULL and verification is all zeros. options, progress, result and
 * verification may be NULL. The same seed gives the same bits for any number of threads. */
TAMIS_API tamis_code tamis_realise(const tamis_pattern* pattern, const tamis_conditions* conditions,
                                   const tamis_realise_options* options, tamis_progress progress,
                                   void* context, tamis_witness** witness,
                                   tamis_realisation* result, tamis_verification* verification);
/* Bounds on norm products that need no witness. *paper is the norm product of the matrices that the
 * paper projects (0 if weak); no witness has a norm product below *lower (0 if no bound is known).
 * Either output may be NULL. */
TAMIS_API tamis_code tamis_norm_bounds(const tamis_pattern* pattern,
                                       const tamis_conditions* conditions, double* paper,
                                       double* lower);

#ifdef __cplusplus
}
#endif

#endif
