#include "service/store/stored_search.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>

#include "core/contract.h"
#include "core/digest.h"
#include "core/json_members.h"
#include "core/text.h"

namespace metafuse::service {
namespace {

constexpr std::string_view kTeamLetters = "-ab";
constexpr std::size_t kIdDigits = 32;
constexpr std::size_t kOwnDigits = 8;
constexpr char kHashMark = '#';
constexpr std::string_view kPlainSlot = "QUERY";

std::string binding_of(std::string_view secret, std::string_view id, std::string_view prefix) {
  return hmac_sha256_hex(secret, fmt::format("delivered {} {}", id, prefix)).substr(0, kOwnDigits);
}

Error damaged_row(std::string_view what) {
  return fail(Code::internal, "a stored search is damaged: " + std::string(what) +
                                  "; check the database, or restore it from a backup");
}

Result<std::vector<std::uint32_t>> read_indices(const JsonArray* array, std::size_t documents) {
  if (array == nullptr) return damaged_row("an index list is missing");
  std::vector<std::uint32_t> out;
  out.reserve(array->size());
  for (const Json& value : *array) {
    const std::int64_t* index = value.if_int64();
    if (index == nullptr || *index < 0 || static_cast<std::uint64_t>(*index) >= documents)
      return damaged_row("an index names no document");
    out.push_back(static_cast<std::uint32_t>(*index));
  }
  return out;
}

Result<StoredList> read_stored_list(const Json& value, std::size_t documents) {
  const JsonMembers list(value);
  const auto* feature = list.text("feature");
  const auto* depth = list.integer("depth");
  const auto* failed = list.flag("failed");
  if (feature == nullptr || depth == nullptr || failed == nullptr)
    return damaged_row("a list without feature, depth or state");
  TRY(auto indices, read_indices(list.array("documents"), documents));
  std::vector<std::uint32_t> ranks;
  if (const Json* written = list.find("ranks"); written != nullptr) {
    TRY(ranks, read_ranks(*written, indices.size()));
  }
  return StoredList{std::string(*feature), static_cast<int>(*depth), *failed, std::move(indices),
                    std::move(ranks)};
}

Result<void> read_shown(const JsonMembers& members, StoredSearch& search) {
  TRY(const auto indices, read_indices(members.array("shown"), search.documents.size()));
  const Json* teams = members.find("teams");
  std::string_view letters;
  if (teams != nullptr) {
    if (!teams->is_string() || teams->get_string().size() != indices.size())
      return damaged_row("teams do not fit the results shown");
    letters = teams->get_string();
  }
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::size_t team = letters.empty() ? 0 : kTeamLetters.find(letters[i]);
    if (team == std::string_view::npos) return damaged_row("an unknown team");
    search.shown.push_back({indices[i], static_cast<Team>(team)});
  }
  return {};
}

}  // namespace

Result<std::vector<std::uint32_t>> read_ranks(const Json& json, std::size_t documents) {
  if (!json.is_array() || json.get_array().size() != documents)
    return damaged_row("ranks that do not fit their list");
  std::vector<std::uint32_t> out;
  for (const Json& value : json.get_array()) {
    const std::int64_t* rank = value.if_int64();
    if (rank == nullptr || !std::in_range<std::uint32_t>(*rank) || *rank <= (out.empty() ? 0 : out.back()))
      return damaged_row("ranks that do not rise");
    out.push_back(static_cast<std::uint32_t>(*rank));
  }
  return out;
}

void StoredList::add(std::uint32_t document, std::uint32_t rank) {
  if (ranks.empty() && rank != documents.size() + 1)
    for (std::uint32_t above = 1; above <= documents.size(); ++above) ranks.push_back(above);
  documents.push_back(document);
  if (!ranks.empty() || rank != documents.size()) ranks.push_back(rank);
}

