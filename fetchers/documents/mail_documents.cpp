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

constexpr std::size_t kMostMails = 1'000'000;

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
template <class T>
using Owned = std::unique_ptr<T, Unref>;

std::string taken_text(char* text) {
  const std::unique_ptr<char, decltype(&g_free)> owned(text, g_free);
  return text == nullptr ? std::string() : to_valid_utf8(text);
}

std::string subject_of(GMimeMessage* message) {
  const char* subject = g_mime_message_get_subject(message);
  return subject == nullptr ? std::string() : ascii_squeezed(to_valid_utf8(subject));
}

/// Gathers what people read in a mail: the texts of its parts and of mails inside it, and the names by which
/// it attaches files.
class MailReader {
 public:
  void read(GMimeMessage* message) {
    add(people_of(message) + '\n');
    if (GMimeObject* part = g_mime_message_get_mime_part(message); part != nullptr) read_part(part);
  }

  std::string words, attachments;

 private:
  static constexpr int kDeepestPart = 100;

  static std::string people_of(GMimeMessage* message) {
    std::string lines;
    for (const auto& [name, type] : {std::pair{"From: ", GMIME_ADDRESS_TYPE_FROM},
                                     {"To: ", GMIME_ADDRESS_TYPE_TO},
                                     {"Cc: ", GMIME_ADDRESS_TYPE_CC}}) {
      InternetAddressList* list = g_mime_message_get_addresses(message, type);
      const std::string people = taken_text(internet_address_list_to_string(list, nullptr, FALSE));
      if (!people.empty()) lines += name + people + '\n';
    }
    return lines;
  }

  bool is_full() const { return words.size() >= kMostDocumentText; }
  void add(std::string_view text) { words += truncate_utf8(text, kMostDocumentText - words.size()); }

  void read_part(GMimeObject* part) {
    if (depth_ >= kDeepestPart) return;
    ++depth_;
    if (GMIME_IS_MESSAGE_PART(part))
      read_forwarded(g_mime_message_part_get_message(GMIME_MESSAGE_PART(part)));
    else if (GMIME_IS_MULTIPART(part))
      read_parts(GMIME_MULTIPART(part));
    else if (GMIME_IS_PART(part))
      read_leaf(GMIME_PART(part));
    --depth_;
  }

  void read_forwarded(GMimeMessage* message) {
    if (message == nullptr || is_chosen_ || is_full()) return;
    add('\n' + subject_of(message) + '\n');
    read(message);
  }

  /// Alternatives are one text in several forms, of which the first that has words is read.
  void read_parts(GMimeMultipart* parts) {
    GMimeContentType* type = g_mime_object_get_content_type(GMIME_OBJECT(parts));
    const bool is_choice = g_mime_content_type_is_type(type, "multipart", "alternative");
    const bool was_chosen = is_chosen_;
    for (int i = 0; i < g_mime_multipart_get_count(parts); ++i) {
      const std::size_t before = words.size();
      read_part(g_mime_multipart_get_part(parts, i));
      if (is_choice && !ascii_trimmed(std::string_view(words).substr(before)).empty()) is_chosen_ = true;
    }
    is_chosen_ = was_chosen;
  }

  void read_leaf(GMimePart* part) {
    const char* file = g_mime_part_get_filename(part);
    if (file != nullptr && attachments.size() < 1000) attachments += std::string(file) + '\n';
    if (!GMIME_IS_TEXT_PART(part) || g_mime_part_is_attachment(part) || is_chosen_ || is_full()) return;
    GMimeContentType* type = g_mime_object_get_content_type(GMIME_OBJECT(part));
    const bool is_html = g_mime_content_type_is_type(type, "text", "html");
    if (!is_html && !g_mime_content_type_is_type(type, "text", "plain")) return;
    const std::string text = taken_text(g_mime_text_part_get_text(GMIME_TEXT_PART(part)));
    add((is_html ? html_document(text).fields["text"] : text) + '\n');
  }

  int depth_ = 0;
  bool is_chosen_ = false;  ///< other forms of a text that has been read add no words
};

SourceDocument mail_document(GMimeMessage* message) {
  MailReader reader;
  reader.read(message);
  SourceDocument document;
  set_field(document, "title", subject_of(message));
  if (!reader.attachments.empty()) reader.words += "\n\n" + to_valid_utf8(reader.attachments);
  set_text(document, reader.words);
  if (GDateTime* date = g_mime_message_get_date(message); date != nullptr)
    set_field(document, "date", taken_text(g_date_time_format(date, "%Y-%m-%d")));
  return document;
}

/// out:    nullptr if it is no mail
Owned<GMimeMessage> parsed_mail(std::string_view bytes) {
  static std::once_flag once;
  std::call_once(once, [] { g_mime_init(); });
  const Owned<GMimeStream> stream(g_mime_stream_mem_new_with_buffer(bytes.data(), bytes.size()));
  const Owned<GMimeParser> parser(g_mime_parser_new_with_stream(stream.get()));
  return Owned<GMimeMessage>(g_mime_parser_construct_message(parser.get(), nullptr));
}

/// Whether a line is the mark before a mail of a mailbox, "From ada@x.example Mon May  6 07:08:09 2024": a
/// field of the mail's header follows.
bool is_mail_mark(std::string_view line, std::string_view rest) {
  const std::size_t name = rest.find_first_of(": \t\r\n");
  return line.starts_with("From ") && name != std::string_view::npos && name > 0 && rest[name] == ':';
}

/// Takes the lines of a mailbox up to the next mark of a mail, and the mark.
std::string_view take_mail(std::string_view& box) {
  std::string_view rest = box;
  while (!rest.empty()) {
    const std::size_t end = box.size() - rest.size();
    const std::string_view line = take_until(rest, '\n');
    if (!is_mail_mark(line, rest)) continue;
    const std::string_view mail = box.substr(0, end);
    box = rest;
    return mail;
  }
  return std::exchange(box, {});
}

}  // namespace

Result<std::vector<SourceDocument>> read_mail(std::string_view bytes) {
  const auto message = parsed_mail(bytes);
  if (!message) return fail(Code::bad_data, "not a mail");
  return std::vector<SourceDocument>{mail_document(message.get())};
}

Result<std::vector<SourceDocument>> read_mailbox(std::string_view bytes) {
  std::vector<SourceDocument> out;
  take_mail(bytes);  // what stands before the first
  while (!bytes.empty()) {
    const std::string_view mail = take_mail(bytes);
    if (out.size() == kMostMails) return fail(Code::bad_data, "more than 1,000,000 mails; split the mailbox");
    const auto message = parsed_mail(mail);
    // a mail with a malformed header is still a text
    out.push_back(message ? mail_document(message.get()) : text_document(to_valid_utf8(mail)));
    out.back().url = "#/" + std::to_string(out.size());
  }
  if (out.empty()) return fail(Code::bad_data, "not a mailbox");
  return out;
}

}  // namespace metafuse::fetchers
