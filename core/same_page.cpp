#include "core/same_page.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include <re2/re2.h>

#include "core/contract.h"
#include "core/encoding.h"
#include "core/same_page_file.h"
#include "core/text.h"
#include "core/yaml_reader.h"

namespace metafuse {
namespace {

constexpr std::size_t kMostRules = 2000;
constexpr std::size_t kMaxPatternBytes = 500;

using Pattern = std::shared_ptr<const RE2>;

/// A key in pieces; joined again they are the key.
struct KeyParts {
  std::string_view host;
  std::string_view path;
  std::vector<std::string_view> parameters;
  std::string_view route;  ///< with its #
};

KeyParts parts_of_key(std::string_view key) {
  KeyParts parts;
  const std::size_t hash = std::min(key.find('#'), key.size());
  parts.route = key.substr(hash);
  key = key.substr(0, hash);
  const std::size_t mark = std::min(key.find('?'), key.size());
  for (std::string_view query = key.substr(std::min(mark + 1, key.size())); !query.empty();)
    parts.parameters.push_back(take_until(query, '&'));
  key = key.substr(0, mark);
  const std::size_t slash = std::min(key.find('/'), key.size());
  parts.host = key.substr(0, slash);
  parts.path = key.substr(slash);
  return parts;
}

std::string_view name_in(std::string_view parameter) {
  return parameter.substr(0, parameter.find('='));
}

std::string_view value_in(std::string_view parameter) {
  const std::size_t equals = parameter.find('=');
  return equals == std::string_view::npos ? std::string_view() : parameter.substr(equals + 1);
}

std::string joined_key(const KeyParts& parts) {
  std::string out(parts.host);
  out += parts.path;
  for (std::size_t i = 0; i < parts.parameters.size(); ++i) {
    out += i == 0 ? '?' : '&';
    out += parts.parameters[i];
  }
  return out += parts.route;
}

/// A name of the proxy's own in which dots are hyphens: "example-org" is example.org, "a--b" is a-b.
std::string with_dots(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_double = name.substr(i, 2) == "--";
    out += is_double ? '-' : name[i] == '-' ? '.' : name[i];
    i += is_double ? 1 : 0;
  }
  return out;
}

}  // namespace

struct SamePageRules::Rule {
  std::vector<std::string> hosts;  ///< "a.b", "*.a.b", "a.*", "*"
  std::string has;                 ///< a text that the key must contain; empty: any
  Pattern path;                    ///< of the whole path; none: any
  std::string to;                  ///< replaces host, path and parameters, with \1 for the path's groups
  std::string host;                ///< replaces the host
  std::string dropped_label;       ///< of the host, such as "m"
  bool has_hyphens_for_dots = false;
  bool is_small = false;     ///< the path's case means nothing
  std::string in_parameter;  ///< the page is in this parameter
  bool keeps_some = false;   ///< only the parameters in `kept` matter
  std::vector<std::string> kept;
  std::vector<std::pair<std::string, Pattern>> dropped;

  bool is_of(std::string_view own) const {
    return std::any_of(hosts.begin(), hosts.end(), [&](std::string_view pattern) {
      if (pattern == "*" || pattern == own) return true;
      if (pattern.ends_with(".*")) return own.starts_with(pattern.substr(0, pattern.size() - 1));
      if (!pattern.starts_with("*.")) return false;
      return own == pattern.substr(2) || own.ends_with(pattern.substr(1));
    });
  }

