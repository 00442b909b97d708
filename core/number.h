#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace metafuse {

/// Reads a decimal number from the front of [at, end) and moves `at` behind it.
///
/// out:    the nearest double (also "inf" and "nan", which the caller refuses where they mean nothing);
///         false, with `at` unmoved, when no number stands there
/// cost:   a few nanoseconds up to 19 digits, else std::from_chars
bool read_double(const char*& at, const char* end, double& value);

/// A whole number with an optional sign, as read_double. False also when it does not fit.
bool read_integer(const char*& at, const char* end, std::int64_t& value);

/// The whole text as a number; false when anything else stands there.
bool to_double(std::string_view text, double& value);
bool to_integer(std::string_view text, std::int64_t& value);

/// Appends the shortest digits that read back to the same double.
void append_number(std::string& text, double value);
void append_number(std::string& text, std::int64_t value);

}  // namespace metafuse
