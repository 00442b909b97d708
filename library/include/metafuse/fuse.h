#pragma once

// Fuses lists and runs by methods that need no model.

#include <string>
#include <vector>

#include <metafuse/runs.h>

namespace metafuse {
inline namespace library_0 {

/// A list of one query, best first. Its order determines the ranks, even if the scores disagree.
struct List {
  std::string name;
  std::vector<std::string> documents;
  std::vector<double> scores;  ///< one per document, or none
};

/// One document of a fused list.
struct Fused {
  std::string document;
  double score = 0.0;
};

namespace detail {

/// Lists in the form of metafuse.h; valid as long as the lists live.
class ListRows {
 public:
  explicit ListRows(const std::vector<List>& lists) : ids_(lists.size()) {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const List& list = lists[i];
      if (!list.scores.empty() && list.scores.size() != list.documents.size())
        throw Error(METAFUSE_USAGE, ("list " + list.name + ": give one score per document, or none").c_str());
      for (const std::string& document : list.documents) ids_[i].push_back(document.c_str());
      rows_.push_back({list.name.c_str(), ids_[i].data(), list.scores.empty() ? nullptr : list.scores.data(),
                       ids_[i].size()});
    }
  }
  const metafuse_list* data() const { return rows_.data(); }
  std::size_t size() const { return rows_.size(); }

 private:
  std::vector<std::vector<const char*>> ids_;
  std::vector<metafuse_list> rows_;
};

/// The list of the only query in the run that `make(metafuse_run**)` writes.
template <class Make>
std::vector<Fused> fused_list(Make make) {
  metafuse_run* handle = nullptr;
  check(make(&handle));
  const Run run(handle);
  std::vector<Fused> out;
  for (const Scored& item : run.list(0)) out.push_back({std::string(item.document), item.score});
  return out;
}

/// The run that `make(metafuse_run**)` writes.
template <class Make>
Run fused_run(Make make) {
  metafuse_run* handle = nullptr;
  check(make(&handle));
  return Run(handle);
}

}  // namespace detail

/// Fuses the lists of one query, as POST /v1/fuse does.
/// in: options - k, normalise, weights, limit
inline std::vector<Fused> fuse(const std::vector<List>& lists, const std::string& method = "rrf",
                               const Options& options = {}) {
  const detail::ListRows rows(lists);
  const detail::OptionList given(options);
  return detail::fused_list([&](metafuse_run** fused) {
    return metafuse_fuse_lists(rows.data(), rows.size(), method.c_str(), given.data(), given.size(), fused);
  });
}

/// Fuses runs query by query, as `metafuse fuse` does.
/// in: train - judgments for methods that learn; options - also depth, threads, tag, relevance-level
inline Run fuse(const std::vector<Run>& runs, const std::string& method = "rrf", const Options& options = {},
                const Qrels* train = nullptr) {
  const auto handles = detail::handles_of(runs);
  const detail::OptionList given(options);
  return detail::fused_run([&](metafuse_run** fused) {
    return metafuse_fuse_runs(handles.data(), handles.size(), method.c_str(),
                              train == nullptr ? nullptr : train->handle(), given.data(), given.size(),
                              fused);
  });
}

}  // namespace library_0
}  // namespace metafuse
