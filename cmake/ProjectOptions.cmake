# One INTERFACE target carries the language standard and the warnings; every folder's target links it.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(metafuse_options INTERFACE)
target_compile_features(metafuse_options INTERFACE cxx_std_20)
target_include_directories(metafuse_options INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction into fused multiply-add: a model's bytes may not depend on the machine.
target_compile_options(metafuse_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off $<$<BOOL:${METAFUSE_WERROR}>:-Werror>)
if(METAFUSE_SANITIZE)
  # g++ 12 warns of uninitialised members inside libstdc++ and Boost once sanitizers are on.
  target_compile_options(metafuse_options INTERFACE -fsanitize=${METAFUSE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(metafuse_options INTERFACE -fsanitize=${METAFUSE_SANITIZE})
endif()

# metafuse_folder(NAME SOURCES... ): the link target of one top-level folder.
function(metafuse_folder name)
  add_library(metafuse_${name} STATIC ${ARGN})
  target_link_libraries(metafuse_${name} PUBLIC metafuse_options)
endfunction()
