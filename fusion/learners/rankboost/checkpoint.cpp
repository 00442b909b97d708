#include "fusion/learners/rankboost/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "core/atomic_file.h"
#include "core/json_members.h"
#include "core/text_file.h"
#include "fusion/data/communicator.h"

namespace metafuse::fusion::rankboost {
namespace {

constexpr std::string_view kFormat = "metafuse-checkpoint";
constexpr std::int64_t kVersion = 2;
constexpr std::size_t kFields = 7;
constexpr double kLargestAlpha = 512.0;  // the search for an alpha ends here

Error bad(const std::string& path, const std::string& what) {
  return fail(Code::bad_data, path + ": " + what + "; start the training again without --resume");
}

bool read_round(const Json& item, Round& round) {
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
  if (numbers[2] > 1.0 || std::abs(numbers[3]) > kLargestAlpha) return false;
  Candidate& candidate = round.candidate;
  candidate.feature = static_cast<std::uint32_t>(numbers[0]);
  candidate.threshold = static_cast<std::uint32_t>(numbers[1]);
  candidate.q_default = static_cast<std::uint8_t>(numbers[2]);
  round.alpha = numbers[3];
  candidate.r = numbers[4];
  candidate.right = numbers[5];
  candidate.wrong = numbers[6];
  return true;
}

bool is_checkpoint(const JsonMembers& root) {
  return root.text_or_empty("format") == kFormat && root.integer("version") != nullptr &&
         root.object("options") != nullptr && root.object("data") != nullptr &&
         root.array("rounds") != nullptr;
}

/// The option as written on the command line.
std::string switch_of(std::string key) {
  std::replace(key.begin(), key.end(), '_', '-');
  return "--" + key;
}

/// Names the options and the parts of the data that differ between two runs; empty if none do.
std::string differences(const JsonObject& found, const JsonObject& wanted) {
  std::string differing;
  const auto add = [&](const std::string& what) { differing += (differing.empty() ? " " : ", ") + what; };
  const auto value_of = [](const Json* option) {
    return option == nullptr ? std::string("absent") : to_text(*option);
  };
  const JsonObject& options_then = found.at("options").get_object();
  const JsonObject& options_now = wanted.at("options").get_object();
  const auto compare = [&](std::string_view key) {
    const Json* then = options_then.if_contains(key);
    const Json* now = options_now.if_contains(key);
    if (then == nullptr || now == nullptr || *then != *now)
      add(switch_of(std::string(key)) + " (" + value_of(then) + " then, " + value_of(now) + " now)");
  };
  for (const auto& option : options_now) compare(option.key());
  for (const auto& option : options_then)
    if (!options_now.contains(option.key())) compare(option.key());
  for (const auto& part : wanted.at("data").get_object()) {
    const Json* then = found.at("data").get_object().if_contains(part.key());
    if (then == nullptr || *then != part.value()) add("the input's " + std::string(part.key()));
  }
  return differing;
}

Result<JsonObject> read_checkpoint(const std::string& path) {
  TRY(const auto text, read_text(path, std::size_t{1} << 30));
  JsonLimits limits;
  limits.max_bytes = std::size_t{1} << 30;
  TRY(auto document, parse_json(text, path, Code::bad_data, limits));
  const JsonObject* root = document.if_object();
  if (root == nullptr || !is_checkpoint(JsonMembers(*root)))
    return bad(path, "not a checkpoint of metafuse train");
  if (root->at("version").get_int64() != kVersion)
    return bad(path, "a checkpoint of another version of metafuse");
  for (const auto& part : root->at("data").get_object())
    if (!part.value().is_string()) return bad(path, "\"data\" is damaged");
  return std::move(document.get_object());
}

}  // namespace

JsonObject given_thresholds_json(const Options& options) {
  JsonObject out;
  for (const auto& [feature, thetas] : *options.thresholds.given)
    out[feature] = JsonArray(thetas.begin(), thetas.end());
  return out;
}

const JsonObject& Checkpoints::identity() {
  if (identity_) return *identity_;
  JsonObject options = options_json(options_);
  options.erase("rounds");
  if (options_.thresholds.given != nullptr) options["thresholds"] = given_thresholds_json(options_);
  if (request_.measure.value) options["metric"] = request_.measure.name;
  JsonObject data;
  for (const auto& [part, digest] : fingerprint(*request_.train, request_.communicator)) data[part] = digest;
  if (request_.measure.value)
    for (const auto& [part, digest] : fingerprint(*request_.validate)) data["validation " + part] = digest;
  identity_ = JsonObject{{"options", std::move(options)}, {"data", std::move(data)}};
  return *identity_;
}

Result<void> Checkpoints::save_if_due(std::span<const Round> rounds) {
  if (request_.checkpoints.file.empty() || request_.checkpoints.every == 0 ||
      rounds.size() % request_.checkpoints.every != 0)
    return {};
  const JsonObject& own = identity();  // computed by all processes together
  if (request_.communicator != nullptr && request_.communicator->rank() > 0) return {};
  JsonArray list;
  for (const auto& [candidate, alpha, z, log_bound] : rounds)
    list.push_back(JsonArray{candidate.feature, candidate.threshold, candidate.q_default, alpha, candidate.r,
                             candidate.right, candidate.wrong});
  const JsonObject root{{"format", kFormat},      {"version", kVersion},
                        {"learner", "rankboost"}, {"options", own.at("options")},
                        {"data", own.at("data")}, {"rounds", std::move(list)}};
  return write_file(request_.checkpoints.file, to_text(root) + "\n");
}

Result<std::vector<Round>> Checkpoints::resumed_rounds() {
  std::vector<Round> rounds;
  const std::string& path = request_.checkpoints.resume;
  if (path.empty()) return rounds;
  TRY(const auto found, read_checkpoint(path));
  for (const Json& item : found.at("rounds").get_array()) {
    Round round;
    if (!read_round(item, round))
      return bad(path, "round " + std::to_string(rounds.size() + 1) + " is damaged");
    rounds.push_back(round);
  }
  if (const std::string differing = differences(found, identity()); !differing.empty())
    return fail(Code::bad_data, path + ": the checkpoint belongs to another run; these differ:" + differing +
                                    "; give the same input and options, or start again without --resume");
  return rounds;
}

}  // namespace metafuse::fusion::rankboost
