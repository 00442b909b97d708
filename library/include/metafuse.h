#pragma once

/* metafuse.h: learned fusion of ranked lists, for programs in C and for every language that can call C.
 *
 * The input is runs and judgments; the output is a fused run, a model or an evaluation. metafuse/model.h and the
 * headers beside it wrap these functions for C++, the Python package wraps them for Python.
 *
 * Results. A function that can fail returns METAFUSE_OK or another status; metafuse_last_error() then says in one
 * sentence what was wrong, where, and what to do. A function writes its result through its last parameter, which is
 * left unchanged when the function fails. No exception leaves the library, and it never prints or exits.
 *
 * Texts are UTF-8 and end with a zero byte. Texts passed in are copied. A returned `const char*` belongs to the handle
 * that it was read from and lives as long as that handle; a `char*` result must be freed with
 * metafuse_text_free().
 *
 * Threads. Functions may be called from any number of threads. Several threads may use a handle at once, unless one of
 * them adds to it or frees it. Each thread has its own last error.
 *
 * Options are pairs of a name and a value, named as on the command line but without dashes: {"rounds", "100"}. Unknown
 * options are refused. An options pointer may be NULL if its count is 0. */
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

/* The kind of failure. Values from METAFUSE_USAGE on equal the exit statuses of the program metafuse. */
enum metafuse_status {
  METAFUSE_OK = 0,
  METAFUSE_STOPPED = 1,   /* the progress function asked to stop */
  METAFUSE_USAGE = 64,    /* a parameter or an option is wrong */
  METAFUSE_BAD_DATA = 65, /* the data are malformed or inconsistent */
  METAFUSE_NO_INPUT = 66, /* a file does not exist or cannot be read or written */
  METAFUSE_INTERNAL = 70, /* a bug in the library */
  METAFUSE_TRY_AGAIN = 75 /* memory or disk is full */
};

/* The version, such as "0.1.0". */
METAFUSE_EXPORT const char* metafuse_version(void);

/* The message of this thread's last failure, "" if there was none. Valid until its next failure. */
METAFUSE_EXPORT const char* metafuse_last_error(void);

METAFUSE_EXPORT void metafuse_text_free(char* text);

typedef struct metafuse_option {
  const char* name;
  const char* value;
} metafuse_option;

/* Reports the progress of long work; a return value other than 0 stops it (METAFUSE_STOPPED). Called in the caller's
 * thread. */
typedef int (*metafuse_progress)(void* context, size_t done, size_t total);

/* ---- Methods, learners and measures ---- */

METAFUSE_EXPORT size_t metafuse_method_count(void);
/* NULL for a number beyond the last method. */
METAFUSE_EXPORT const char* metafuse_method_name(size_t method);
/* A one-line description; NULL for a number beyond the last method. */
METAFUSE_EXPORT const char* metafuse_method_meaning(size_t method);

/* A table as JSON, with meanings, sources and options: "methods", "learners" or "measures". */
METAFUSE_EXPORT int metafuse_describe(const char* table, char** json);

/* ---- Runs: for each query a list of documents, best first ---- */

typedef struct metafuse_run metafuse_run;

METAFUSE_EXPORT int metafuse_run_new(const char* name, metafuse_run** run);
/* Reads a TREC run, plain or compressed, from FILE (its tag becomes the run's name) or NAME=FILE. */
METAFUSE_EXPORT int metafuse_run_read(const char* file, metafuse_run** run);
METAFUSE_EXPORT void metafuse_run_free(metafuse_run* run);

/* Adds the list of a query that is not yet in the run. A document may occur in it only once.
 * scores: finite, higher is better; they determine the order, and equal scores keep the order given. NULL: the
 * documents are already in order, best first. */
METAFUSE_EXPORT int metafuse_run_add(metafuse_run* run, const char* query, const char* const* documents,
                                     const double* scores, size_t count);
