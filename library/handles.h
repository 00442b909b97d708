#pragma once

// The types behind the handles of metafuse.h, and how its functions fail: each does its work inside
// guarded(), which turns errors and exceptions into a status and the thread's last error.

#include <atomic>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <metafuse.h>

#include "core/keyed_hash.h"
#include "core/progress.h"
#include "core/result.h"
#include "core/text.h"
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

/// A pointer that the caller must give, and the name of the parameter.
struct Required {
  const void* pointer;
  const char* name;
};

/// errors: usage: the first of the pointers that is null
Result<void> check_given(std::initializer_list<Required> pointers);

/// Runs the work of one function of the C interface and returns its status. The work is not begun if a
/// required pointer is null.
template <class Work>
int guarded(std::initializer_list<Required> required, Work work) noexcept {
  try {
    Result<void> done = check_given(required);
    if (done) done = work();
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

/// A copy of the text that the caller frees with metafuse_text_free().
char* as_owned(const std::string& text);

/// As guarded(), for work that returns a text, which the caller will own.
template <class Work>
int guarded_text(std::initializer_list<Required> required, char** text, Work work) noexcept {
  return guarded(required, [&]() -> Result<void> {
    TRY(const std::string made, work());
    *text = as_owned(made);
    return {};
  });
}

using Options = std::map<std::string, std::string>;

/// errors: usage: a null name or value, or a name given twice
Result<Options> options_of(const metafuse_option* options, std::size_t count);

/// Reads every option into the variable that the table binds to it.
///
/// errors: usage: an option that the table does not have, with similar names; a value out of range
Result<void> read_options(const fusion::OptionTable& table, const Options& given);

/// The parts of a text between commas.
std::vector<std::string> comma_separated(std::string_view text);

/// The row of a table of methods or learners.
/// in:     kind - what a row is called
/// errors: usage: no name, or an unknown one, with similar names
template <class Row>
Result<const Row*> row_named(std::span<const Row> rows, const char* kind, const char* name) {
  TRY_VOID(check_given({{name, kind}}));
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (row.name == name) return &row;
    names.push_back(row.name);
  }
  return fail(Code::usage, std::string("no ") + kind + " \"" + name + "\"" + did_you_mean(name, names));
}

/// The runs of the handles, with their queries in ascending order.
/// errors: usage: no run, a null among them, or two runs of the same name
Result<std::vector<const evaluation::Run*>> runs_of(const metafuse_run* const* runs, std::size_t count);
Result<std::vector<evaluation::Run>> copies_of(const metafuse_run* const* runs, std::size_t count);

/// A report that calls the caller's function and throws Stopped when that asks to stop.
ProgressReport progress_of(metafuse_progress progress, void* context);

}  // namespace metafuse::library

// The handles. Lists may be added in any order; the first reader sorts them by query.

struct metafuse_run {
  /// The run with its queries in ascending order.
  const metafuse::evaluation::Run& sorted() const;

  metafuse::library::KeptTexts texts;
  metafuse::TextViewSet queries;
  bool has_scores = true;  ///< whether every list has scores
  mutable metafuse::evaluation::Run run;
  mutable std::mutex sorting;
  mutable std::atomic<bool> is_sorted{true};
};

struct metafuse_qrels {
  const metafuse::evaluation::Judgments& sorted() const;

  metafuse::library::KeptTexts texts;
  metafuse::TextViewSet queries;
  mutable metafuse::evaluation::Judgments judgments;
  mutable std::mutex sorting;
  mutable std::atomic<bool> is_sorted{true};
};

struct metafuse_model {
  metafuse::fusion::Model model;
  std::vector<std::string> lists;  ///< the names of its rank features
};

namespace metafuse::library {

/// A model that the caller frees.
metafuse_model* model_handle(fusion::Model model);

}  // namespace metafuse::library

struct metafuse_evaluation {
  metafuse::evaluation::RunEvaluation evaluation;
  std::vector<std::string> measures;
};