  /// The key as this rule writes it; nullopt if it does not concern the key.
  std::optional<std::string> rewritten(const std::string& key, KeyParts parts) const {
    if (!has.empty() && key.find(has) == std::string::npos) return std::nullopt;
    std::string path_out;
    if (path != nullptr) {
      if (!RE2::FullMatch(re2::StringPiece(parts.path.data(), parts.path.size()), *path)) return std::nullopt;
      if (!to.empty()) {
        RE2::Extract(re2::StringPiece(parts.path.data(), parts.path.size()), *path, to, &path_out);
        fill_in(path_out, parts);
        const bool has_query = path_out.find('?') != std::string::npos;
        if (path_out.ends_with('?')) path_out.pop_back();
        if (!has_query) append_parameters(path_out, parts);
        return path_out + std::string(parts.route);
      }
    }
    if (!in_parameter.empty()) return page_in_parameter(parts);
    const bool only_drops = host.empty() && dropped_label.empty() && !has_hyphens_for_dots && !is_small;
    if (only_drops && parts.parameters.empty()) return std::nullopt;
    const std::string host_out = new_host(parts.host);
    parts.host = host_out;
    if (is_small) parts.path = path_out = ascii_lower(parts.path);
    std::erase_if(parts.parameters, [&](std::string_view parameter) { return is_dropped(parameter); });
    return joined_key(parts);
  }

  /// Replaces @host and @p:NAME (the value of a parameter, blanks as underscores).
  static void fill_in(std::string& text, const KeyParts& parts) {
    if (const std::size_t at = text.find("@host"); at != std::string::npos) text.replace(at, 5, parts.host);
    const std::size_t at = text.find("@p:");
    if (at == std::string::npos) return;
    const std::string name = text.substr(at + 3);
    text.erase(at);
    for (const std::string_view parameter : parts.parameters) {
      if (name_in(parameter) != name) continue;
      std::string value(value_in(parameter));
      for (std::size_t blank = value.find("%20"); blank != std::string::npos;
           blank = value.find("%20", blank))
        value.replace(blank, 3, "_");
      text += value;
    }
  }

  std::optional<std::string> page_in_parameter(const KeyParts& parts) const {
    for (const std::string_view parameter : parts.parameters) {
      if (name_in(parameter) != in_parameter) continue;
      std::string url = percent_decoded(value_in(parameter));
      const std::size_t scheme = url.find("://");
      if (scheme != std::string::npos && scheme <= 5) return url.substr(scheme + 3);
    }
    return std::nullopt;
  }

  void append_parameters(std::string& out, const KeyParts& parts) const {
    char before = '?';
    for (const std::string_view parameter : parts.parameters) {
      if (is_dropped(parameter)) continue;
      out += std::exchange(before, '&');
      out += parameter;
    }
  }

  std::string new_host(std::string_view own) const {
    if (!host.empty()) return host;
    if (has_hyphens_for_dots) return with_dots(own.substr(0, own.find('.')));
    std::string out = "." + std::string(own);
    const std::size_t at = dropped_label.empty() ? std::string::npos : out.find("." + dropped_label + ".");
    if (at != std::string::npos) out.erase(at, dropped_label.size() + 1);
    out.erase(0, 1);
    return out.find('.') == std::string::npos ? std::string(own) : out;
  }

  bool is_dropped(std::string_view parameter) const {
    const std::string_view name = name_in(parameter);
    if (keeps_some) return std::find(kept.begin(), kept.end(), name) == kept.end();
    return std::any_of(dropped.begin(), dropped.end(), [&](const auto& one) {
      const std::string_view value = value_in(parameter);
      return one.first == name && (one.second == nullptr ||
                                   RE2::FullMatch(re2::StringPiece(value.data(), value.size()), *one.second));
    });
  }
};

/// Which rules may concern a host: by the whole name, by the last labels, by the first label, or all.
struct SamePageRules::Index {
  /// Tells which of several texts occur in a text, in one pass over it: a bit of the state says that the last
  /// bytes are the beginning of one of them.
  ///
  /// source: Baeza-Yates and Gonnet 1992
  class OccurringTexts {
   public:
    /// out: the bit of the text in those of found(); 0 if it has none, being empty or without room
    std::uint64_t add(std::string_view text) {
      if (text.empty() || used_ + text.size() > 64) return 0;
      first_ |= std::uint64_t{1} << used_;
      for (const char c : text) at_[static_cast<unsigned char>(c)] |= std::uint64_t{1} << used_++;
      last_ |= std::uint64_t{1} << (used_ - 1);
      return std::uint64_t{1} << (used_ - 1);
    }
    std::uint64_t found(std::string_view text) const {
      std::uint64_t state = 0, out = 0;
      for (const char c : text) {
        state = (state << 1 | first_) & at_[static_cast<unsigned char>(c)];
        out |= state & last_;
      }
      return out;
    }

