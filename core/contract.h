#pragma once

#include <stdexcept>
#include <string>

#include <boost/assert/source_location.hpp>

namespace metafuse {

/// A broken precondition: a bug of ours, never the user's mistake. Caught only in main() and at the top of
/// a request.
class ContractViolation : public std::logic_error {
 public:
  ContractViolation(const std::string& why, const boost::source_location& where);
};

[[noreturn]] void broken_contract(const char* why, const boost::source_location& where);

/// Checks a precondition. Active in every build, release included.
inline void require(bool condition, const char* why,
                    const boost::source_location& where = BOOST_CURRENT_LOCATION) {
  if (!condition) [[unlikely]]
    broken_contract(why, where);
}

}  // namespace metafuse
