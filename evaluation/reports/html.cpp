#include "evaluation/report.h"
namespace metafuse::evaluation {
std::string format_html(const Report& report) {
  return "<pre>" + format_table(report) + "</pre>\n";
}
}  // namespace metafuse::evaluation
