#include "fetchers/health/health_record.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>

#include "core/text.h"

namespace metafuse::fetchers {
namespace {

constexpr double kAlarm = 12;  ///< one in 160,000 answers per chart, of which there are sixteen
constexpr double kMostEvidence = 2 * kAlarm;
constexpr double kRecovered = 4;
constexpr double kBrokenRate = 0.85;  ///< q: how often a broken engine's answers have the oddity
constexpr double kHighRate = 0.5;     ///< from this p on, q is kHighBrokenRate
constexpr double kHighBrokenRate = 0.97;
constexpr double kUselessRate = 0.8;     ///< above this p, an oddity is no sign
constexpr std::uint64_t kLearning = 30;  ///< good answers before shapes are judged
constexpr std::size_t kFewestFigures = 8;
constexpr double kMostCounted = 2000;  ///< older answers count half from here on
constexpr std::size_t kMostPending = 64;
constexpr std::size_t kMostNames = 24;  ///< hosts and languages of a profile
constexpr std::size_t kMostNameBytes = 253;
constexpr double kForgetting = 0.97;

constexpr std::int64_t kHabitSeconds = 600;  ///< in which one sender's habits count once
constexpr std::size_t kMostOddSenders = 256;

/// Whether an oddity may come from what one sender likes to ask instead of from the engine.
bool may_be_habit(Oddity oddity) {
  return oddity == Oddity::few || oddity == Oddity::other_language || oddity == Oddity::off_topic ||
         oddity == Oddity::repeated;
}

bool is_hard(Oddity oddity) {
  return oddity == Oddity::refused || oddity == Oddity::unreadable || oddity == Oddity::gone ||
         oddity == Oddity::known_empty;
}

void judge_failure(const AnswerShape& shape, Oddities& out) {
  constexpr int kRefusals[] = {401, 403, 407, 429, 451};
  switch (shape.failure) {
    case Failure::captcha:
    case Failure::blocked:
    case Failure::rate_limited:
      return out.set(Oddity::refused);
    case Failure::http_status:
      if (std::find(std::begin(kRefusals), std::end(kRefusals), shape.status) != std::end(kRefusals))
        return out.set(Oddity::refused);
      return out.set(Oddity::gone);
    case Failure::refused:
    case Failure::tls:
      return out.set(Oddity::gone);
    case Failure::timeout:
      return out.set(Oddity::slow);
    default:
      return out.set(Oddity::unreadable);
  }
}

/// Whether a status may be the answer to one query that the engine does not understand.
bool is_about_the_query(int status) {
  return status == 400 || status == 414 || status == 422;
}

/// Whether a failure is the caller's or our own doing.
bool tells_nothing(const AnswerShape& shape, const AnswerSetting& setting, const HealthProfile& profile) {
  switch (shape.failure) {
    case Failure::not_allowed:
    case Failure::query_too_long:
    case Failure::breaker_open:
    case Failure::not_recorded:
    case Failure::broken:
      return true;
    case Failure::rate_limited:  // by the engine, or by our own limit
      return !shape.is_engines_fault;
    case Failure::http_status:
      return is_about_the_query(shape.status);
    case Failure::timeout: {
      const double usual = profile.usual(Figure::seconds).value_or(1);
      return setting.patience_seconds > 0 && setting.patience_seconds < 3 * usual;
    }
    case Failure::none:
      return shape.results() == 0 && setting.others == Others::little && !setting.is_known;
    default:
      return false;
  }
}

/// Compares a figure with the usual one, if both are known.
template <class IsOdd>
void compare(const AnswerShape& shape, const HealthProfile& profile, Figure figure, Oddity oddity,
             Oddities& out, const IsOdd& is_odd) {
  const auto now = shape.value(figure), usual = profile.usual(figure);
  if (now && usual && is_odd(*now, *usual)) out.set(oddity);
}

void judge_links(const AnswerShape& shape, const HealthProfile& profile, Oddities& out) {
  const auto is_other_size = [](double now, double usual) { return now > 2.5 * usual || now < 0.4 * usual; };
  compare(shape, profile, Figure::url_bytes, Oddity::odd_links, out, is_other_size);
  if (shape.hosts.empty()) return;
  double known = 0, best = 0;
  std::string_view main_host;
  for (const auto& [host, share] : profile.hosts)
    if (share > best) best = share, main_host = host;
  for (const std::string& host : shape.hosts) known += host == main_host ? 1 : 0;
  known /= static_cast<double>(shape.hosts.size());
  if (best > 0.6) {
    if (known < best / 3) out.set(Oddity::odd_links);
    return;
  }
  if (shape.hosts.size() >= 4)
    compare(shape, profile, Figure::top_host, Oddity::odd_links, out,
            [](double now, double usual) { return now > 2 * usual + 0.2; });
}

void judge_language(const AnswerShape& shape, const HealthProfile& profile, Oddities& out) {
  if (shape.language.empty()) return;
  for (const auto& [language, share] : profile.languages)
    if (share > 0.8 && language != shape.language) out.set(Oddity::other_language);
}

/// A query without what people vary when they ask the same again: capitals, punctuation and blanks.
std::string plain_words_of(std::string_view query) {
  std::string out;
  for (const char c : query)
    if (is_ascii_letter_or_digit(c) || static_cast<unsigned char>(c) >= 0x80)
      out += ascii_lower(c);
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

bool is_repeated(const AnswerShape& shape, const AnswerSetting& setting, const HealthRecord& record) {
  if (shape.keys.size() < 3 || record.last_keys.empty()) return false;
  if (plain_words_of(setting.query) == plain_words_of(record.last_query)) return false;
  const std::set<std::string_view> before(record.last_keys.begin(), record.last_keys.end());
  const auto same = std::count_if(shape.keys.begin(), shape.keys.end(),
                                  [&](const std::string& key) { return before.contains(key); });
  return static_cast<double>(same) >= 0.8 * static_cast<double>(shape.keys.size());
}

/// Compares the figures of an answer with results.
void judge_shape(const AnswerShape& shape, const AnswerSetting& setting, const HealthProfile& profile,
                 Oddities& out) {
  if (setting.others != Others::little)
    compare(shape, profile, Figure::results, Oddity::few, out,
            [](double now, double usual) { return now < 0.6 * usual; });
  compare(shape, profile, Figure::with_title, Oddity::untitled, out,
          [](double now, double usual) { return now < usual - 0.3; });
  compare(shape, profile, Figure::with_text, Oddity::textless, out,
          [](double now, double usual) { return now < usual - 0.4; });
  compare(shape, profile, Figure::text_bytes, Oddity::textless, out,
          [](double now, double usual) { return usual > 20 && now < 0.25 * usual; });
  compare(shape, profile, Figure::title_bytes, Oddity::odd_titles, out, [&](double now, double usual) {
    return shape.results() >= 2 && (now > 2.5 * usual || now < 0.4 * usual);
  });
  compare(shape, profile, Figure::distinct, Oddity::odd_titles, out,
          [&](double now, double usual) { return shape.results() >= 3 && now < 0.5 * usual; });
  compare(shape, profile, Figure::on_topic, Oddity::off_topic, out,
          [](double now, double usual) { return usual >= 0.4 && now < 0.25 * usual; });
  compare(shape, profile, Figure::shared, Oddity::apart, out,
          [](double now, double usual) { return usual >= 0.15 && now <= 0; });
  judge_links(shape, profile, out);
  judge_language(shape, profile, out);
}

void learn_name(std::map<std::string, double, std::less<>>& shares, const std::string& name, double weight) {
  for (auto& [other, share] : shares) share *= 1 - weight;
  if (name.size() <= kMostNameBytes) shares[name] += weight;
  if (shares.size() <= kMostNames) return;
  shares.erase(std::min_element(shares.begin(), shares.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; }));
}

void learn(HealthProfile& profile, const AnswerShape& shape, const Oddities& oddities, bool is_known) {
  if (profile.judged >= kMostCounted) {
    profile.judged /= 2;
    profile.judged_known /= 2;
    for (double& count : profile.odd) count /= 2;
  }
  ++profile.judged;
  profile.judged_known += is_known ? 1 : 0;
  for (std::size_t k = 0; k < kOddities; ++k) profile.odd[k] += oddities.has(static_cast<Oddity>(k)) ? 1 : 0;
  if (shape.failure != Failure::none || shape.results() == 0) return;
  std::array<double, kFigures> row;
  for (std::size_t k = 0; k < kFigures; ++k)
    row[k] = shape.values[k].value_or(std::numeric_limits<double>::quiet_NaN());
  if (profile.window.size() < HealthProfile::kWindow)
    profile.window.push_back(row);
  else
    profile.window[profile.noted % HealthProfile::kWindow] = row;
  ++profile.noted;
  const double news = std::max(1 - kForgetting, 1 / static_cast<double>(profile.noted));
  for (const std::string& host : shape.hosts)
    learn_name(profile.hosts, host, news / static_cast<double>(shape.hosts.size()));
  if (!shape.language.empty()) learn_name(profile.languages, shape.language, news);
}

/// What an answer adds to a chart.
double increment(const HealthProfile& profile, Oddity oddity, bool is_there) {
  const double p = profile.rate(oddity);
  if (p > kUselessRate) return 0;
  const double q = p >= kHighRate ? kHighBrokenRate : kBrokenRate;
  return is_there ? std::log(q / p) : std::log((1 - q) / (1 - p));
}

/// Adds an answer's evidence to the charts.
///
/// out:    the oddity whose chart alarms, the strongest if there are several
std::optional<Oddity> add_evidence(HealthRecord& record, const Oddities& oddities, bool is_known) {
  std::optional<Oddity> alarm;
  double most = kAlarm;
  for (std::size_t k = 0; k < kOddities; ++k) {
    const auto oddity = static_cast<Oddity>(k);
    if (!record.profile.is_learned() && !is_hard(oddity)) continue;
    if (oddity == (is_known ? Oddity::empty : Oddity::known_empty)) continue;  // of other queries
    double& sum = record.evidence[k];
    sum = std::clamp(sum + increment(record.profile, oddity, oddities.has(oddity)), 0.0, kMostEvidence);
    if (sum < most || !oddities.has(oddity)) continue;
    // That anything is odd alarms only where no single oddity does.
    if (oddity == Oddity::any && alarm) continue;
    alarm = oddity;
    most = sum;
  }
  return alarm;
}

/// Leaves out what may be a habit of a sender of whom it has counted lately, so that nobody alone can make an
/// engine look broken to everybody.
Oddities without_habits(HealthRecord& record, const Oddities& oddities, std::uint64_t sender,
                        std::int64_t now) {
  Oddities rest;
  bool has_habits = false;
  for (std::size_t k = 0; k + 1 < kOddities; ++k) {
    const auto oddity = static_cast<Oddity>(k);
    if (!oddities.has(oddity)) continue;
    if (may_be_habit(oddity))
      has_habits = true;
    else
      rest.set(oddity);
  }
  if (sender == 0 || !has_habits) return oddities;
  auto& senders = record.odd_senders;
  std::erase_if(senders, [&](const auto& one) { return now - one.second >= kHabitSeconds; });
  if (senders.contains(sender)) return rest;
  if (senders.size() == kMostOddSenders)
    senders.erase(std::min_element(senders.begin(), senders.end(),
                                   [](const auto& a, const auto& b) { return a.second < b.second; }));
  senders.emplace(sender, now);
  return oddities;
}

/// The oddity that the recent answers have most often.
Oddity commonest(const HealthRecord& record, const Oddities& last) {
  const auto end = record.evidence.end() - 1;
  const auto at = std::max_element(record.evidence.begin(), end);
  if (*at > 0) return static_cast<Oddity>(at - record.evidence.begin());
  for (std::size_t k = 0; k + 1 < kOddities; ++k)
    if (last.has(static_cast<Oddity>(k))) return static_cast<Oddity>(k);
  return Oddity::any;
}

void become(HealthRecord& record, HealthState state, Oddity sign, std::int64_t now) {
  record.state = state;
  record.sign = sign;
  record.since = now;
  record.recovery = 0;
  record.pending.clear();
}

/// Looks for evidence that a broken engine works again.
bool has_recovered(HealthRecord& record, const Oddities& oddities) {
  record.recovery =
      std::max(0.0, record.recovery - increment(record.profile, record.sign, oddities.has(record.sign)));
  if (record.sign != Oddity::any && oddities.has_any()) record.recovery = std::min(record.recovery, 1.0);
  return record.recovery >= kRecovered;
}

void keep_for_learning(HealthRecord& record, const AnswerShape& shape, const Oddities& oddities,
                       bool is_known) {
  if (record.pending.size() < kMostPending) record.pending.push_back({shape, oddities, is_known});
  if (record.is_suspected()) return;
  for (const auto& [kept, its, was_known] : record.pending) learn(record.profile, kept, its, was_known);
  record.pending.clear();
}

}  // namespace

std::optional<double> HealthProfile::usual(Figure figure) const {
  std::vector<double> values;
  for (const auto& row : window)
    if (const double value = row[static_cast<std::size_t>(figure)]; !std::isnan(value))
      values.push_back(value);
  if (values.size() < kFewestFigures) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double HealthProfile::rate(Oddity oddity) const {
  const double count = odd[static_cast<std::size_t>(oddity)];
  const double answers = oddity == Oddity::known_empty ? judged_known
                         : oddity == Oddity::empty     ? judged - judged_known
                                                       : judged;
  return std::min(0.99, (count + 1 + std::sqrt(count)) / (answers + 6));
}

bool HealthProfile::is_learned() const {
  return judged >= static_cast<double>(kLearning) && window.size() >= kFewestFigures;
}

bool HealthRecord::is_suspected() const {
  return std::any_of(evidence.begin(), evidence.end(), [](double sum) { return sum >= kAlarm / 2; });
}

std::optional<Oddities> oddities_of(const AnswerShape& shape, const AnswerSetting& setting,
                                    const HealthRecord& record) {
  const HealthProfile& profile = record.profile;
  if (tells_nothing(shape, setting, profile)) return std::nullopt;
  Oddities out;
  if (shape.failure != Failure::none) {
    judge_failure(shape, out);
    return out;
  }
  if (shape.results() == 0) {
    out.set(setting.is_known ? Oddity::known_empty : Oddity::empty);
    return out;
  }
  if (is_repeated(shape, setting, record)) out.set(Oddity::repeated);
  compare(shape, profile, Figure::seconds, Oddity::slow, out,
          [](double now, double usual) { return now > 1 && now > 4 * usual; });
  judge_shape(shape, setting, profile, out);
  return out;
}

bool note_answer(HealthRecord& record, const AnswerShape& shape, const AnswerSetting& setting,
                 std::int64_t now) {
  const auto all = oddities_of(shape, setting, record);
  if (!all) return false;
  record.last = now;
  if (!shape.keys.empty()) {
    record.last_keys = shape.keys;
    record.last_query = setting.query;
  }
  const Oddities oddities = without_habits(record, *all, setting.sender, now);
  if (all->has_any() && !oddities.has_any()) return false;  // nor is it a good answer
  const auto alarm = add_evidence(record, oddities, setting.is_known);
  if (alarm) {
    const Oddity sign = *alarm == Oddity::any ? commonest(record, oddities) : *alarm;
    const HealthState state = state_behind(sign);
    if (record.state == state) {
      record.recovery = 0;
      return false;
    }
    become(record, state, *alarm == Oddity::any ? Oddity::any : sign, now);
    return true;
  }
  if (record.is_broken()) {
    if (!has_recovered(record, oddities)) return false;
    record.evidence.fill(0);
    become(record, HealthState::works, Oddity::any, now);
    return true;
  }
  keep_for_learning(record, shape, oddities, setting.is_known);
  return false;
}

std::pair<HealthState, Oddity> state_shown_by(const std::vector<Oddities>& answers) {
  std::array<std::size_t, kOddities> counts{};
  for (const Oddities& one : answers)
    for (std::size_t k = 0; k < kOddities; ++k) counts[k] += one.has(static_cast<Oddity>(k)) ? 1 : 0;
  if (2 * counts.back() <= answers.size()) return {HealthState::works, Oddity::any};
  const auto at = std::max_element(counts.begin(), counts.end() - 1);
  const auto sign = static_cast<Oddity>(at - counts.begin());
  return {state_behind(sign), sign};
}

}  // namespace metafuse::fetchers
