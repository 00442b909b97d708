#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metafuse {

/// Reads a decimal number from the front of [at, end) and moves `at` past it.
///
/// out:    the nearest double, which may be "inf" or "nan": a caller that has no use for them must reject
///         them. False, with `at` unmoved, when [at, end) does not begin with a number.
/// cost:   a few nanoseconds up to 19 digits, beyond that as std::from_chars
bool read_double(const char*& at, const char* end, double& value);

/// Reads a whole number with an optional sign, like read_double. Also false when it does not fit.
bool read_integer(const char*& at, const char* end, std::int64_t& value);

/// Reads the whole text as one number; false when it holds anything else.
bool to_double(std::string_view text, double& value);
bool to_integer(std::string_view text, std::int64_t& value);

/// The shortest digits that read back as the same double.
std::string number_text(double value);
/// Appends number_text().
void append_number(std::string& text, double value);

}  // namespace metafuse