void fit_to_limits(StoredSearch& search, const SearchLimits& limits) {
  if (search.lists.size() > limits.lists) search.lists.resize(limits.lists);
  if (search.shown.size() > limits.shown) search.shown.resize(limits.shown);
  if (search.documents.size() > limits.documents) {
    search.documents.resize(limits.documents);
    const auto is_beyond = [&](std::uint32_t document) { return document >= limits.documents; };
    std::erase_if(search.set_aside, is_beyond);
    for (StoredList& list : search.lists) {
      const StoredList whole = std::move(list);
      list = {whole.feature, whole.depth, whole.has_failed, {}};
      for (std::size_t i = 0; i < whole.documents.size(); ++i)
        if (!is_beyond(whole.documents[i])) list.add(whole.documents[i], whole.rank_of(i));
    }
    std::erase_if(search.shown, [&](const ShownResult& result) { return is_beyond(result.document); });
  }
  auto& slots = search.slots.slots;
  while (slots.size() > limits.slots) slots.erase(std::prev(slots.end()));
  for (auto& [name, value] : slots) {
    if (first_invalid_utf8(value) != std::string::npos) value = to_valid_utf8(value);
    if (value.size() > limits.slot_bytes) value = std::string(truncate_utf8(value, limits.slot_bytes));
  }
}

std::string folded_query(std::string_view text) {
  const std::string valid =
      first_invalid_utf8(text) == std::string::npos ? std::string(text) : to_valid_utf8(text);
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* form = icu::Normalizer2::getNFKCCasefoldInstance(status);
  require(U_SUCCESS(status) != 0, "ICU has its data");
  const icu::UnicodeString folded = form->normalize(icu::UnicodeString::fromUTF8(valid), status);
  icu::UnicodeString joined;
  for (std::int32_t i = 0; i < folded.length();) {
    const UChar32 character = folded.char32At(i);
    i += U16_LENGTH(character);
    if (u_isUWhiteSpace(character) == 0)
      joined.append(character);
    else if (!joined.isEmpty() && !joined.endsWith(icu::UnicodeString(u' ')))
      joined.append(u' ');
  }
  joined.trim();
  std::string out;
  joined.toUTF8String(out);
  return out;
}

std::string plain_slot_name(std::string_view plain_slot) {
  return std::string(plain_slot.empty() ? kPlainSlot : plain_slot);
}

BaseQuery canonical_query(const BaseQuery& slots, std::string_view plain_slot) {
  BaseQuery out;
  for (const auto& [name, value] : slots.slots)
    if (std::string folded = folded_query(value); !folded.empty())
      out.slots.insert_or_assign(name == plain_slot ? std::string(kPlainSlot) : name, std::move(folded));
  return out;
}

std::string query_digest(std::string_view secret, std::string_view domain, const BaseQuery& slots,
                         std::string_view plain_slot) {
  std::string text(domain);
  text += '\n';
  text += slots_text(canonical_query(slots, plain_slot));
  return hmac_sha256_hex(secret, text).substr(0, kIdDigits);
}

std::string hashed_document(std::string_view secret, std::string_view key) {
  if (key.starts_with(kHashMark)) return std::string(key);
  return kHashMark + hmac_sha256_hex(secret, key).substr(0, kIdDigits);
}

std::string stored_document(const StoreIdentity& identity, std::string_view key) {
  return identity.are_queries_hashed ? hashed_document(identity.secret, key) : std::string(key);
}

void hide_words(StoredSearch& search, const StoreIdentity& identity) {
  if (!identity.are_queries_hashed) return;
  search.slots.slots.clear();
  for (std::string& document : search.documents) document = hashed_document(identity.secret, document);
}

std::string content_id(std::string_view secret, const StoredSearch& search) {
  std::string text = fmt::format("{}\n{}\n{}\n{}\n{}\n", hour_of(search.at), search.domain, search.query,
                                 search.model, search.challenger);
  for (const std::string& document : search.documents) text.append(document) += '\n';
  const auto append_numbers = [&](const auto& values, auto number_of) {
    for (const auto& value : values) fmt::format_to(std::back_inserter(text), "{} ", number_of(value));
    text += '\n';
  };
  const auto number = [](std::uint32_t value) { return value; };
  for (const StoredList& list : search.lists) {
    fmt::format_to(std::back_inserter(text), "{} {} {} ", list.feature, list.depth, list.has_failed);
    append_numbers(list.documents, number);
    append_numbers(list.ranks, number);
  }
  append_numbers(search.set_aside, number);
  append_numbers(search.shown, [](const ShownResult& result) {
    return (std::uint64_t{result.document} << 2) + static_cast<std::uint64_t>(result.team);
  });
  text += slots_text(search.slots);
  return hmac_sha256_hex(secret, text).substr(0, kIdDigits);
}

