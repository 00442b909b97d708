#include "service/judges/judge_prompt.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/text.h"
#include "fetchers/answers/answer_text.h"
#include "service/judges/prompt_files.h"
#include "service/learning/judge_grades.h"

namespace metafuse::service {
namespace {

constexpr std::size_t kMaxPromptBytes = std::size_t{64} << 10;
constexpr std::size_t kPromptMarkBytes = 8;
constexpr std::size_t kIdBytes = 4;
constexpr std::string_view kPromptGaps[] = {"{mark}", "{query}", "{documents}"};

/// Words that documents for people rarely use and texts aimed at a judge need.
constexpr std::array<std::string_view, 16> kWordsToJudge = {
    "grade",  "grading", "score",     "rating", "rate this", "relevan", "instruction", "ignore",
    "prompt", "system:", "assistant", "judge",  "document-", "\"id\"",  "json",        "<think"};

/// The text with its gaps filled in one pass, so that nothing filled in is read as a gap.
std::string with_gaps_filled(std::string_view text, const std::array<std::string_view, 3>& values) {
  std::string out;
  while (!text.empty()) {
    std::size_t at = text.size();
    std::size_t gap = 0;
    for (std::size_t i = 0; i < std::size(kPromptGaps); ++i)
      if (const std::size_t found = text.find(kPromptGaps[i]); found < at) {
        at = found;
        gap = i;
      }
    out += text.substr(0, at);
    if (at == text.size()) break;
    out += values[gap];
    text.remove_prefix(at + kPromptGaps[gap].size());
  }
  return out;
}

std::vector<std::string> new_ids(std::size_t count) {
  std::vector<std::string> ids;
  while (ids.size() < count) {
    std::string id = random_hex(kIdBytes);
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
  }
  return ids;
}

/// The answer without white space, a block of thoughts before it, and a code fence around it.
std::string_view bare_answer(std::string_view answer) {
  constexpr std::string_view kThoughts = "<think>";  // some servers leave it out
  constexpr std::string_view kEndOfThoughts = "</think>";
  constexpr std::string_view kFence = "```";
  answer = ascii_trimmed(answer);
  const std::size_t end = answer.find(kEndOfThoughts);
  if (end != std::string_view::npos)
    answer = ascii_trimmed(answer.substr(end + kEndOfThoughts.size()));
  else if (answer.starts_with(kThoughts))
    return {};
  if (!answer.starts_with(kFence) || !answer.ends_with(kFence) || answer.size() < 2 * kFence.size())
    return answer;
  answer = answer.substr(kFence.size(), answer.size() - 2 * kFence.size());
  if (answer.starts_with("json")) answer.remove_prefix(4);
  return ascii_trimmed(answer);
}

}  // namespace

std::string text_to_grade(std::string_view text, std::size_t bytes) {
  return fetchers::clean_text(text, false, bytes);
}

bool speaks_to_judge(const TextToGrade& document) {
  for (const std::string* part : {&document.title, &document.text}) {
    const std::string lower = ascii_lower(*part);
    for (const std::string_view word : kWordsToJudge)
      if (lower.find(word) != std::string::npos) return true;
  }
  return false;
}

Result<JudgePrompt> JudgePrompt::parse(std::string text, const std::string& name) {
  if (text.size() > kMaxPromptBytes)
    return fail(Code::bad_config, name + ": a prompt has at most 64 KiB; shorten it");
  for (const std::string_view gap : kPromptGaps)
    if (text.find(gap) == std::string::npos)
      return fail(Code::bad_config,
                  fmt::format("{}: the prompt has no {}; metafuse judge --print-prompt shows one to edit",
                              name, gap));
  return JudgePrompt(to_valid_utf8(text));
}

JudgePrompt JudgePrompt::built_in() {
  return JudgePrompt(std::string(prompt_files().front().content));
}

GradeRequest JudgePrompt::request(const std::string& query, std::span<const TextToGrade> documents) const {
  const std::string mark = random_hex(kPromptMarkBytes);
  GradeRequest request{{}, new_ids(documents.size())};
  std::string written;
  for (std::size_t i = 0; i < documents.size(); ++i)
    written += fmt::format("<document-{} id=\"{}\">\nTitle: {}\nText: {}\n</document-{}>\n\n", mark,
                           request.ids[i], documents[i].title, documents[i].text, mark);
  request.text = with_gaps_filled(text_, {mark, query, written});
  return request;
}

std::optional<std::vector<int>> read_grades_answer(std::string_view answer,
                                                   const std::vector<std::string>& ids) {
  const auto json = parse_json(bare_answer(answer), "the model's answer");
  const JsonObject* const object = json ? json->if_object() : nullptr;
  if (object == nullptr || object->size() != ids.size()) return std::nullopt;
  std::vector<int> grades;
  for (const std::string& id : ids) {
    const Json* const grade = object->if_contains(id);
    if (grade == nullptr || !grade->is_int64() || grade->as_int64() < 0 ||
        grade->as_int64() > kBestModelGrade)
      return std::nullopt;
    grades.push_back(static_cast<int>(grade->as_int64()));
  }
  return grades;
}

}  // namespace metafuse::service
