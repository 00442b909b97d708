#include "service/judges/kept_answers.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

#include "core/digest.h"
#include "core/json.h"
#include "core/json_members.h"
#include "core/text.h"
#include "core/text_file.h"
#include "service/learning/judge_grades.h"

namespace metafuse::service {

namespace {

constexpr std::size_t kMostOfAnswer = 2000;
constexpr std::string_view kLineBegin = "{\"digest\":";

bool begins_like_ours(std::string_view line) {
  const std::size_t common = std::min(line.size(), kLineBegin.size());
  return line.substr(0, common) == kLineBegin.substr(0, common);
}

}  // namespace

std::string digest_of_question(std::string_view model, const JudgePrompt& prompt, std::string_view query,
                               const TextToGrade& document) {
  std::string asked;
  for (const std::string_view part : {model, std::string_view(prompt.text()), query,
                                      std::string_view(document.title), std::string_view(document.text)})
    asked += fmt::format("{}\n{}\n", part.size(), part);
  return sha256_hex(asked).substr(0, 32);
}

Result<std::unique_ptr<KeptAnswers>> KeptAnswers::open(const std::string& path) {
  std::unique_ptr<KeptAnswers> out(new KeptAnswers());
  out->path_ = path;
  TRY(out->lock_, FileLock::take(path, "another metafuse judge keeps its answers here; wait until it ends"));
  TRY_VOID(out->read(path));
  out->file_ = std::fopen(path.c_str(), "ab");
  if (out->file_ == nullptr) return write_error(path, errno);
  return out;
}

KeptAnswers::~KeptAnswers() {
  if (file_ != nullptr) std::fclose(file_);
}

Result<void> KeptAnswers::read(const std::string& path) {
  return for_each_line(path, [&](std::string_view line, std::size_t number) -> Result<void> {
    const auto json = parse_json(line, path, Code::bad_data, {.first_line = number});
    if (!json && begins_like_ours(line)) return {};  // empty, or cut off when a run was killed
    if (!json) return json.error();
    const JsonMembers members(*json);
    const auto* digest = members.text("digest");
    const Json* const value = members.find("grade");
    const auto* grade = members.integer("grade");
    const bool is_grade = grade != nullptr && *grade >= 0 && *grade <= kBestModelGrade;
    if (digest == nullptr || value == nullptr || (!is_grade && !value->is_null()))
      return fail(
          Code::bad_data,
          fmt::format("{}:{}: not an answer that metafuse judge keeps; name another file with --answers",
                      path, number));
    known_[std::string(*digest)].grade =
        is_grade ? std::optional<int>(static_cast<int>(*grade)) : std::nullopt;
    return {};
  });
}

std::optional<KeptAnswer> KeptAnswers::find(const std::string& digest) const {
  const std::lock_guard lock(mutex_);
  const auto at = known_.find(digest);
  return at == known_.end() ? std::nullopt : std::optional<KeptAnswer>(at->second);
}

Result<void> KeptAnswers::add(const Line& line) {
  const std::string text = to_text(JsonObject{{"digest", line.digest},
                                              {"model", line.model},
                                              {"query", line.query},
                                              {"document", line.document},
                                              {"grade", line.grade ? Json(*line.grade) : Json()},
                                              {"answer", truncate_utf8(line.answer, kMostOfAnswer)}}) +
                           "\n";
  const std::lock_guard lock(mutex_);
  // The line break ends a line that a killed run may have left cut off.
  const std::string written = has_added_ ? text : "\n" + text;
  if (std::fwrite(written.data(), 1, written.size(), file_) != written.size() || std::fflush(file_) != 0)
    return write_error(path_, errno);
  has_added_ = true;
  known_[line.digest].grade = line.grade;
  return {};
}

}  // namespace metafuse::service