   private:
    std::array<std::uint64_t, 256> at_{};  ///< by byte: where it stands in the texts
    std::uint64_t first_ = 0, last_ = 0;
    std::size_t used_ = 0;
  };

  /// Tells of most names that they are not among those added, without comparing them.
  class NameFilter {
   public:
    void add(std::string_view name) {
      if (!name.empty()) places_.set(place_of(name));
    }
    bool may_have(std::string_view name) const { return !name.empty() && places_.test(place_of(name)); }

   private:
    static std::size_t place_of(std::string_view name) {
      std::size_t sum = name.size();
      for (const char c : {name.front(), name[name.size() / 2], name.back()})
        sum = sum * 131 + static_cast<unsigned char>(c);
      return sum % kPlaces;
    }

    static constexpr std::size_t kPlaces = 8192;
    std::bitset<kPlaces> places_;
  };

  using Rules = std::vector<std::pair<const Rule*, std::uint64_t>>;  ///< with the bit of `has`

  /// The rules by a part of the host.
  class Named {
   public:
    void add(std::string name, const Rule* rule) {
      filter_.add(name);
      rules_[std::move(name)].emplace_back(rule, 0);
    }
    const Rules* find(std::string_view name) const {
      if (!filter_.may_have(name)) return nullptr;
      const auto at = rules_.find(name);
      return at == rules_.end() ? nullptr : &at->second;
    }

   private:
    NameFilter filter_;
    std::map<std::string, Rules, std::less<>> rules_;
  };

  Named by_host, by_end, by_first;
  Rules everywhere;
  OccurringTexts texts;  ///< that keys must contain for the rules of `everywhere`
};

namespace {

Pattern compiled(const std::string& text, const Place& place, Diagnostics& diagnostics) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  auto pattern = std::make_shared<const RE2>(text, options);
  if (text.size() > kMaxPatternBytes || !pattern->ok())
    diagnostics.error(place, "\"" + text.substr(0, 100) + "\" is not a regular expression of RE2: " +
                                 (pattern->ok() ? "it is too long" : pattern->error()));
  return pattern;
}

}  // namespace

SamePageRules::SamePageRules() = default;
SamePageRules::~SamePageRules() = default;

Result<std::shared_ptr<const SamePageRules>> SamePageRules::parse(std::string_view text,
                                                                  const std::string& file) {
  TRY(const auto root, parse_yaml(text, file));
  Diagnostics diagnostics(file);
  YamlMap map(root, "the file of same pages", diagnostics);
  map.take_integer("version", 1, 1);
  const YamlNode* list = map.take_required("rules");
  map.finish();
  auto out = std::make_shared<SamePageRules>();
  out->text_ = text;
  if (list != nullptr && (!list->is_list() || list->items.size() > kMostRules))
    diagnostics.error(list->place, "rules must be a list of at most " + std::to_string(kMostRules));
  for (const YamlNode& item : list == nullptr ? std::vector<YamlNode>() : list->items) {
    YamlMap keys(item, "a rule", diagnostics);
    if (!item.is_map()) continue;
    auto rule = std::make_shared<Rule>();
    keys.take_required("hosts");
    rule->hosts = keys.take_strings("hosts").value_or(std::vector<std::string>());
    rule->has = keys.take_string("has").value_or("");
    if (const auto path = keys.take_string("path")) rule->path = compiled(*path, item.place, diagnostics);
    rule->to = keys.take_string("to").value_or("");
    std::string why;
    if (!rule->to.empty() && (rule->path == nullptr || !rule->path->CheckRewriteString(rule->to, &why)))
      diagnostics.error(item.place, "to: needs `path`, and only the groups that it has" +
                                        (why.empty() ? std::string() : ": " + why));
    rule->host = keys.take_string("host").value_or("");
    rule->dropped_label = keys.take_string("drop_label").value_or("");
    rule->has_hyphens_for_dots = keys.take_bool("hyphens_for_dots").value_or(false);
    rule->is_small = keys.take_bool("ignore_case").value_or(false);
    rule->in_parameter = keys.take_string("page_in").value_or("");
    rule->keeps_some = keys.take("keep") != nullptr;
    if (rule->keeps_some) rule->kept = keys.take_strings("keep").value_or(std::vector<std::string>());
    if (const YamlNode* drop = keys.take("drop"); drop != nullptr && drop->is_map()) {
      for (const auto& [name, pattern] : keys.take_string_map("drop"))
        rule->dropped.emplace_back(name, compiled(pattern, drop->place, diagnostics));
    } else if (drop != nullptr) {
      for (std::string& name : keys.take_strings("drop").value_or(std::vector<std::string>()))
        rule->dropped.emplace_back(std::move(name), nullptr);
    }
    keys.finish();
    out->rules_.push_back(std::move(rule));
  }
  if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
  out->index();
  return std::shared_ptr<const SamePageRules>(std::move(out));
}

