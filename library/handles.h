#pragma once

// The types behind the handles of metafuse.h, and how its functions fail: each does its work inside
// guarded(), which turns errors and exceptions into a status and the thread's last error.

#include <atomic>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <metafuse.h>

#include "core/progress.h"
#include "core/result.h"
#include "evaluation/reports/run_evaluation.h"
#include "evaluation/runs/judgments.h"
#include "evaluation/runs/run_file.h"
#include "fusion/learners/common/options.h"
#include "fusion/model/model_file.h"

namespace metafuse::library {

/// Stores texts that live as long as this object, each followed by a zero byte.
class KeptTexts {
 public:
  std::string_view keep(std::string_view text);

 private:
  std::pmr::monotonic_buffer_resource memory_{4096};
};

/// Thrown by a progress report when the caller wants to stop; guarded() catches it.
struct Stopped {};

void set_last_error(std::string_view text) noexcept;

/// Runs the work of one function of the C interface and returns its status.
template <class Work>
int guarded(Work work) noexcept {
  try {
    const Result<void> done = work();
    if (done) return METAFUSE_OK;
    const Error error = done.error();
    set_last_error(error.text);
    return static_cast<int>(error.code);
  } catch (const Stopped&) {
    set_last_error("stopped by the progress function");
    return METAFUSE_STOPPED;
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory; give less data at once");
    return METAFUSE_TRY_AGAIN;
  } catch (const std::exception& mistake) {
    set_last_error(mistake.what());
    return METAFUSE_INTERNAL;
  } catch (...) {
    set_last_error("an unknown exception");
    return METAFUSE_INTERNAL;
  }
}

/// errors: usage when a required pointer is null
Result<void> check_given(const void* pointer, const char* name);

/// A copy of the text that the caller frees with metafuse_text_free().
char* as_owned(std::string_view text);

using Options = std::map<std::string, std::string>;

/// errors: usage: a null name or value, or a name given twice
Result<Options> options_of(const metafuse_option* options, std::size_t count);

/// Reads every option into the variable that the table binds to it.
///
/// errors: usage: an option that the table does not have, with similar names; a value out of range
Result<void> read_options(const fusion::OptionTable& table, const Options& given);

/// errors: usage: a null among them, or two runs of the same name
Result<std::vector<evaluation::Run>> runs_of(const metafuse_run* const* runs, std::size_t count);

/// A report that calls the caller's function and throws Stopped when that asks to stop.
ProgressReport progress_of(metafuse_progress progress, void* context);

}  // namespace metafuse::library

// The handles. Lists may be added in any order; the first reader sorts them by query.

struct metafuse_run {
  /// The run with its queries in ascending order.
  const metafuse::evaluation::Run& sorted() const;

  metafuse::library::KeptTexts texts;
  std::unordered_set<std::string_view> queries;
  bool has_scores = true;  ///< whether every list has scores
  mutable metafuse::evaluation::Run run;
  mutable std::mutex sorting;
  mutable std::atomic<bool> is_sorted{true};
};

struct metafuse_qrels {
  const metafuse::evaluation::Judgments& sorted() const;

  metafuse::library::KeptTexts texts;
  std::unordered_set<std::string_view> queries;
  mutable metafuse::evaluation::Judgments judgments;
  mutable std::mutex sorting;
  mutable std::atomic<bool> is_sorted{true};
};

struct metafuse_model {
  metafuse::fusion::Model model;
  std::vector<std::string> lists;  ///< the names of its rank features
};

namespace metafuse::library {

std::unique_ptr<metafuse_model> model_handle(fusion::Model model);

}  // namespace metafuse::library

struct metafuse_evaluation {
  metafuse::evaluation::RunEvaluation evaluation;
  std::vector<std::string> measures;
};
