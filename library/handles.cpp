#include "library/handles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "core/near_names.h"

namespace metafuse::library {
namespace {

thread_local std::string last_error;

/// Sorts the topics or judgments of a handle by query; the first reader does it, once.
template <class Queries, class Id>
void sort_once(std::mutex& sorting, std::atomic<bool>& is_sorted, Queries& queries, Id id) {
  if (is_sorted.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(sorting);
  if (is_sorted.load(std::memory_order_relaxed)) return;
  std::sort(queries.begin(), queries.end(), [id](const auto& a, const auto& b) { return a.*id < b.*id; });
  is_sorted.store(true, std::memory_order_release);
}

}  // namespace

std::string_view KeptTexts::keep(std::string_view text) {
  auto* const copy = static_cast<char*>(memory_.allocate(text.size() + 1, 1));
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return {copy, text.size()};
}

void set_last_error(std::string_view text) noexcept {
  try {
    last_error.assign(text);
  } catch (const std::exception&) {
    last_error.clear();
  }
}

Result<void> check_given(const void* pointer, const char* name) {
  if (pointer != nullptr) return {};
  return fail(Code::usage, fmt::format("{} is NULL; give one", name));
}

char* as_owned(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

Result<Options> options_of(const metafuse_option* options, std::size_t count) {
  Options out;
  if (count > 0) TRY_VOID(check_given(options, "options"));
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given(options[i].name, "the name of an option"));
    TRY_VOID(check_given(options[i].value, options[i].name));
    if (!out.emplace(options[i].name, options[i].value).second)
      return fail(Code::usage, fmt::format("the option {} is given twice", options[i].name));
  }
  return out;
}

Result<void> read_options(const fusion::OptionTable& table, const Options& given) {
  std::vector<std::string> known;
  for (const fusion::LearnerOption& row : table.rows()) known.push_back(row.name);
  for (const auto& [name, value] : given)
    if (std::find(known.begin(), known.end(), name) == known.end())
      return fail(Code::usage, fmt::format("there is no option {}{}", name, did_you_mean(name, known)));
  return table.read(given);
}

Result<std::vector<evaluation::Run>> runs_of(const metafuse_run* const* runs, std::size_t count) {
  if (count == 0) return fail(Code::usage, "no run is given; give one or more");
  TRY_VOID(check_given(runs, "runs"));
  std::vector<evaluation::Run> out;
  std::set<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given(runs[i], "a run"));
    out.push_back(runs[i]->sorted());
    if (!names.insert(out.back().name).second)
      return fail(Code::usage,
                  fmt::format("two runs are named \"{}\"; names must be unique", out.back().name));
  }
  return out;
}

ProgressReport progress_of(metafuse_progress progress, void* context) {
  if (progress == nullptr) return {};
  return [progress, context](std::size_t done, std::size_t total) {
    if (progress(context, done, total) != 0) throw Stopped();
  };
}

}  // namespace metafuse::library

using metafuse::library::last_error;

std::unique_ptr<metafuse_model> metafuse::library::model_handle(fusion::Model model) {
  auto made = std::make_unique<metafuse_model>();
  for (const fusion::Feature& feature : model.features)
    if (feature.kind == fusion::FeatureKind::rank) made->lists.push_back(feature.name);
  made->model = std::move(model);
  return made;
}

const metafuse::evaluation::Run& metafuse_run::sorted() const {
  metafuse::library::sort_once(sorting, is_sorted, run.topics, &metafuse::evaluation::RunTopic::topic);
  return run;
}

const metafuse::evaluation::Judgments& metafuse_qrels::sorted() const {
  metafuse::library::sort_once(sorting, is_sorted, judgments.queries,
                               &metafuse::evaluation::QueryJudgments::query);
  return judgments;
}

const char* metafuse_version(void) {
  return METAFUSE_VERSION;
}

const char* metafuse_last_error(void) {
  return last_error.c_str();
}

void metafuse_text_free(char* text) {
  std::free(text);
}
