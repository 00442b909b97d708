# Runs at every build (cli/CMakeLists.txt). OUTPUT names the commit being built; it is rewritten only if
# that changes.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
  ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
  "#pragma once\n\nnamespace metafuse::cli {\n\ninline constexpr const char* kCommit = \"${commit}\";\n\n}\n")
