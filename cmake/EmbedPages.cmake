# embed_pages(OUTPUT FILES...): writes page_files() of service/answers/page.h with the content of each file.
function(embed_pages output)
  set(rows "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    file(READ ${file} content)
    string(APPEND rows "    {\"${name}\", R\"_page_(${content})_page_\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"#include \"service/answers/page.h\"

namespace metafuse::service {
namespace {

constexpr PageFile kFiles[] = {
@rows@};

}  // namespace

std::span<const PageFile> page_files() {
  return kFiles;
}

}  // namespace metafuse::service
")
endfunction()