/* Adds table rows in any order, for queries that are not yet in the run. Within a query, rows are ordered by score,
 * then by rank, then by document. Either scores or ranks (1 is best) may be NULL. */
METAFUSE_EXPORT int metafuse_run_add_rows(metafuse_run* run, const char* const* queries,
                                          const char* const* documents, const double* scores,
                                          const int64_t* ranks, size_t count);
/* Writes a TREC run: query Q0 document rank score name. */
METAFUSE_EXPORT int metafuse_run_write(const metafuse_run* run, const char* file);

METAFUSE_EXPORT const char* metafuse_run_name(const metafuse_run* run);
METAFUSE_EXPORT size_t metafuse_run_query_count(const metafuse_run* run);
/* Queries are in ascending byte order. Here and below, a number beyond the last query or document gives NULL, or a size
 * of 0. */
METAFUSE_EXPORT const char* metafuse_run_query(const metafuse_run* run, size_t query);
METAFUSE_EXPORT size_t metafuse_run_size(const metafuse_run* run, size_t query);
METAFUSE_EXPORT const char* metafuse_run_document(const metafuse_run* run, size_t query, size_t position);
METAFUSE_EXPORT double metafuse_run_score(const metafuse_run* run, size_t query, size_t position);

/* ---- Judgments: the grades of a query's documents; a grade above 0 means relevant ---- */

typedef struct metafuse_qrels metafuse_qrels;

METAFUSE_EXPORT int metafuse_qrels_new(metafuse_qrels** qrels);
/* Reads a TREC qrels file, plain or compressed. */
METAFUSE_EXPORT int metafuse_qrels_read(const char* file, metafuse_qrels** qrels);
METAFUSE_EXPORT void metafuse_qrels_free(metafuse_qrels* qrels);
/* Adds rows in any order, for queries that have no judgments yet; each document may be judged once per query. */
METAFUSE_EXPORT int metafuse_qrels_add_rows(metafuse_qrels* qrels, const char* const* queries,
                                            const char* const* documents, const int32_t* grades,
                                            size_t count);

/* ---- Fusing ---- */

/* A list of one query, best first. Its order determines the ranks, even if the scores disagree. */
typedef struct metafuse_list {
  const char* name; /* unique; a model finds its lists by name */
  const char* const* documents;
  const double* scores; /* finite; NULL if there are none */
  size_t count;
} metafuse_list;

/* Fuses the lists of one query, as POST /v1/fuse does. The result is a run with a single query, "". A document that
 * occurs twice in a list counts at its better rank. Equal scores are ordered by best rank, then by the order in which
 * the lists first name the documents.
 * method: "rrf", ...; options: k, normalise, weights (one per list, separated by commas), limit. */
METAFUSE_EXPORT int metafuse_fuse_lists(const metafuse_list* lists, size_t count, const char* method,
                                        const metafuse_option* options, size_t option_count,
                                        metafuse_run** fused);
/* Fuses runs query by query, as `metafuse fuse` does. Equal scores are ordered by the number of runs that contain the
 * document, then by best rank, then by document.
 * train: judgments for methods that learn, NULL for the others; options: as metafuse_fuse_lists, and depth, threads,
 * tag (the name of the result), relevance-level. */
METAFUSE_EXPORT int metafuse_fuse_runs(const metafuse_run* const* runs, size_t count, const char* method,
                                       const metafuse_qrels* train, const metafuse_option* options,
                                       size_t option_count, metafuse_run** fused);

/* ---- Models ---- */

typedef struct metafuse_model metafuse_model;

