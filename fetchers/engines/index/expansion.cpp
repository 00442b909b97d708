#include "fetchers/engines/index/expansion.h"

#include <algorithm>
#include <map>

#include "fetchers/engines/index/number_bytes.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostExcluded = 1000;  ///< of the best words, until enough others are found

void scale(Condition& condition, double factor) {
  condition.weight *= factor;
  for (Condition& child : condition.children) scale(child, factor);
}

double most_weight(const Condition& condition) {
  double most = condition.forms.empty() ? 0 : condition.weight;
  for (const Condition& child : condition.children) most = std::max(most, most_weight(child));
  return most;
}

}  // namespace

Result<Expander> Expander::open(SqliteDatabase& database, const std::string& path) {
  TRY(const auto shape, read_list_shape(database));
  if (!shape.keeps_terms)
    return fail(Code::bad_config,
                path + ": the index does not keep the words of its documents, which expand: needs; " +
                    build_again_with("--expandable"));
  Expander expander;
  TRY(expander.terms_, database.prepare("SELECT terms FROM terms WHERE id=?", true));
  TRY(expander.word_, database.prepare("SELECT word FROM list_words WHERE id=?", true));
  return expander;
}

Result<AskedQuery> Expander::expanded(const AskedQuery& asked, const std::vector<ScoredDocument>& best,
                                      const Expansion& expansion, const DocumentLengths& lengths,
                                      const std::set<std::string>& excluded) {
  double sum = 0;
  const std::size_t documents = std::min(expansion.documents, best.size());
  for (std::size_t i = 0; i < documents; ++i) sum += best[i].score;
  if (!(sum > 0)) return asked;
  std::map<std::int64_t, double> weights;  // by the word's id
  for (std::size_t i = 0; i < documents; ++i) {
    const auto id = static_cast<std::size_t>(best[i].id);
    const double share = best[i].score / sum / std::max(1.0, static_cast<double>(lengths.lengths.at(id)));
    terms_.bind(best[i].id);
    TRY_VOID(terms_.for_each_row([&](const SqliteRow& row) -> Result<void> {
      std::uint32_t word = 0;
      for (std::string_view rest = row.bytes(0); !rest.empty();) {
        std::uint32_t step = 0;
        std::uint32_t count = 0;
        if (!take_number_bytes(rest, step) || !take_number_bytes(rest, count)) return damaged_lists("terms");
        word += step;
        weights[word] += share * count;
      }
      return {};
    }));
  }
  std::vector<std::pair<double, std::int64_t>> order;
  for (const auto& [word, weight] : weights) order.emplace_back(-weight, word);
  const std::size_t looked_at = std::min(order.size(), expansion.terms + kMostExcluded);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(looked_at), order.end());

  AskedQuery out = asked;
  Condition added;
  added.kind = Condition::Kind::any;
  double most = 0;
  for (std::size_t i = 0; i < looked_at && added.children.size() < expansion.terms; ++i) {
    std::string text;
    word_.bind(order[i].second);
    TRY_VOID(word_.for_each_row([&](const SqliteRow& row) { text = row.text(0); }));
    if (text.empty() || excluded.contains(text)) continue;
    most = std::max(most, -order[i].first);
    Condition word;
    word.forms = {out.place_of({text, kAllColumns, false})};
    word.weight = expansion.weight * -order[i].first / most;
    added.children.push_back(std::move(word));
  }
  if (added.children.empty()) return out;
  scale(out.root, 1 / most_weight(out.root));
  Condition root;
  const auto is_word = [](const Condition& one) { return one.kind == Condition::Kind::word; };
  const bool has_no_conditions =
      is_word(out.root) || (out.root.kind == Condition::Kind::any &&
                            std::any_of(out.root.children.begin(), out.root.children.end(), is_word));
  root.kind = has_no_conditions ? Condition::Kind::any : Condition::Kind::maybe;
  root.children.push_back(std::move(out.root));
  root.children.push_back(std::move(added));
  out.root = std::move(root);
  return out;
}

}  // namespace metafuse::fetchers
