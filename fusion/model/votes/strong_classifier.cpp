#include "fusion/model/votes/strong_classifier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/contract.h"
#include "fusion/model/state_fields.h"
#include "fusion/model/weak_ranking.h"

namespace metafuse::fusion::votes {

std::uint8_t CutTable::code(std::size_t feature, double value) const {
  const auto& list = cuts[feature];
  return static_cast<std::uint8_t>(std::lower_bound(list.begin(), list.end(), value) - list.begin());
}

CutTable cut_table(const CodedFeatures& features) {
  CutTable table;
  for (std::size_t f = 0; f < features.feature_count(); ++f) {
    require(features.is_byte(f), "AdaBoost.MH keeps one byte per feature");
    table.cuts.push_back(features.thresholds(f).values);
  }
  return table;
}

CodedRows::CodedRows(const FeatureMatrix& documents, const CutTable& table)
    : documents_(documents.document_count()),
      features_(table.cuts.size()),
      codes_(documents_ * features_, 0) {
  require(documents.feature_count() == features_, "documents have the table's features");
  for (std::size_t d = 0; d < documents_; ++d)
    for (std::size_t f = 0; f < features_; ++f)
      if (!documents.is_unranked(d, f)) codes_[d * features_ + f] = table.code(f, documents.value(d, f));
}

CodedRows::CodedRows(const CodedRows& others, std::span<const std::uint32_t> documents)
    : documents_(documents.size()), features_(others.features_) {
  codes_.reserve(documents_ * features_);
  for (const std::uint32_t document : documents)
    codes_.insert(codes_.end(), others.row(document), others.row(document) + features_);
}

std::size_t BaseClassifier::leaf(const std::uint8_t* row) const {
  if (nodes.empty()) return 0;
  std::int32_t at = 0;
  do {
    const TreeNode& node = nodes[static_cast<std::size_t>(at)];
    at = node.cut.fires(row) ? node.above : node.below;
  } while (at >= 0);
  return static_cast<std::size_t>(~at);
}

double BaseClassifier::sign(const std::uint8_t* row) const {
  bool is_negative = false;
  for (const Cut& term : terms) is_negative ^= !term.fires(row);
  return is_negative ? -1.0 : 1.0;
}

std::vector<std::vector<double>> StrongClassifier::votes(const CodedRows& rows,
                                                         std::span<const std::size_t> counts) const {
  const std::size_t documents = rows.document_count();
  std::vector<std::vector<double>> result;
  std::vector<double> sums(documents * classes, 0.0);
  double alphas = 0.0;
  std::size_t done = 0;
  for (const std::size_t count : counts) {
    for (; done < std::min(count, rounds.size()); ++done) {
      const auto& [alpha, base] = rounds[done];
      alphas += alpha;
      for (std::size_t d = 0; d < documents; ++d) {
        const std::uint8_t* row = rows.row(d);
        const double weight = alpha * base.sign(row);
        const std::int8_t* vote = base.votes.data() + base.leaf(row) * classes;
        for (std::size_t l = 0; l < classes; ++l) sums[d * classes + l] += weight * vote[l];
      }
    }
    result.push_back(sums);
    if (alphas > 0.0)
      for (double& sum : result.back()) sum /= alphas;
  }
  return result;
}

namespace {

Error damaged(const std::string& what) {
  return fail(Code::bad_data, "body.rounds: " + what + "; the file is damaged");
}

/// An array of whole numbers of a fixed length.
std::optional<std::vector<std::int64_t>> whole_numbers(const Json& item, std::size_t length) {
  if (!item.is_array() || item.get_array().size() != length) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const Json& number : item.get_array()) {
    if (number.is_int64())
      numbers.push_back(number.get_int64());
    else if (number.is_uint64() && number.get_uint64() < 1U << 30)
      numbers.push_back(static_cast<std::int64_t>(number.get_uint64()));
    else
      return std::nullopt;
  }
  return numbers;
}

/// in: numbers - begin with feature and index
std::optional<Cut> cut_of(std::span<const std::int64_t> numbers, const CutTable& table) {
  if (numbers[0] < 0 || static_cast<std::size_t>(numbers[0]) >= table.cuts.size()) return std::nullopt;
  const auto feature = static_cast<std::uint32_t>(numbers[0]);
  if (numbers[1] < 0 || static_cast<std::size_t>(numbers[1]) >= table.cuts[feature].size())
    return std::nullopt;
  return Cut{feature, static_cast<std::uint8_t>(numbers[1])};
}

Result<void> read_terms(const JsonArray& terms, const CutTable& table, BaseClassifier& base) {
  for (const Json& item : terms) {
    const auto numbers = whole_numbers(item, 2);
    const auto cut = numbers ? cut_of(*numbers, table) : std::nullopt;
    if (!cut) return damaged("a term does not refer to a feature and cut of the table");
    base.terms.push_back(*cut);
  }
  return {};
}

Result<void> read_nodes(const JsonArray& nodes, std::size_t leaves, const CutTable& table,
                        BaseClassifier& base) {
  for (const Json& item : nodes) {
    const auto numbers = whole_numbers(item, 4);
    const auto cut = numbers ? cut_of(*numbers, table) : std::nullopt;
    const auto is_child = [&, place = base.nodes.size()](std::int64_t child) {
      return child >= 0
                 ? static_cast<std::size_t>(child) > place && static_cast<std::size_t>(child) < nodes.size()
                 : static_cast<std::size_t>(-1 - child) < leaves;
    };
    // A child is a later node or an existing leaf, so that every walk ends.
    if (!cut || !is_child((*numbers)[2]) || !is_child((*numbers)[3]))
      return damaged("a node has a cut or a child that does not exist");
    base.nodes.push_back(
        {*cut, static_cast<std::int32_t>((*numbers)[2]), static_cast<std::int32_t>((*numbers)[3])});
  }
  return {};
}

Result<StrongClassifier::Round> read_round(const JsonObject& object, std::size_t classes,
                                           const CutTable& table) {
  StateFields fields(object, "body.rounds.");
  StrongClassifier::Round round;
  round.alpha = fields.weight("alpha");
  const JsonArray* votes = fields.array("votes");
  const bool is_tree = object.contains("nodes");
  const JsonArray* parts = fields.array(is_tree ? "nodes" : "terms");
  if (fields.failed()) return fields.error();
  for (const Json& vote : *votes) {
    if (!vote.is_int64() || (vote.get_int64() != 1 && vote.get_int64() != -1))
      return damaged("a vote is not 1 or -1");
    round.base.votes.push_back(static_cast<std::int8_t>(vote.get_int64()));
  }
  const std::size_t leaves = round.base.votes.size() / classes;
  if (leaves == 0 || round.base.votes.size() % classes != 0 || (!is_tree && leaves != 1))
    return damaged("there must be one vote per class");
  TRY_VOID(is_tree ? read_nodes(*parts, leaves, table, round.base) : read_terms(*parts, table, round.base));
  return round;
}

}  // namespace

