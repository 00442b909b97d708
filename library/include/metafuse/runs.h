#pragma once

// Runs and judgments: the input of fusing, training and evaluation.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <metafuse/error.h>

namespace metafuse {
inline namespace library_0 {

struct Scored {
  std::string_view document;  ///< lives as long as the run
  double score = 0.0;
};

/// For each query, a list of documents, best first.
class Run {
 public:
  explicit Run(const std::string& name) {
    metafuse_run* run = nullptr;
    detail::check(metafuse_run_new(name.c_str(), &run));
    handle_.reset(run);
  }
  explicit Run(metafuse_run* owned) : handle_(owned) {}

  /// in: file - a TREC run, FILE or NAME=FILE; without NAME, the run is named after its tag
  static Run read(const std::string& file) {
    metafuse_run* run = nullptr;
    detail::check(metafuse_run_read(file.c_str(), &run));
    return Run(run);
  }
  void write(const std::string& file) const { detail::check(metafuse_run_write(handle(), file.c_str())); }

  /// Adds the list of a query that is not yet in the run.
  /// in: scores - one per document, which determine the order; empty: the documents are already in order,
  ///     best first
  void add(const std::string& query, const std::vector<std::string>& documents,
           const std::vector<double>& scores = {}) {
    if (!scores.empty() && scores.size() != documents.size())
      throw Error(METAFUSE_USAGE, "give one score per document, or none");
    std::vector<const char*> ids;
    for (const std::string& document : documents) ids.push_back(document.c_str());
    detail::check(metafuse_run_add(handle(), query.c_str(), ids.data(),
                                   scores.empty() ? nullptr : scores.data(), ids.size()));
  }

  std::string name() const { return metafuse_run_name(handle()); }
  std::size_t query_count() const { return metafuse_run_query_count(handle()); }
  /// Queries are in ascending byte order. Requires query < query_count().
  std::string_view query(std::size_t query) const { return metafuse_run_query(handle(), query); }
  std::vector<Scored> list(std::size_t query) const {
    std::vector<Scored> out(metafuse_run_size(handle(), query));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = {metafuse_run_document(handle(), query, i), metafuse_run_score(handle(), query, i)};
    return out;
  }

  metafuse_run* handle() { return handle_.get(); }
  const metafuse_run* handle() const { return handle_.get(); }

 private:
  detail::Owned<metafuse_run> handle_;
};

/// The grades of each query's documents; a grade above 0 means relevant.
class Qrels {
 public:
  Qrels() {
    metafuse_qrels* qrels = nullptr;
    detail::check(metafuse_qrels_new(&qrels));
    handle_.reset(qrels);
  }
  static Qrels read(const std::string& file) {
    Qrels out;
    metafuse_qrels* qrels = nullptr;
    detail::check(metafuse_qrels_read(file.c_str(), &qrels));
    out.handle_.reset(qrels);
    return out;
  }
  /// Adds the judgments of a query that has none yet.
  /// in: grades - one per document
  void add(const std::string& query, const std::vector<std::string>& documents,
           const std::vector<std::int32_t>& grades) {
    if (grades.size() != documents.size()) throw Error(METAFUSE_USAGE, "give one grade per document");
    const std::vector<const char*> queries(documents.size(), query.c_str());
    std::vector<const char*> ids;
    for (const std::string& document : documents) ids.push_back(document.c_str());
    detail::check(metafuse_qrels_add_rows(handle(), queries.data(), ids.data(), grades.data(), ids.size()));
  }

  metafuse_qrels* handle() { return handle_.get(); }
  const metafuse_qrels* handle() const { return handle_.get(); }

 private:
  detail::Owned<metafuse_qrels> handle_;
};

namespace detail {

inline std::vector<const metafuse_run*> handles_of(const std::vector<Run>& runs) {
  std::vector<const metafuse_run*> out;
  for (const Run& run : runs) out.push_back(run.handle());
  return out;
}

}  // namespace detail
}  // namespace library_0
}  // namespace metafuse
