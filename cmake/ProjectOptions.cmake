# One INTERFACE target holds the language standard and the warnings; the target of every folder links to it.
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(metafuse_options INTERFACE)
target_compile_features(metafuse_options INTERFACE cxx_std_20)
target_include_directories(metafuse_options INTERFACE ${PROJECT_SOURCE_DIR})
# No contraction into fused multiply-add: the bytes of a model must not depend on the machine.
target_compile_options(metafuse_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  -Wnon-virtual-dtor -Woverloaded-virtual -ffp-contract=off $<$<BOOL:${METAFUSE_WERROR}>:-Werror>)
if(METAFUSE_UNITY)
  # g++ 12 wrongly warns of out-of-bounds writes inside std::string when more of it is inlined.
  target_compile_options(metafuse_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread -Wno-restrict>)
endif()
if(METAFUSE_SANITIZE)
  # g++ 12 wrongly warns of uninitialised members inside libstdc++ and Boost when sanitizers are on.
  target_compile_options(metafuse_options INTERFACE -fsanitize=${METAFUSE_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(metafuse_options INTERFACE -fsanitize=${METAFUSE_SANITIZE})
endif()

# metafuse_folder(NAME SOURCES... ): defines the link target of one top-level folder.
function(metafuse_folder name)
  add_library(metafuse_${name} STATIC ${ARGN})
  target_link_libraries(metafuse_${name} PUBLIC metafuse_options)
  # libmetafuse contains the same objects as the program, so that nothing is compiled twice.
  if(METAFUSE_LIBRARY AND name MATCHES "^(core|evaluation|fusion)$")
    set_target_properties(metafuse_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_compile_options(metafuse_${name} PRIVATE -fno-semantic-interposition)
  endif()
  metafuse_quick_build(metafuse_${name} core)
  if(METAFUSE_UNITY)
    # g++ stops inlining once a translation unit has grown by 40 %, which a dozen files in one soon have.
    target_compile_options(metafuse_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=inline-unit-growth=100>)
  endif()
endfunction()

# metafuse_program(NAME SOURCES...): a program in the root of the build folder.
function(metafuse_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE metafuse_options)
  # The programs' allocator (cli/allocator.h has its settings); sanitizers bring their own. --no-as-needed,
  # because nothing calls it by name.
  if(NOT METAFUSE_SANITIZE)
    target_link_libraries(${name} PRIVATE -Wl,--push-state,--no-as-needed PkgConfig::jemalloc -Wl,--pop-state)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

# metafuse_quick_build(TARGET HEADERS): makes a target compile quickly. METAFUSE_UNITY combines a
# dozen files into one translation unit; METAFUSE_PRECOMPILED precompiles the headers that many files
# include (cmake/precompiled/HEADERS.h).
function(metafuse_quick_build target headers)
  if(METAFUSE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${METAFUSE_UNITY})
  endif()
  if(METAFUSE_PRECOMPILED)
    # The file is found through the include path, so that its name in the compiler's output and in ccache's
    # key is the same in every checkout.
    target_precompile_headers(${target} PRIVATE <cmake/precompiled/${headers}.h>)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  endif()
endfunction()

# metafuse_options_of(OPTIONS FILES...): additional compiler options for single files, which are then compiled
# separately, without unity builds and precompiled headers.
function(metafuse_options_of options)
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${options}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()
