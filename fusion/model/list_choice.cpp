#include "fusion/model/list_choice.h"

#include <string>

#include <fmt/format.h>

#include "fusion/model/state_fields.h"

namespace metafuse::fusion {

JsonObject to_json(const ListChoice& choice) {
  JsonArray lists, leads;
  for (const auto& [count, lead] : choice.settled) {
    lists.emplace_back(count);
    leads.emplace_back(lead);
  }
  return {{"order", to_array(choice.order)},
          {"gains", to_array(choice.gains)},
          {"queries", choice.queries},
          {"settled", JsonObject{{"lists", std::move(lists)}, {"leads", std::move(leads)}}}};
}

std::string choice_text(const ListChoice& choice, const std::vector<Feature>& features) {
  std::string out = fmt::format(
      "lists by what each adds to those above it, learned from {} queries\n"
      "{:>8} {:>12}  list\n",
      choice.queries, "adds", "settled at");
  for (std::size_t i = 0; i < choice.order.size(); ++i) {
    const auto settled = choice.settled.find(i + 1);
    out += fmt::format("{:>8.4f} {:>12}  {}\n", choice.gains[i],
                       settled == choice.settled.end() ? "-" : fmt::format("{:.4g}", settled->second),
                       features[choice.order[i]].name);
  }
  return out;
}

Result<ListChoice> read_list_choice(const JsonObject& object, std::size_t features) {
  const auto bad = [](const std::string& what) {
    return fail(Code::bad_data, "choice." + what + "; train the model again");
  };
  StateFields fields(object, "choice.");
  ListChoice choice{fields.counts("order"), fields.numbers("gains"), fields.count("queries"), {}};
  const JsonObject* settled = fields.object("settled");
  if (fields.failed()) return fields.error();
  StateFields inner(*settled, "choice.settled.");
  const auto lists = inner.counts("lists");
  const auto leads = inner.numbers("leads");
  if (inner.failed()) return inner.error();
  if (choice.gains.size() != choice.order.size()) return bad("gains: must have as many numbers as order");
  std::vector<bool> is_there(features, false);
  for (const std::uint64_t list : choice.order) {
    if (list >= features || is_there[list]) return bad("order: must name features of the model, each once");
    is_there[list] = true;
  }
  if (leads.size() != lists.size()) return bad("settled: must have as many leads as lists");
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (i > 0 && lists[i] <= lists[i - 1]) return bad("settled.lists: must rise");
    choice.settled[lists[i]] = leads[i];
  }
  return choice;
}

}  // namespace metafuse::fusion