JsonObject to_json(const GradedCuts& graded) {
  JsonArray table;
  for (const auto& cuts : graded.table.cuts) {
    JsonArray list;
    for (const double cut : cuts) list.push_back(std::isfinite(cut) ? Json(cut) : Json(nullptr));
    table.push_back(std::move(list));
  }
  return {{"grades", to_array(graded.grades)}, {"cuts", std::move(table)}};
}

namespace {

Result<CutTable> read_cut_table(const JsonArray& array, std::size_t features) {
  if (array.size() != features)
    return fail(Code::bad_data, "body.cuts: " + std::to_string(array.size()) + " lists for " +
                                    std::to_string(features) + " features");
  CutTable table;
  for (const Json& item : array) {
    if (!item.is_array() || item.get_array().size() > 255)
      return fail(Code::bad_data, "body.cuts: must be lists of at most 255 numbers");
    std::vector<double>& cuts = table.cuts.emplace_back();
    for (const Json& cut : item.get_array()) {
      double value = -std::numeric_limits<double>::infinity();
      if (!cut.is_null() && !finite_number(&cut, value))
        return fail(Code::bad_data, "body.cuts: must be finite numbers");
      if (!cuts.empty() && !(value > cuts.back())) return fail(Code::bad_data, "body.cuts: not ascending");
      cuts.push_back(value);
    }
  }
  return table;
}

}  // namespace

Result<GradedCuts> read_graded_cuts(const JsonObject& body, std::size_t features) {
  StateFields fields(body);
  GradedCuts read;
  read.grades = fields.numbers("grades");
  const JsonArray* cuts = fields.array("cuts");
  if (fields.failed()) return fields.error();
  const auto& grades = read.grades;
  if (grades.size() < 2 || grades.size() > 60 || !std::is_sorted(grades.begin(), grades.end()) ||
      grades.back() > 60)
    return fail(Code::bad_data, "body.grades: must be 2 to 60 ascending numbers");
  TRY(read.table, read_cut_table(*cuts, features));
  return read;
}

JsonArray to_json(const StrongClassifier& classifier) {
  JsonArray array;
  for (const auto& [alpha, base] : classifier.rounds) {
    JsonObject round{{"alpha", alpha}};
    JsonArray votes;
    for (const std::int8_t vote : base.votes) votes.emplace_back(static_cast<int>(vote));
    round["votes"] = std::move(votes);
    JsonArray parts;
    for (const Cut& cut : base.terms) parts.push_back(JsonArray{cut.feature, static_cast<int>(cut.index)});
    for (const TreeNode& node : base.nodes)
      parts.push_back(JsonArray{node.cut.feature, static_cast<int>(node.cut.index), node.below, node.above});
    round[base.nodes.empty() ? "terms" : "nodes"] = std::move(parts);
    array.push_back(std::move(round));
  }
  return array;
}

Result<StrongClassifier> read_classifier(const JsonArray& array, const GradedCuts& graded) {
  StrongClassifier classifier;
  classifier.classes = graded.grades.size();
  for (const Json& item : array) {
    if (!item.is_object()) return damaged("a round must be an object");
    TRY(auto round, read_round(item.get_object(), classifier.classes, graded.table));
    classifier.rounds.push_back(std::move(round));
  }
  return classifier;
}

}  // namespace metafuse::fusion::votes
