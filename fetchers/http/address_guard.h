#pragma once

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/deadline.h"
#include "core/result.h"

struct sockaddr;

namespace metafuse::fetchers {

/// Who may be reached at an address.
enum class Reach {
  everyone,  ///< the public: a public address
  us_only,   ///< only our own network: this machine, private networks, other special blocks
  nobody,    ///< link-local (cloud metadata services live there), multicast, unspecified
};

/// source: IANA's special-purpose address registries. An address that embeds an IPv4 address (mapped,
///         compatible, NAT64, 6to4) counts as that IPv4 address.
Reach reach_of(const sockaddr& address);
/// The same for a numeric address without a scope; `nobody` when the text is not one.
Reach reach_of(std::string_view numeric_address);

/// Whether a host name, in lower case, is one that no public server can have.
///
/// source: RFC 6761, 6762 and 8375, ICANN's .internal, and names without a dot
bool is_private_name(std::string_view host);

/// Finds out who can be reached under a host name; nullopt if the name was not found. May take seconds.
using ReachOfName = std::function<std::optional<Reach>(const std::string& host)>;

/// Whether the host in a definition is private: a private address, a name that no public server can have, or
/// a name that resolved to a private address when the definition was loaded. A public name that becomes
/// private later does not count, so that its owner cannot lead us into our own network. A name that was not
/// found, such as while a machine starts, is looked up again when it is asked for; only in the first minutes,
/// because whoever takes over a name that nobody has may then choose its address.
class OwnHost {
 public:
  /// Numeric addresses and names without a dot are decided immediately; others are looked up on a thread of
  /// their own.
  ///
  /// in:     reach_of_name - empty: the machine's resolver
  static std::shared_ptr<const OwnHost> find(const std::string& host, ReachOfName reach_of_name = {},
                                             const Clock& clock = machine_clock());

  /// Waits up to a tenth of a second for the look-up; false if it has not finished by then.
  bool is_private() const;

 private:
  using Found = std::shared_future<std::optional<Reach>>;

  OwnHost(std::string name, ReachOfName reach_of_name, const Clock& clock);
  void look_up(TimePoint now) const;
  Found found_by_now() const;

  const std::string name_;
  const ReachOfName reach_of_name_;
  const Clock& clock_;
  const TimePoint last_look_up_;  ///< later ones are not begun
  mutable std::mutex mutex_;
  mutable Found found_;
  mutable TimePoint next_look_up_;
};

/// Decides whether a request may connect to an address.
class AddressGuard {
 public:
  /// errors: bad_config: an entry that is not host:port
  static Result<AddressGuard> make(const std::vector<std::string>& allow_private);

  /// in:     origin - "host:port" of the URL being fetched; own_origin - the same of the engine's definition,
  ///         or empty
  bool may_connect(Reach reach, std::string_view origin, std::string_view own_origin) const;

 private:
  std::set<std::string, std::less<>> allowed_;
};

}  // namespace metafuse::fetchers
