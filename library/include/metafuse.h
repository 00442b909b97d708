#pragma once

/* metafuse.h: learned fusion of ranked lists, for programs in C and for every language that can call C.
 *
 * Runs and judgments in, one fused run, a model or an evaluation out. metafuse/model.h and its neighbours wrap
 * these functions for C++, the Python package for Python.
 *
 * Results. A function that can fail returns METAFUSE_OK or another status; metafuse_last_error() then says in one
 * sentence what was wrong, where, and what to do. What a function makes it writes through its last parameter, which
 * keeps its value when the function fails. No exception leaves the library, and it never prints or exits.
 *
 * Texts are UTF-8 and end with a zero byte. What is passed in is copied. Texts that are returned as `const char*`
 * belong to the handle that they were asked of and live as long as it; `char*` results are freed by
 * metafuse_text_free().
 *
 * Threads. Functions may be called from any number of threads. A handle may be used by several threads at once
 * unless one of them adds to it or frees it. The last error is that of the calling thread.
 *
 * Options are pairs of names and values, as the command line has them without dashes: {"rounds", "100"}. Unknown
 * ones are refused. An options pointer may be NULL when its count is 0. */
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define METAFUSE_EXPORT __attribute__((visibility("default")))
#else
#define METAFUSE_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What kind of failure; from METAFUSE_USAGE on as the exit status of the program metafuse. */
enum metafuse_status {
  METAFUSE_OK = 0,
  METAFUSE_STOPPED = 1,   /* the progress function asked to stop */
  METAFUSE_USAGE = 64,    /* a parameter or an option is wrong */
  METAFUSE_BAD_DATA = 65, /* data do not say what they should */
  METAFUSE_NO_INPUT = 66, /* a file does not exist or cannot be read or written */
  METAFUSE_INTERNAL = 70, /* a mistake of the library's own */
  METAFUSE_TRY_AGAIN = 75 /* memory or disk are full */
};

/* "0.1.0" */
METAFUSE_EXPORT const char* metafuse_version(void);

/* The sentence of the last failure in this thread, "" before the first. Valid until the next failure. */
METAFUSE_EXPORT const char* metafuse_last_error(void);

METAFUSE_EXPORT void metafuse_text_free(char* text);

typedef struct metafuse_option {
  const char* name;
  const char* value;
} metafuse_option;

/* Told how far long work is; a value other than 0 stops it (METAFUSE_STOPPED). Called in the caller's thread. */
typedef int (*metafuse_progress)(void* context, size_t done, size_t total);

/* ---- What there is ---- */

METAFUSE_EXPORT size_t metafuse_method_count(void);
/* NULL beyond the last. */
METAFUSE_EXPORT const char* metafuse_method_name(size_t method);
/* One line for people; NULL beyond the last. */
METAFUSE_EXPORT const char* metafuse_method_meaning(size_t method);

/* A table as JSON, with meanings, sources and options: "methods", "learners" or "measures". */
METAFUSE_EXPORT int metafuse_describe(const char* table, char** json);

/* ---- Runs: for each query a list of documents, best first ---- */

typedef struct metafuse_run metafuse_run;

METAFUSE_EXPORT int metafuse_run_new(const char* name, metafuse_run** run);
/* A TREC run, plain or compressed: FILE, whose tag is the run's name, or NAME=FILE. */
METAFUSE_EXPORT int metafuse_run_read(const char* file, metafuse_run** run);
METAFUSE_EXPORT void metafuse_run_free(metafuse_run* run);

/* Adds the list of a query that the run does not have yet.
 * scores: higher is better, finite; the list is ordered by them and equal ones stay in the order given. NULL: the
 * list is in order, best first. A document may stand in it once. */
METAFUSE_EXPORT int metafuse_run_add(metafuse_run* run, const char* query, const char* const* documents,
                                     const double* scores, size_t count);
/* Adds rows of a table in any order, of queries that the run does not have yet. Within a query they are ordered by
 * score, then by rank, then by document. Either scores or ranks (1 is best) may be NULL. */
METAFUSE_EXPORT int metafuse_run_add_rows(metafuse_run* run, const char* const* queries,
                                          const char* const* documents, const double* scores,
                                          const int64_t* ranks, size_t count);
