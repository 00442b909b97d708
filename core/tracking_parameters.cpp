#include "core/tracking_parameters.h"

#include <algorithm>
#include <array>

namespace metafuse {
namespace {

/// In small letters, sorted.
constexpr std::string_view kNames[] = {"__hsfp",
                                       "__hssc",
                                       "__hstc",
                                       "__twitter_impression",
                                       "_branch_match_id",
                                       "_ga",
                                       "_gl",
                                       "_hsenc",
                                       "_hsmi",
                                       "_kx",
                                       "_openstat",
                                       "action_object_map",
                                       "action_ref_map",
                                       "action_type_map",
                                       "cmpid",
                                       "dclid",
                                       "dm_i",
                                       "epik",
                                       "fb_action_ids",
                                       "fb_action_types",
                                       "fb_ref",
                                       "fb_source",
                                       "fbclid",
                                       "ga_campaign",
                                       "ga_content",
                                       "ga_medium",
                                       "ga_source",
                                       "ga_term",
                                       "gad_campaignid",
                                       "gad_source",
                                       "gbraid",
                                       "gclid",
                                       "gclsrc",
                                       "gs_lcrp",
                                       "guccounter",
                                       "guce_referrer",
                                       "guce_referrer_sig",
                                       "hsctatracking",
                                       "ig_rid",
                                       "igsh",
                                       "igshid",
                                       "irclickid",
                                       "itm_campaign",
                                       "itm_content",
                                       "itm_medium",
                                       "itm_source",
                                       "jsessionid",
                                       "li_fat_id",
                                       "mc_cid",
                                       "mc_eid",
                                       "mkt_tok",
                                       "ml_subscriber",
                                       "ml_subscriber_hash",
                                       "msclkid",
                                       "nr_email_referer",
                                       "oly_anon_id",
                                       "oly_enc_id",
                                       "phpsessid",
                                       "rb_clickid",
                                       "ref_src",
                                       "ref_url",
                                       "s_cid",
                                       "s_kwcid",
                                       "sc_cid",
                                       "sr_share",
                                       "srsltid",
                                       "ttclid",
                                       "twclid",
                                       "vero_conv",
                                       "vero_id",
                                       "vgo_ee",
                                       "wbraid",
                                       "wickedid",
                                       "wt.mc_id",
                                       "wt_mc",
                                       "yclid",
                                       "ymclid",
                                       "ysclid"};

constexpr std::string_view kPrefixes[] = {"utm_", "pk_", "mtm_", "matomo_", "piwik_", "hsa_", "aspsessionid"};

}  // namespace

bool is_tracking_parameter(std::string_view name) {
  std::array<char, 32> buffer{};  // no name is that long, and of a longer one the prefix decides
  const std::size_t size = std::min(name.size(), buffer.size());
  std::transform(name.begin(), name.begin() + static_cast<std::ptrdiff_t>(size), buffer.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::string_view lower(buffer.data(), size);
  const auto is_prefix = [&](std::string_view prefix) {
    return lower.starts_with(prefix) && name.size() > prefix.size();
  };
  return (size == name.size() && std::binary_search(std::begin(kNames), std::end(kNames), lower)) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes), is_prefix);
}

}  // namespace metafuse
