#include "fusion/learners/rankboost/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "core/text_file.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::string_view kFormat = "metafuse-checkpoint";
constexpr std::int64_t kVersion = 2;
constexpr std::size_t kFields = 7;

Error bad(const std::string& path, const std::string& what) {
  return fail(Code::bad_data, path + ": " + what + "; start the training again without --resume");
}

bool read_round(const Json& item, std::pair<Candidate, double>& round) {
  const JsonArray* fields = item.if_array();
  if (fields == nullptr || fields->size() != kFields) return false;
  double numbers[kFields];
  for (std::size_t i = 0; i < kFields; ++i) {
    const Json& field = (*fields)[i];
    if (!field.is_number()) return false;
    numbers[i] = field.to_number<double>();
    if (!std::isfinite(numbers[i])) return false;
  }
  for (std::size_t i = 0; i < 3; ++i)
    if (numbers[i] < 0.0 || numbers[i] > 4e9 || numbers[i] != std::floor(numbers[i])) return false;
  if (numbers[2] > 1.0) return false;
  Candidate& candidate = round.first;
  candidate.feature = static_cast<std::uint32_t>(numbers[0]);
  candidate.threshold = static_cast<std::uint32_t>(numbers[1]);
  candidate.q_default = static_cast<std::uint8_t>(numbers[2]);
  round.second = numbers[3];
  candidate.r = numbers[4];
  candidate.right = numbers[5];
  candidate.wrong = numbers[6];
  return true;
}

bool is_checkpoint(const JsonObject& root) {
  const Json* format = root.if_contains("format");
  const Json* version = root.if_contains("version");
  return format != nullptr && format->is_string() && format->get_string() == kFormat && version != nullptr &&
         version->is_int64() && root.contains("options") && root.at("options").is_object() &&
         root.contains("data") && root.at("data").is_object() && root.contains("rounds") &&
         root.at("rounds").is_array();
}

}  // namespace

std::string checkpoint_text(const Checkpoint& checkpoint) {
  JsonObject data;
  for (const auto& [part, digest] : checkpoint.data) data[part] = digest;
  JsonArray rounds;
  for (const auto& [candidate, alpha] : checkpoint.rounds)
    rounds.push_back(JsonArray{candidate.feature, candidate.threshold, candidate.q_default, alpha,
                               candidate.r, candidate.right, candidate.wrong});
  JsonObject root;
  root["format"] = kFormat;
  root["version"] = kVersion;
  root["learner"] = "rankboost";
  root["options"] = checkpoint.options;
  root["data"] = std::move(data);
  root["rounds"] = std::move(rounds);
  return to_text(root) + "\n";
}

Result<Checkpoint> read_checkpoint(const std::string& path) {
  TRY(const auto text, read_text(path, std::size_t{1} << 30));
  JsonLimits limits;
  limits.max_bytes = std::size_t{1} << 30;
  TRY(const auto document, parse_json(text, path, Code::bad_data, limits));
  const JsonObject* root = document.if_object();
  if (root == nullptr || !is_checkpoint(*root)) return bad(path, "not a checkpoint of metafuse train");
  if (root->at("version").get_int64() != kVersion)
    return bad(path, "a checkpoint of another version of metafuse");
  Checkpoint checkpoint;
  checkpoint.options = root->at("options").get_object();
  for (const auto& part : root->at("data").get_object()) {
    if (!part.value().is_string()) return bad(path, "\"data\" is damaged");
    checkpoint.data.emplace_back(part.key(), part.value().get_string());
  }
  for (const Json& item : root->at("rounds").get_array()) {
    std::pair<Candidate, double> round;
    if (!read_round(item, round))
      return bad(path, "round " + std::to_string(checkpoint.rounds.size() + 1) + " is damaged");
    checkpoint.rounds.push_back(round);
  }
  return checkpoint;
}

namespace {

/// The option as written on the command line.
std::string switch_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

}  // namespace

Result<void> check_same_run(const std::string& path, const Checkpoint& found, const Checkpoint& wanted) {
  std::string differing;
  const auto add = [&](const std::string& what) { differing += (differing.empty() ? " " : ", ") + what; };
  const auto value_of = [](const Json* option) {
    return option == nullptr ? std::string("absent") : to_text(*option);
  };
  const auto compare = [&](std::string_view key) {
    const Json* then = found.options.if_contains(key);
    const Json* now = wanted.options.if_contains(key);
    if (then == nullptr || now == nullptr || *then != *now)
      add(switch_of(std::string(key)) + " (" + value_of(then) + " then, " + value_of(now) + " now)");
  };
  for (const auto& option : wanted.options) compare(option.key());
  for (const auto& option : found.options)
    if (!wanted.options.contains(option.key())) compare(option.key());
  const auto has = [](const Checkpoint& checkpoint, const std::pair<std::string, std::string>& part) {
    return std::find(checkpoint.data.begin(), checkpoint.data.end(), part) != checkpoint.data.end();
  };
  for (const auto& part : wanted.data)
    if (!has(found, part)) add("the input's " + part.first);
  if (differing.empty()) return {};
  return fail(Code::bad_data, path + ": the checkpoint belongs to another run; these differ:" + differing +
                                  "; give the same input and options, or start again without --resume");
}

}  // namespace metafuse::fusion::rankboost
