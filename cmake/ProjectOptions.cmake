# One INTERFACE target carries the language standard and the warnings; every folder's target links it.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(metafuse_options INTERFACE)
target_compile_features(metafuse_options INTERFACE cxx_std_20)
target_include_directories(metafuse_options INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction into fused multiply-add: a model's bytes may not depend on the machine.
target_compile_options(metafuse_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off $<$<BOOL:${METAFUSE_WERROR}>:-Werror>)
if(METAFUSE_UNITY)
  # g++ 12 sees writes out of bounds inside std::string once more of it is inlined.
  target_compile_options(metafuse_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict>)
endif()
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
  # libmetafuse holds the same objects as the program, so that nothing is compiled twice.
  if(METAFUSE_LIBRARY AND name MATCHES "^(core|evaluation|fusion)$")
    set_target_properties(metafuse_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(metafuse_${name} PRIVATE -fno-semantic-interposition)
  endif()
  metafuse_quick_build(metafuse_${name} core)
endfunction()

# metafuse_quick_build(TARGET HEADERS): how a target compiles quickly. With METAFUSE_UNITY, a dozen files make one
# translation unit; with METAFUSE_PRECOMPILED, what many files include is parsed once (cmake/precompiled/HEADERS.h).
function(metafuse_quick_build target headers)
  if(METAFUSE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${METAFUSE_UNITY})
  endif()
  if(METAFUSE_PRECOMPILED)
    # The file is found through the include path, so that its name in the compiler's output, and in ccache's key, is
    # the same in every checkout.
    target_precompile_headers(${target} PRIVATE <cmake/precompiled/${headers}.h>)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()

# metafuse_options_of(OPTIONS FILES...): further compiler options for single files, which then stand alone.
function(metafuse_options_of options)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
