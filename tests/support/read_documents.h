#pragma once

// What the tests of documents ask of what was read.

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "fetchers/documents/source_document.h"

namespace metafuse::test {

using fetchers::SourceDocument;

inline SourceDocument one(const Result<std::vector<SourceDocument>>& read) {
  INFO((read ? "" : read.error().text));
  REQUIRE(read.has_value());
  REQUIRE(read->size() == 1);
  return read->front();
}

inline std::string refusal(const Result<std::vector<SourceDocument>>& read) {
  return read ? "read" : read.error().text;
}

inline std::string field(const SourceDocument& document, const std::string& name) {
  const auto found = document.fields.find(name);
  return found == document.fields.end() ? "-" : found->second;
}

inline std::string nested(const std::string& open, const std::string& inside, const std::string& close,
                          int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += open;
  out += inside;
  for (int i = 0; i < times; ++i) out += close;
  return out;
}

}  // namespace metafuse::test