METAFUSE_EXPORT int metafuse_model_read(const char* file, metafuse_model** model);
/* Parses the text of a model file. */
METAFUSE_EXPORT int metafuse_model_parse(const char* text, metafuse_model** model);
METAFUSE_EXPORT int metafuse_model_write(const metafuse_model* model, const char* file);
METAFUSE_EXPORT int metafuse_model_text(const metafuse_model* model, char** text);
/* A readable description of the model: its weak rankings, or whatever else it consists of. */
METAFUSE_EXPORT int metafuse_model_show(const metafuse_model* model, char** text);
METAFUSE_EXPORT void metafuse_model_free(metafuse_model* model);
METAFUSE_EXPORT const char* metafuse_model_learner(const metafuse_model* model);
/* The names of the lists (runs) that the model fuses. */
METAFUSE_EXPORT size_t metafuse_model_list_count(const metafuse_model* model);
METAFUSE_EXPORT const char* metafuse_model_list_name(const metafuse_model* model, size_t list);

/* Fuses lists as metafuse_fuse_lists does, but by the model, which finds its lists by name. A missing list leaves its
 * documents unranked; a list that the model does not know is refused. options: limit. */
METAFUSE_EXPORT int metafuse_model_fuse_lists(const metafuse_model* model, const metafuse_list* lists,
                                              size_t count, const metafuse_option* options,
                                              size_t option_count, metafuse_run** fused);
/* Fuses runs as metafuse_fuse_runs does, but by the model. options: limit, threads, tag, missing (refuse, unranked). */
METAFUSE_EXPORT int metafuse_model_fuse_runs(const metafuse_model* model, const metafuse_run* const* runs,
                                             size_t count, const metafuse_option* options,
                                             size_t option_count, metafuse_run** fused);
/* Explains a document's score: {"document","score","features":[{"feature","rank","weight"}]}, where the weights add up
 * to the score. "features" is empty if the model is not a sum over features. */
METAFUSE_EXPORT int metafuse_model_explain(const metafuse_model* model, const metafuse_list* lists,
                                           size_t count, const char* document, char** json);

/* ---- Training ---- */

/* Trains a model on judged runs; the names of the runs become the model's lists.
 * learner: "auto", "rankboost", ...; validate: judgments of other queries of the same runs, for learners that stop
 * early, or NULL; options: the learner's own, and depth, derive, feedback, relevance-level, unjudged,
 * negative-grades, query-weights, grade-weights, seed, threads, metric, patience; progress: may be NULL. */
METAFUSE_EXPORT int metafuse_train(const metafuse_run* const* runs, size_t count, const metafuse_qrels* qrels,
                                   const metafuse_qrels* validate, const char* learner,
                                   const metafuse_option* options, size_t option_count,
                                   metafuse_progress progress, void* context, metafuse_model** model);
/* Cross-validates a learner over folds of the queries. options: as metafuse_train but patience,
 * and folds. The report is JSON. */
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
/* A matrix of queries x measures, row by row. */
METAFUSE_EXPORT const double* metafuse_evaluation_values(const metafuse_evaluation* evaluation);
/* One value per measure: the mean over the queries, or the sum for a count. */
METAFUSE_EXPORT const double* metafuse_evaluation_summary(const metafuse_evaluation* evaluation);

/* Evaluates several runs and tests each against a baseline.
 * options: as metafuse_evaluate, and baseline (the name of a run; without it nothing is tested), test (t, wilcoxon,
 * randomisation), seed, per-query (yes or no), format (json, table, markdown, latex, csv, html). */
METAFUSE_EXPORT int metafuse_compare(const metafuse_run* const* runs, size_t count,
                                     const metafuse_qrels* qrels, const char* measures,
                                     const metafuse_option* options, size_t option_count, char** report);
/* Compares all fusion methods, and learners by cross-validation, on the same judged queries.
 * options: as metafuse_compare, and methods, learners (names separated by commas, or "none"), derive, folds, limit (how
 * many documents of a fused list are evaluated); depth is that of the input lists. */
METAFUSE_EXPORT int metafuse_compare_methods(const metafuse_run* const* runs, size_t count,
                                             const metafuse_qrels* qrels, const char* measures,
                                             const metafuse_option* options, size_t option_count,
                                             metafuse_progress progress, void* context, char** report);

#ifdef __cplusplus
}
#endif
