#include "templates/scalar_places.h"

#include <algorithm>
#include <string>

namespace metafuse::templates {
namespace {

/// Reads a scalar's source again and notes where each byte of its value came from. Whatever it does not know
/// makes its value differ from the parser's, and the caller falls back.
class Follower {
 public:
  Follower(std::string_view source, const YamlNode& scalar) : source_(source), wanted_(scalar.text) {
    for (line_ = 1; line_ < scalar.place.line && at_ < source_.size(); ++line_)
      at_ = std::min(source_.find('\n', at_), source_.size() - 1) + 1;
    line_begin_ = at_;
    at_ += scalar.place.column - 1;
  }

  std::vector<Place> follow() {
    skip_properties();
    const char first = peek();
    if (first == '|' || first == '>') {
      follow_block(first == '>');
    } else {
      const bool is_quoted = first == '\'' || first == '"';
      if (is_quoted) ++at_;
      while (!is_done() && at_ < source_.size()) follow_flow(is_quoted ? first : '\0');
    }
    places_.push_back(here());
    return value_ == wanted_ ? std::move(places_) : std::vector<Place>{};
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool is_done() const { return value_.size() >= wanted_.size(); }
  Place here() const { return {line_, at_ - line_begin_ + 1}; }
  bool at_line_end() const { return peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }

  void take(char c, std::size_t length) {
    value_ += c;
    places_.push_back(here());
    at_ += length;
  }

  void drop_last() {
    value_.pop_back();
    places_.pop_back();
  }

  void next_line() {
    at_ = std::min(source_.find('\n', at_), source_.size() - 1) + 1;
    ++line_;
    line_begin_ = at_;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }

  void skip_properties() {
    while (peek() == '&' || peek() == '!') {
      while (at_ < source_.size() && peek() != ' ' && !at_line_end()) ++at_;
      skip_blanks();
    }
  }

  void follow_flow(char quote) {
    if (at_line_end()) return fold();
    if (quote == '\'' && peek() == '\'') return take('\'', 2);
    if (quote == '"' && peek() == '\\') return take_escape();
    take(peek(), 1);
  }

  /// One line end inside a flow scalar is a blank, more are line ends.
  void fold() {
    while (!value_.empty() && (value_.back() == ' ' || value_.back() == '\t')) drop_last();
    std::size_t line_ends = 0;
    const Place place = here();
    for (; at_line_end(); ++line_ends) {
      next_line();
      skip_blanks();
    }
    value_.append(line_ends == 1 ? 1 : line_ends - 1, line_ends == 1 ? ' ' : '\n');
    places_.resize(value_.size(), place);
  }

  void take_escape() {
    if (peek(1) == '\n' || peek(1) == '\r') {
      next_line();
      return skip_blanks();
    }
    constexpr std::string_view kNames = "0abtnvfre \"/\\";
    constexpr std::string_view kValues("\0\a\b\t\n\v\f\r\x1b \"/\\", 13);
    const std::size_t index = kNames.find(peek(1));
    if (index != std::string_view::npos) return take(kValues[index], 2);
    take_code(peek(1) == 'x' ? 2 : peek(1) == 'u' ? 4 : 8);
  }

  /// \xHH and the like: the value's bytes are known, so only their number is taken from the first of them.
  void take_code(std::size_t digits) {
    const auto lead = static_cast<unsigned char>(wanted_[value_.size()]);
    const std::size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    const Place place = here();
    value_ += wanted_.substr(value_.size(), bytes);
    places_.resize(value_.size(), place);
    at_ += 2 + digits;
  }

  void follow_block(bool is_folded) {
    next_line();
    std::size_t indent = 0;
    for (std::size_t begin = at_; begin < source_.size(); begin = source_.find('\n', begin) + 1) {
      const std::size_t text = source_.find_first_not_of(' ', begin);
      indent = text == std::string_view::npos ? 0 : text - begin;
      if (text == std::string_view::npos || (source_[text] != '\n' && source_[text] != '\r')) break;
      if (source_.find('\n', begin) == std::string_view::npos) break;
    }
    while (!is_done() && at_ < source_.size()) {
      for (std::size_t i = 0; i < indent && peek() == ' '; ++i) ++at_;
      while (!is_done() && at_ < source_.size() && !at_line_end()) take(peek(), 1);
      if (is_done()) return;
      is_folded ? fold_block_line() : end_block_line();
    }
  }

  void end_block_line() {
    take('\n', 0);
    next_line();
  }

  void fold_block_line() {
    const Place place = here();
    std::size_t line_ends = 0;
    while (at_line_end()) {
      next_line();
      ++line_ends;
      const std::size_t text = source_.find_first_not_of(' ', at_);
      if (text == std::string_view::npos || source_[text] != '\n') break;
      at_ = text;
    }
    const bool is_last = value_.size() + 1 == wanted_.size() && wanted_.back() == '\n';
    value_.append(line_ends == 1 ? 1 : line_ends - 1, line_ends == 1 && !is_last ? ' ' : '\n');
    places_.resize(value_.size(), place);
  }

  std::string_view source_;
  std::string_view wanted_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begin_ = 0;
  std::string value_;
  std::vector<Place> places_;
};

}  // namespace

std::vector<Place> scalar_places(std::string_view source, const YamlNode& scalar) {
  std::vector<Place> places;
  if (scalar.place.line > 0) places = Follower(source, scalar).follow();
  if (places.size() != scalar.text.size() + 1) places.assign(scalar.text.size() + 1, scalar.place);
  return places;
}

}  // namespace metafuse::templates
