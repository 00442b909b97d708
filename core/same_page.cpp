#include "core/same_page.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include <re2/re2.h>

#include "core/byte_blocks.h"
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
  bool needs_parameters = false;  ///< changes no key without them

  bool is_of(std::string_view own) const {
    return std::any_of(hosts.begin(), hosts.end(), [&](std::string_view pattern) {
      if (pattern == "*" || pattern == own) return true;
      if (pattern.ends_with(".*")) return own.starts_with(pattern.substr(0, pattern.size() - 1));
      if (!pattern.starts_with("*.")) return false;
      return own == pattern.substr(2) || own.ends_with(pattern.substr(1));
    });
  }

  /// The key as this rule writes it; nullopt if it does not concern the key.
  std::optional<std::string> rewritten(KeyParts parts) const {
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
    if (needs_parameters && parts.parameters.empty()) return std::nullopt;
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
  /// Tells of most names that they are not among those added, without comparing them.
  class NameFilter {
   public:
    void add(std::string_view name) {
      if (!name.empty()) places_.set(place_of(name));
    }
    bool may_have(std::string_view name) const { return !name.empty() && places_.test(place_of(name)); }

   private:
    static std::size_t place_of(std::string_view name) {
      const auto byte = [&](std::size_t at) { return std::size_t{static_cast<unsigned char>(name[at])}; };
      return (name.size() * 2248091 + byte(0) * 17161 + byte(name.size() / 2) * 131 + byte(name.size() - 1)) %
             kPlaces;
    }

    static constexpr std::size_t kPlaces = 8192;
    std::bitset<kPlaces> places_;
  };

  using Rules = std::vector<const Rule*>;
  using RulesByName = std::map<std::string, Rules, std::less<>>;

  RulesByName by_host, by_end, by_first;
  Rules everywhere;
  NameFilter names;  ///< in the three maps

  void add(RulesByName& rules, const std::string& name, const Rule* rule) {
    rules[name].push_back(rule);
    names.add(name);
  }

  bool may_have_rules_of(std::string_view host) const {
    if (names.may_have(host.substr(0, host.find('.')))) return true;
    for (std::string_view end = host; !end.empty(); take_until(end, '.'))
      if (names.may_have(end)) return true;
    return false;
  }
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
    const bool only_drops =
        rule->host.empty() && rule->dropped_label.empty() && !rule->has_hyphens_for_dots && !rule->is_small;
    rule->needs_parameters = rule->to.empty() && (!rule->in_parameter.empty() || only_drops);
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
        index->everywhere.push_back(rule.get());
      else if (host.ends_with(".*"))
        index->add(index->by_first, host.substr(0, host.find('.')), rule.get());
      else if (host.starts_with("*."))
        index->add(index->by_end, host.substr(2), rule.get());
      else
        index->add(index->by_host, host, rule.get());
    }
  index_ = std::move(index);
}

std::optional<std::string> SamePageRules::rewritten(std::string_view key) const {
  const std::string_view host = key.substr(
      0, find_byte(key, [](ByteBlock bytes) { return (bytes == '/') | (bytes == '?') | (bytes == '#'); }));
  const bool has_parameters = key.find('?', host.size()) != std::string_view::npos;
  std::optional<KeyParts> parts;
  const auto try_all = [&](const Index::Rules& rules) -> std::optional<std::string> {
    for (const Rule* rule : rules) {
      if ((rule->needs_parameters && !has_parameters) || !contains_text(key, rule->has) || !rule->is_of(host))
        continue;
      if (!parts) parts = parts_of_key(key);
      auto changed = rule->rewritten(*parts);
      if (changed && *changed != key && !changed->empty()) return changed;
    }
    return std::nullopt;
  };
  const auto try_named = [&](const Index::RulesByName& rules, std::string_view name) {
    const auto at = rules.find(name);
    return at == rules.end() ? std::nullopt : try_all(at->second);
  };
  if (index_->may_have_rules_of(host)) {
    if (auto changed = try_named(index_->by_host, host)) return changed;
    for (std::string_view end = host; !end.empty(); take_until(end, '.'))
      if (auto changed = try_named(index_->by_end, end)) return changed;
    if (auto changed = try_named(index_->by_first, host.substr(0, host.find('.')))) return changed;
  }
  return try_all(index_->everywhere);
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
