#include "core/tracking_parameters.h"

#include <algorithm>

#include "core/text.h"
#include "core/yaml_reader.h"

namespace metafuse {
namespace {

constexpr std::string_view kUsualNames =
    "__hsfp __hssc __hstc __twitter_impression _branch_match_id _ga _gl _hsenc _hsmi _kx _openstat "
    "action_object_map action_ref_map action_type_map cmpid dclid dm_i epik fb_action_ids "
    "fb_action_types fb_ref fb_source fbclid ga_campaign ga_content ga_medium ga_source ga_term "
    "gad_campaignid gad_source gbraid gclid gclsrc gs_lcrp guccounter guce_referrer guce_referrer_sig "
    "hsctatracking ig_rid igsh igshid irclickid itm_campaign itm_content itm_medium itm_source "
    "jsessionid li_fat_id mc_cid mc_eid mkt_tok ml_subscriber ml_subscriber_hash msclkid "
    "nr_email_referer oly_anon_id oly_enc_id phpsessid rb_clickid ref_ ref_src ref_url s_cid s_kwcid sc_cid "
    "smid spm sr_share srsltid ttclid twclid vero_conv vero_id vgo_ee wbraid wickedid wt.mc_id wt_mc yclid "
    "ymclid ysclid";
constexpr std::string_view kUsualPrefixes = "aspsessionid hsa_ matomo_ mtm_ piwik_ pk_ utm_";

std::vector<std::string> words_in(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) words.emplace_back(take_until(text, ' '));
  return words;
}

std::vector<std::string> take_names(YamlMap& map, const char* key, Diagnostics& diagnostics) {
  std::vector<std::string> names = map.take_strings(key).value_or(std::vector<std::string>{});
  for (std::string& name : names) {
    name = ascii_lower(name);
    if (name.empty() || name.find_first_of("&=?#% \t") != std::string::npos)
      diagnostics.error(map.place(), std::string(key) + ": \"" + name +
                                         "\" is not a parameter name; write only what precedes the =");
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

const TrackingParameters& default_tracking_parameters() {
  static const TrackingParameters list = {words_in(kUsualNames), words_in(kUsualPrefixes),
                                          built_in_same_page_rules()};
  return list;
}

bool TrackingParameters::has(std::string_view name) const {
  const std::string small = ascii_lower(name);
  const auto is_prefix = [&](const std::string& prefix) {
    return small.starts_with(prefix) && small.size() > prefix.size();
  };
  return std::binary_search(names.begin(), names.end(), small) ||
         std::any_of(prefixes.begin(), prefixes.end(), is_prefix);
}

Result<TrackingParameters> parse_tracking_parameters(std::string_view text, const std::string& file) {
  TRY(auto root, parse_yaml(text, file));
  Diagnostics diagnostics(file);
  YamlMap map(root, "the list of tracking parameters", diagnostics);
  map.take_integer("version", 1, 1);
  TrackingParameters list;
  list.names = take_names(map, "names", diagnostics);
  list.prefixes = take_names(map, "prefixes", diagnostics);
  map.finish();
  if (diagnostics.has_errors()) return diagnostics.to_error(Code::bad_config);
  return list;
}

}  // namespace metafuse
