#pragma once

#include <string>
#include <utility>

#include <boost/system/result.hpp>

namespace metafuse {

/// The kind of a failure; the value is the exit status of the command line (sysexits.h).
enum class Code {
  usage = 64,        ///< the command line or a request's parameters are wrong
  bad_data = 65,     ///< a data file is malformed
  no_input = 66,     ///< an input does not exist or cannot be read
  unavailable = 69,  ///< an engine, a port or another service cannot be reached
  internal = 70,     ///< a bug of ours
  try_again = 75,    ///< may succeed later: disk full, deadline passed, busy
  bad_config = 78,   ///< a template, engine or server YAML is wrong
};

/// An expected failure: what went wrong, where, and what to do about it. The text is one sentence, or one
/// complete line per mistake when a file has several.
struct Error {
  Code code = Code::internal;
  std::string text;

  friend bool operator==(const Error&, const Error&) = default;
};

/// Thrown by Result::value() when it holds an error, which happens only if a caller did not check it.
[[noreturn]] void throw_exception_from_error(const Error& error, const boost::source_location& where);

/// A value or an Error. Test with has_value(), read with *result, propagate with TRY.
template <class T>
class [[nodiscard]] Result : public boost::system::result<T, Error> {
 public:
  using boost::system::result<T, Error>::result;
};

template <>
class [[nodiscard]] Result<void> : public boost::system::result<void, Error> {
 public:
  using boost::system::result<void, Error>::result;
};

// The project's only two general macros propagate errors. TRY declares its first argument with the value
// of the call, so that the code after it reads as if nothing could fail:
//
//     TRY(const auto runs, read_runs(paths));
//     TRY_VOID(check_names(runs));
#define METAFUSE_JOINED(a, b) a##b
#define METAFUSE_NAMED(line) METAFUSE_JOINED(tried_on_line_, line)

/// Declares a variable with the value of a Result, or returns its error.
#define TRY(declaration, ...)                                                        \
  auto METAFUSE_NAMED(__LINE__) = (__VA_ARGS__);                                     \
  if (!METAFUSE_NAMED(__LINE__)) return std::move(METAFUSE_NAMED(__LINE__).error()); \
  declaration = *std::move(METAFUSE_NAMED(__LINE__))

/// Returns the error of a Result whose value is not needed.
#define TRY_VOID(...) \
  if (auto tried = (__VA_ARGS__); !tried) return std::move(tried.error())

/// The only way to make an Error.
[[nodiscard]] inline Error fail(Code code, std::string text) {
  return Error{code, std::move(text)};
}

}  // namespace metafuse
