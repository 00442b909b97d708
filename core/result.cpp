#include "core/result.h"

#include "core/contract.h"

namespace metafuse {

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  throw ContractViolation("value() of an error: " + error.text, where);
}

}  // namespace metafuse
