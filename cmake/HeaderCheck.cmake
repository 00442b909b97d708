# metafuse_headers: one translation unit per header, which checks that each header compiles alone. Built
# by .ci/run.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
  core/*.h templates/*.h fetchers/*.h evaluation/*.h fusion/*.h service/*.h demo/*.h lab/*.h cli/*.h library/*.h tests/support/*.h)
list(FILTER headers EXCLUDE REGEX "^library/python/")  # they need Python's headers
set(units)
foreach(header IN LISTS headers)
  set(unit ${PROJECT_BINARY_DIR}/headers/${header}.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n" @ONLY)
  list(APPEND units ${unit})
endforeach()
add_library(metafuse_headers OBJECT EXCLUDE_FROM_ALL ${units})
target_compile_options(metafuse_headers PRIVATE -O0)
target_include_directories(metafuse_headers PRIVATE ${PROJECT_SOURCE_DIR}/library/include)
target_link_libraries(metafuse_headers PRIVATE metafuse_service CLI11::CLI11 Catch2::Catch2 LibXml2::LibXml2
  PkgConfig::libpq)
# The same definitions as in tests/CMakeLists.txt, for the headers that include tests/support.
target_compile_definitions(metafuse_headers PRIVATE METAFUSE_EXECUTABLE="" METAFUSE_SOURCE_DIR="")