std::shared_ptr<const SamePageRules> SamePageRules::joined(const SamePageRules& own,
                                                           const SamePageRules& others) {
  auto out = std::make_shared<SamePageRules>();
  out->text_ = own.text_ + others.text_;
  out->rules_ = own.rules_;
  out->rules_.insert(out->rules_.end(), others.rules_.begin(), others.rules_.end());
  out->index();
  return out;
}

void SamePageRules::index() {
  auto index = std::make_unique<Index>();
  for (const auto& rule : rules_)
    for (const std::string& host : rule->hosts) {
      if (host == "*")
        index->everywhere.emplace_back(rule.get(), index->texts.add(rule->has));
      else if (host.ends_with(".*"))
        index->by_first.add(host.substr(0, host.find('.')), rule.get());
      else if (host.starts_with("*."))
        index->by_end.add(host.substr(2), rule.get());
      else
        index->by_host.add(host, rule.get());
    }
  index_ = std::move(index);
}

bool SamePageRules::apply(std::string& key) const {
  const std::string_view whole = key;
  const std::string_view host(whole.begin(), std::find_if(whole.begin(), whole.end(), [](char c) {
                                return c == '/' || c == '?' || c == '#';
                              }));
  std::optional<KeyParts> parts;
  const auto try_all = [&](const Index::Rules& rules, std::uint64_t found) {
    for (const auto& [rule, bit] : rules) {
      if ((found & bit) != bit || !rule->is_of(host)) continue;
      if (!parts) parts = parts_of_key(whole);
      auto changed = rule->rewritten(key, *parts);
      if (!changed || *changed == key || changed->empty()) continue;
      key = std::move(*changed);
      return true;
    }
    return false;
  };
  const auto try_named = [&](const Index::Named& named, std::string_view name) {
    const Index::Rules* const rules = named.find(name);
    return rules != nullptr && try_all(*rules, 0);
  };
  if (try_named(index_->by_host, host)) return true;
  for (std::size_t at = 0; at != std::string_view::npos && at < host.size();) {
    if (try_named(index_->by_end, host.substr(at))) return true;
    const std::size_t dot = host.find('.', at);
    at = dot == std::string_view::npos ? dot : dot + 1;
  }
  return try_named(index_->by_first, host.substr(0, host.find('.'))) ||
         try_all(index_->everywhere, index_->texts.found(whole));
}

const std::shared_ptr<const SamePageRules>& built_in_same_page_rules() {
  static const auto rules = [] {
    const std::span<const SamePageFile> files = same_page_files();
    require(files.size() == 1, "one file of built-in rules");
    auto read = SamePageRules::parse(files.front().text, std::string(files.front().name));
    require(read.has_value(), "the built-in rules are valid");
    return *read;
  }();
  return rules;
}

}  // namespace metafuse
