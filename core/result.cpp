#include "core/result.h"

#include "core/contract.h"

namespace metafuse {

ContractViolation::ContractViolation(const std::string& why, const boost::source_location& where)
    : std::logic_error(why + " (" + where.file_name() + ":" + std::to_string(where.line()) + ")") {}

void broken_contract(const char* why, const boost::source_location& where) {
  throw ContractViolation(why, where);
}

void throw_exception_from_error(const Error& error, const boost::source_location& where) {
  throw ContractViolation("value() of an error: " + error.text, where);
}

}  // namespace metafuse
