#pragma once

#include <optional>
#include <string>
#include <vector>

#include "service/base/signed_links.h"
#include "service/config/snapshot.h"
#include "service/http/exchange.h"
#include "service/search/template_editing.h"
#include "service/store/store.h"

namespace metafuse::service {

/// What the template editor's page shows.
struct TemplateEditorState {
  std::string text;                         ///< as edited
  std::string etag;                         ///< of the file that the edit started from
  std::string query;                        ///< base query of the preview
  std::vector<LineMessage> messages;        ///< mistakes with their lines
  std::string notice;                       ///< "saved", or why it was not
  bool is_refused = false;                  ///< the notice says what went wrong
  std::optional<templates::Domain> edited;  ///< the text as it was read for the preview
  BaseQuery slots;                          ///< of the preview, beside the query
  FileLinks files;                          ///< for results that are files
  std::optional<TemplatePreview> preview;
  std::vector<TemplateVersion> versions;  ///< the latest first
  bool has_admin = false;                 ///< some key has the role admin
  bool can_save = false;                  ///< there is a store, too
};

std::string template_list_page(const Exchange& exchange);
std::string template_editor_page(const Exchange& exchange, const LoadedDomain& domain,
                                 const TemplateEditorState& state);

}  // namespace metafuse::service
