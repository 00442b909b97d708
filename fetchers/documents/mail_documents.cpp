#include "fetchers/documents/mail_documents.h"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <gmime/gmime.h>

#include "core/text.h"
#include "fetchers/documents/text_documents.h"

namespace metafuse::fetchers {
namespace {

constexpr std::size_t kMostMails = 100'000;
constexpr std::size_t kMostMailText = std::size_t{1} << 20;

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Unref>;

std::string taken_text(char* text) {
  const std::unique_ptr<char, decltype(&g_free)> owned(text, g_free);
  return text == nullptr ? std::string() : to_valid_utf8(text);
}

/// The parts of one mail that people read.
struct MailText {
  std::string plain, html, attachments;
};

void add_part(GMimeObject*, GMimeObject* part, gpointer into) {
  auto& text = *static_cast<MailText*>(into);
  if (!GMIME_IS_PART(part)) return;
  const char* file = g_mime_part_get_filename(GMIME_PART(part));
  if (file != nullptr && text.attachments.size() < 1000) text.attachments += std::string(file) + '\n';
  if (!GMIME_IS_TEXT_PART(part) || g_mime_part_is_attachment(GMIME_PART(part))) return;
  const bool is_html = g_mime_content_type_is_type(g_mime_object_get_content_type(part), "text", "html");
  std::string& kept = is_html ? text.html : text.plain;
  if (kept.size() >= kMostMailText) return;
  kept += taken_text(g_mime_text_part_get_text(GMIME_TEXT_PART(part))) + '\n';
}

SourceDocument mail_document(GMimeMessage* message) {
  MailText text;
  if (g_mime_message_get_mime_part(message) != nullptr) g_mime_message_foreach(message, add_part, &text);
  SourceDocument document;
  const char* subject = g_mime_message_get_subject(message);
  set_field(document, "title", subject == nullptr ? std::string() : ascii_squeezed(to_valid_utf8(subject)));
  std::string words;
  for (const auto& [name, type] : {std::pair{"From: ", GMIME_ADDRESS_TYPE_FROM},
                                   {"To: ", GMIME_ADDRESS_TYPE_TO},
                                   {"Cc: ", GMIME_ADDRESS_TYPE_CC}}) {
    InternetAddressList* list = g_mime_message_get_addresses(message, type);
    const std::string people = taken_text(internet_address_list_to_string(list, nullptr, FALSE));
    if (!people.empty()) words += name + people + '\n';
  }
  const std::string body =
      text.plain.empty() ? html_document(to_valid_utf8(text.html)).fields["text"] : text.plain;
  words += '\n' + body + (text.attachments.empty() ? "" : "\n\n" + to_valid_utf8(text.attachments));
  set_field(document, "text", std::string(truncate_utf8(words, kMostDocumentText)));
  if (GDateTime* date = g_mime_message_get_date(message); date != nullptr)
    set_field(document, "date", taken_text(g_date_time_format(date, "%Y-%m-%d")));
  return document;
}

Owned<GMimeParser> parser_of(std::string_view bytes, GMimeFormat format) {
  static std::once_flag once;
  std::call_once(once, [] { g_mime_init(); });
  const Owned<GMimeStream> stream(g_mime_stream_mem_new_with_buffer(bytes.data(), bytes.size()));
  Owned<GMimeParser> parser(g_mime_parser_new_with_stream(stream.get()));
  g_mime_parser_set_format(parser.get(), format);
  return parser;
}

}  // namespace

Result<std::vector<SourceDocument>> read_mail(std::string_view bytes) {
  const auto parser = parser_of(bytes, GMIME_FORMAT_MESSAGE);
  const Owned<GMimeMessage> message(g_mime_parser_construct_message(parser.get(), nullptr));
  if (!message) return fail(Code::bad_data, "not a mail");
  std::vector<SourceDocument> out;
  out.push_back(mail_document(message.get()));
  return out;
}

Result<std::vector<SourceDocument>> read_mailbox(std::string_view bytes) {
  const auto parser = parser_of(bytes, GMIME_FORMAT_MBOX);
  std::vector<SourceDocument> out;
  while (!g_mime_parser_eos(parser.get()) && out.size() < kMostMails) {
    const Owned<GMimeMessage> message(g_mime_parser_construct_message(parser.get(), nullptr));
    if (!message) break;
    out.push_back(mail_document(message.get()));
    out.back().url = "#/" + std::to_string(out.size());
  }
  if (out.empty()) return fail(Code::bad_data, "not a mailbox");
  return out;
}

}  // namespace metafuse::fetchers
