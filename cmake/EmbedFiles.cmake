# embed_files(OUTPUT HEADER NAMESPACE TYPE FUNCTION FILES...): writes OUTPUT, which defines the function
# `std::span<const TYPE> FUNCTION()` that HEADER declares. It returns a row {name, content} per file. The content
# is a literal with its length, because counting its bytes takes more steps than clang-16 allows a constant.
function(embed_files output header namespace type function)
  set(rows "")
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME)
    file(READ ${file} content)
    string(APPEND rows "    {\"${name}\", R\"_file_(${content})_file_\"sv},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"#include \"@header@\"

#include <string_view>

using namespace std::string_view_literals;

namespace @namespace@ {
namespace {

constexpr @type@ kFilesOf_@function@[] = {
@rows@};

}  // namespace

std::span<const @type@> @function@() {
  return kFilesOf_@function@;
}

}  // namespace @namespace@
")
endfunction()