std::string new_search_id() {
  return random_hex(kIdDigits / 2);
}

std::string delivered_id(std::string_view secret, std::string_view id, std::string_view prefix) {
  std::string out = std::string(id) + random_hex(kOwnDigits / 2);
  out += binding_of(secret, out, prefix);
  return out;
}

std::string_view stored_id(std::string_view id) {
  return id.substr(0, kIdDigits);
}

bool is_search_id(std::string_view text) {
  return (text.size() == kIdDigits || text.size() == kIdDigits + 2 * kOwnDigits) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_delivered_to(std::string_view secret, std::string_view id, std::string_view prefix) {
  if (id.size() != kIdDigits + 2 * kOwnDigits) return false;
  const std::size_t bound = kIdDigits + kOwnDigits;
  return equal_in_constant_time(id.substr(bound), binding_of(secret, id.substr(0, bound), prefix));
}

std::string lists_text(const StoredSearch& search) {
  JsonObject object;
  object["documents"] = JsonArray(search.documents.begin(), search.documents.end());
  JsonArray& lists = object["lists"].emplace_array();
  for (const StoredList& list : search.lists) {
    JsonObject item{{"feature", list.feature},
                    {"depth", list.depth},
                    {"failed", list.has_failed},
                    {"documents", JsonArray(list.documents.begin(), list.documents.end())}};
    if (!list.ranks.empty()) item["ranks"] = JsonArray(list.ranks.begin(), list.ranks.end());
    lists.emplace_back(std::move(item));
  }
  JsonArray& shown = object["shown"].emplace_array();
  std::string teams;
  for (const ShownResult& result : search.shown) {
    shown.emplace_back(result.document);
    teams += kTeamLetters[static_cast<std::size_t>(result.team)];
  }
  if (!search.set_aside.empty())
    object["set_aside"] = JsonArray(search.set_aside.begin(), search.set_aside.end());
  if (teams.find_first_not_of('-') != std::string::npos) object["teams"] = teams;
  return to_text(object);
}

Result<void> read_lists_text(std::string_view text, StoredSearch& search) {
  const auto json = parse_json(text, "stored search");
  if (!json) return damaged_row(json.error().text);
  const JsonMembers members(*json);
  const JsonArray* documents = members.array("documents");
  const JsonArray* lists = members.array("lists");
  if (documents == nullptr || lists == nullptr) return damaged_row("documents or lists are missing");
  search.documents.clear();
  search.lists.clear();
  search.set_aside.clear();
  search.shown.clear();
  for (const Json& document : *documents) {
    if (!document.is_string()) return damaged_row("a document that is not a string");
    search.documents.emplace_back(document.get_string());
  }
  for (const Json& value : *lists) {
    TRY(auto list, read_stored_list(value, search.documents.size()));
    search.lists.push_back(std::move(list));
  }
  if (members.find("set_aside") != nullptr) {
    TRY(search.set_aside, read_indices(members.array("set_aside"), search.documents.size()));
  }
  return read_shown(members, search);
}

std::uint32_t DocumentNumbers::of(const std::string& document) {
  const auto [at, is_new] =
      numbers_.try_emplace(document, static_cast<std::uint32_t>(search_.documents.size()));
  if (is_new) search_.documents.push_back(document);
  return at->second;
}

JsonObject slots_json(const BaseQuery& slots) {
  JsonObject object;
  for (const auto& [name, value] : slots.slots) object[name] = value;
  return object;
}

std::string slots_text(const BaseQuery& slots) {
  return to_text(slots_json(slots));
}

std::string words_of(const BaseQuery& slots) {
  std::string words;
  for (const auto& [name, value] : slots.slots) words += (words.empty() ? "" : " · ") + value;
  return words;
}

Result<BaseQuery> read_slots_text(std::string_view text) {
  const auto json = parse_json(text, "stored slots");
  if (!json) return damaged_row(json.error().text);
  if (!json->is_object()) return damaged_row("slots that are not an object");
  BaseQuery query;
  for (const auto& [name, value] : json->get_object()) {
    if (!value.is_string()) return damaged_row("a slot that is not a string");
    query.slots.emplace(std::string(name), std::string(value.get_string()));
  }
  return query;
}

}  // namespace metafuse::service