/* As a TREC run: query Q0 document rank score name. */
METAFUSE_EXPORT int metafuse_run_write(const metafuse_run* run, const char* file);

METAFUSE_EXPORT const char* metafuse_run_name(const metafuse_run* run);
METAFUSE_EXPORT size_t metafuse_run_query_count(const metafuse_run* run);
/* Queries ascend bytewise. NULL (0 for a size) beyond the last query or document, here and below. */
METAFUSE_EXPORT const char* metafuse_run_query(const metafuse_run* run, size_t query);
METAFUSE_EXPORT size_t metafuse_run_size(const metafuse_run* run, size_t query);
METAFUSE_EXPORT const char* metafuse_run_document(const metafuse_run* run, size_t query, size_t position);
METAFUSE_EXPORT double metafuse_run_score(const metafuse_run* run, size_t query, size_t position);

/* ---- Judgments: a grade for documents of queries; above 0 is relevant ---- */

typedef struct metafuse_qrels metafuse_qrels;

METAFUSE_EXPORT int metafuse_qrels_new(metafuse_qrels** qrels);
/* A TREC qrels file, plain or compressed. */
METAFUSE_EXPORT int metafuse_qrels_read(const char* file, metafuse_qrels** qrels);
METAFUSE_EXPORT void metafuse_qrels_free(metafuse_qrels* qrels);
/* Adds rows in any order, of queries that have no judgment yet; a document may be judged once per query. */
METAFUSE_EXPORT int metafuse_qrels_add_rows(metafuse_qrels* qrels, const char* const* queries,
                                            const char* const* documents, const int32_t* grades,
                                            size_t count);

/* ---- Fusing ---- */

/* A list of one query, best first: its order counts, whatever the scores say. */
typedef struct metafuse_list {
  const char* name; /* by which a model knows it; unique */
  const char* const* documents;
  const double* scores; /* finite, or NULL when there are none */
  size_t count;
} metafuse_list;

/* Fuses lists of one query, as POST /v1/fuse does. The result is a run with one query, "". A document that stands
 * twice in a list counts by its better rank. Equal scores are ordered by best rank, then by the order in which the
 * lists first name the documents.
 * method: "rrf", ...; options: k, normalise, weights (one per list, with commas), limit. */
METAFUSE_EXPORT int metafuse_fuse_lists(const metafuse_list* lists, size_t count, const char* method,
                                        const metafuse_option* options, size_t option_count,
                                        metafuse_run** fused);
/* Fuses runs query by query, as `metafuse fuse` does: equal scores are ordered by how many runs hold the document,
 * then by best rank, then by document.
 * train: judgments for methods that learn, NULL for the others; options: also depth, threads, tag (the result's
 * name), relevance-level. */
METAFUSE_EXPORT int metafuse_fuse_runs(const metafuse_run* const* runs, size_t count, const char* method,
                                       const metafuse_qrels* train, const metafuse_option* options,
                                       size_t option_count, metafuse_run** fused);

/* ---- Models ---- */

typedef struct metafuse_model metafuse_model;

METAFUSE_EXPORT int metafuse_model_read(const char* file, metafuse_model** model);
/* The text of a model file. */
METAFUSE_EXPORT int metafuse_model_parse(const char* text, metafuse_model** model);
METAFUSE_EXPORT int metafuse_model_write(const metafuse_model* model, const char* file);
METAFUSE_EXPORT int metafuse_model_text(const metafuse_model* model, char** text);
/* The model for people: its weak rankings, or what else it consists of. */
METAFUSE_EXPORT int metafuse_model_show(const metafuse_model* model, char** text);
METAFUSE_EXPORT void metafuse_model_free(metafuse_model* model);
METAFUSE_EXPORT const char* metafuse_model_learner(const metafuse_model* model);
/* The lists (runs) that it fuses. */
METAFUSE_EXPORT size_t metafuse_model_list_count(const metafuse_model* model);
METAFUSE_EXPORT const char* metafuse_model_list_name(const metafuse_model* model, size_t list);

/* As metafuse_fuse_lists, by the model, which finds lists by name: one that is missing leaves its documents
 * unranked, another name is refused. options: limit. */
METAFUSE_EXPORT int metafuse_model_fuse_lists(const metafuse_model* model, const metafuse_list* lists,
                                              size_t count, const metafuse_option* options,
                                              size_t option_count, metafuse_run** fused);
