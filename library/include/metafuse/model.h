#pragma once

// A trained model, which fuses better than a formula once some queries are judged.

#include <string>
#include <vector>

#include <metafuse/fuse.h>

namespace metafuse {
inline namespace library_0 {

/// Immutable; may be used from many threads at once.
class Model {
 public:
  explicit Model(metafuse_model* owned) : handle_(owned) {}

  /// Reads a model file.
  static Model load(const std::string& file) {
    metafuse_model* model = nullptr;
    detail::check(metafuse_model_read(file.c_str(), &model));
    return Model(model);
  }
  /// in: text - the text of a model file
  static Model parse(const std::string& text) {
    metafuse_model* model = nullptr;
    detail::check(metafuse_model_parse(text.c_str(), &model));
    return Model(model);
  }
  void save(const std::string& file) const { detail::check(metafuse_model_write(handle(), file.c_str())); }
  /// The text that save() writes; equal models have equal text.
  std::string text() const {
    return detail::text_of([&](char** text) { return metafuse_model_text(handle(), text); });
  }
  /// A readable description of the model.
  std::string show() const {
    return detail::text_of([&](char** text) { return metafuse_model_show(handle(), text); });
  }

  std::string learner() const { return metafuse_model_learner(handle()); }
  /// The names of the lists that the model fuses.
  std::vector<std::string> lists() const {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < metafuse_model_list_count(handle()); ++i)
      out.push_back(metafuse_model_list_name(handle(), i));
    return out;
  }

  /// Fuses the lists of one query, which are found by name. A missing list leaves its documents unranked.
  /// in: options - limit
  std::vector<Fused> fuse(const std::vector<List>& lists, const Options& options = {}) const {
    const detail::ListRows rows(lists);
    const detail::OptionList given(options);
    return detail::fused_list([&](metafuse_run** fused) {
      return metafuse_model_fuse_lists(handle(), rows.data(), rows.size(), given.data(), given.size(), fused);
    });
  }
  /// in: options - limit, threads, tag, missing
  Run fuse(const std::vector<Run>& runs, const Options& options = {}) const {
    const auto handles = detail::handles_of(runs);
    const detail::OptionList given(options);
    return detail::fused_run([&](metafuse_run** fused) {
      return metafuse_model_fuse_runs(handle(), handles.data(), handles.size(), given.data(), given.size(),
                                      fused);
    });
  }
  /// Explains a document's score, as JSON.
  std::string explain(const std::vector<List>& lists, const std::string& document) const {
    const detail::ListRows rows(lists);
    return detail::text_of([&](char** json) {
      return metafuse_model_explain(handle(), rows.data(), rows.size(), document.c_str(), json);
    });
  }

  const metafuse_model* handle() const { return handle_.get(); }

 private:
  detail::Owned<metafuse_model> handle_;
};

}  // namespace library_0
}  // namespace metafuse
