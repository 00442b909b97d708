// What the functions of metafuse.h share, and its functions on models: see handles.h.
#include "library/handles.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>

#include <fmt/format.h>

#include "core/text.h"
#include "fusion/training/registry.h"

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

Result<void> check_given(std::initializer_list<Required> pointers) {
  for (const auto& [pointer, name] : pointers)
    if (pointer == nullptr) return fail(Code::usage, fmt::format("{} is NULL; give one", name));
  return {};
}

char* as_owned(const std::string& text) {
  char* const copy = ::strdup(text.c_str());
  if (copy == nullptr) throw std::bad_alloc();
  return copy;
}

Result<Options> options_of(const metafuse_option* options, std::size_t count) {
  Options out;
  if (count > 0) TRY_VOID(check_given({{options, "options"}}));
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given({{options[i].name, "the name of an option"}, {options[i].value, options[i].name}}));
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

std::vector<std::string> comma_separated(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

Result<std::vector<const evaluation::Run*>> runs_of(const metafuse_run* const* runs, std::size_t count) {
  if (count == 0) return fail(Code::usage, "no run is given; give one or more");
  TRY_VOID(check_given({{runs, "runs"}}));
  std::vector<const evaluation::Run*> out;
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < count; ++i) {
    TRY_VOID(check_given({{runs[i], "a run"}}));
    out.push_back(&runs[i]->sorted());
    if (!names.insert(out.back()->name).second)
      return fail(Code::usage,
                  fmt::format("two runs are named \"{}\"; names must be unique", out.back()->name));
  }
  return out;
}

Result<std::vector<evaluation::Run>> copies_of(const metafuse_run* const* runs, std::size_t count) {
  TRY(const auto originals, runs_of(runs, count));
  std::vector<evaluation::Run> copies;
  for (const evaluation::Run* const run : originals) copies.push_back(*run);
  return copies;
}

ProgressReport progress_of(metafuse_progress progress, void* context) {
  if (progress == nullptr) return {};
  return [progress, context](std::size_t done, std::size_t total) {
    if (progress(context, done, total) != 0) throw Stopped();
  };
}

}  // namespace metafuse::library

using namespace metafuse;
using namespace metafuse::library;

const evaluation::Run& metafuse_run::sorted() const {
  sort_once(sorting, is_sorted, run.topics, &evaluation::RunTopic::topic);
  return run;
}

const evaluation::Judgments& metafuse_qrels::sorted() const {
  sort_once(sorting, is_sorted, judgments.queries, &evaluation::QueryJudgments::query);
  return judgments;
}

metafuse_model* library::model_handle(fusion::Model model) {
  auto made = std::make_unique<metafuse_model>();
  for (const fusion::Feature& feature : model.features)
    if (feature.kind == fusion::FeatureKind::rank) made->lists.push_back(feature.name);
  made->model = std::move(model);
  return made.release();
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

int metafuse_model_read(const char* file, metafuse_model** model) {
  return guarded({{file, "file"}, {model, "model"}}, [&]() -> Result<void> {
    TRY(auto read, fusion::read_model(file));
    *model = model_handle(std::move(read));
    return {};
  });
}

int metafuse_model_parse(const char* text, metafuse_model** model) {
  return guarded({{text, "text"}, {model, "model"}}, [&]() -> Result<void> {
    TRY(auto read, fusion::parse_model(text, "model"));
    *model = model_handle(std::move(read));
    return {};
  });
}

int metafuse_model_write(const metafuse_model* model, const char* file) {
  return guarded({{model, "model"}, {file, "file"}},
                 [&]() -> Result<void> { return fusion::write_model(file, model->model); });
}

int metafuse_model_text(const metafuse_model* model, char** text) {
  return guarded_text({{model, "model"}, {text, "text"}}, text,
                      [&]() -> Result<std::string> { return fusion::model_text(model->model); });
}

int metafuse_model_show(const metafuse_model* model, char** text) {
  return guarded_text({{model, "model"}, {text, "text"}}, text, [&]() -> Result<std::string> {
    return model->model.ranker->describe(model->model.features);
  });
}

void metafuse_model_free(metafuse_model* model) {
  delete model;
}

const char* metafuse_model_learner(const metafuse_model* model) {
  return model == nullptr ? nullptr : model->model.learner.c_str();
}

size_t metafuse_model_list_count(const metafuse_model* model) {
  return model == nullptr ? 0 : model->lists.size();
}

const char* metafuse_model_list_name(const metafuse_model* model, size_t list) {
  return model == nullptr || list >= model->lists.size() ? nullptr : model->lists[list].c_str();
}