/* As metafuse_fuse_runs. options: limit, threads, tag, missing (refuse or unranked). */
METAFUSE_EXPORT int metafuse_model_fuse_runs(const metafuse_model* model, const metafuse_run* const* runs,
                                             size_t count, const metafuse_option* options,
                                             size_t option_count, metafuse_run** fused);
/* Why a document stands where it stands: {"document","score","features":[{"feature","rank","weight"}]}, where the
 * weights add up to the score. "features" is empty when the model is no sum over features. */
METAFUSE_EXPORT int metafuse_model_explain(const metafuse_model* model, const metafuse_list* lists,
                                           size_t count, const char* document, char** json);

/* ---- Training ---- */

/* Learns from judged runs; the runs' names are the model's lists.
 * learner: "auto", "rankboost", ...; validate: judgments of other queries of the same runs for learners that stop
 * early, or NULL; options: the learner's own, and depth, derive, feedback, relevance-level, unjudged,
 * negative-grades, query-weights, grade-weights, seed, threads, metric, patience; progress: may be NULL. */
METAFUSE_EXPORT int metafuse_train(const metafuse_run* const* runs, size_t count, const metafuse_qrels* qrels,
                                   const metafuse_qrels* validate, const char* learner,
                                   const metafuse_option* options, size_t option_count,
                                   metafuse_progress progress, void* context, metafuse_model** model);
/* Trains and tests by folds of the queries. options: as metafuse_train, and folds; a report as JSON. */
METAFUSE_EXPORT int metafuse_cross_validate(const metafuse_run* const* runs, size_t count,
                                            const metafuse_qrels* qrels, const char* learner,
                                            const metafuse_option* options, size_t option_count,
                                            metafuse_progress progress, void* context, char** json);

/* ---- Evaluation ---- */

typedef struct metafuse_evaluation metafuse_evaluation;

/* Evaluates a run as trec_eval does.
 * measures: "map,P_10,ndcg_cut_10", or a set such as "official"; options: mode, relevance-level, complete (yes or
 * no), judged-only (yes or no), depth, threads. */
METAFUSE_EXPORT int metafuse_evaluate(const metafuse_run* run, const metafuse_qrels* qrels,
                                      const char* measures, const metafuse_option* options,
                                      size_t option_count, metafuse_evaluation** evaluation);
METAFUSE_EXPORT void metafuse_evaluation_free(metafuse_evaluation* evaluation);
METAFUSE_EXPORT size_t metafuse_evaluation_query_count(const metafuse_evaluation* evaluation);
METAFUSE_EXPORT const char* metafuse_evaluation_query(const metafuse_evaluation* evaluation, size_t query);
METAFUSE_EXPORT size_t metafuse_evaluation_measure_count(const metafuse_evaluation* evaluation);
METAFUSE_EXPORT const char* metafuse_evaluation_measure(const metafuse_evaluation* evaluation,
                                                        size_t measure);
/* Queries x measures, row by row. */
METAFUSE_EXPORT const double* metafuse_evaluation_values(const metafuse_evaluation* evaluation);
/* One value per measure: its mean over the queries, or its sum where it is a count. */
METAFUSE_EXPORT const double* metafuse_evaluation_summary(const metafuse_evaluation* evaluation);

/* Evaluates several runs and tests every other one against a baseline.
 * options: as metafuse_evaluate, and baseline (a run's name; none: no test), test (t, wilcoxon, randomisation),
 * seed, per-query (yes or no), format (json, table, markdown, latex, csv, html). */
METAFUSE_EXPORT int metafuse_compare(const metafuse_run* const* runs, size_t count,
                                     const metafuse_qrels* qrels, const char* measures,
                                     const metafuse_option* options, size_t option_count, char** report);
/* Every fusion method, and learners by cross-validation, side by side on the same judged queries.
 * options: as metafuse_compare, and methods, learners (names with commas, "none"), derive, folds, limit (how far down fused
 * lists are judged); depth is that of the lists. */
METAFUSE_EXPORT int metafuse_compare_methods(const metafuse_run* const* runs, size_t count,
                                             const metafuse_qrels* qrels, const char* measures,
                                             const metafuse_option* options, size_t option_count,
                                             metafuse_progress progress, void* context, char** report);

#ifdef __cplusplus
}
#endif
