#include "service/base/version.h"

namespace metafuse::service {

std::string_view version() {
  return METAFUSE_VERSION;
}

}  // namespace metafuse::service
