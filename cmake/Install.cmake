# What `cmake --install build/release --prefix P` installs below P. Nothing depends on the location of P, so
# the folder can be moved. The programs themselves print their man pages and completions, from the options
# that --help shows.
include(GNUInstallDirs)

install(TARGETS metafuse RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET metafuse_odbc)
  install(TARGETS metafuse_odbc RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/metafuse)
endif()
if(TARGET metafuse_mpi)
  install(TARGETS metafuse_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/metafuse)
endif()
set(METAFUSE_DOCUMENTS ${CMAKE_INSTALL_DATADIR}/doc/metafuse)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${METAFUSE_DOCUMENTS})
install(DIRECTORY docs/ DESTINATION ${METAFUSE_DOCUMENTS}/docs)
install(FILES config/metafuse.yaml config/engines.yaml config/tracking_parameters.yaml config/same_page.yaml config/searxng.yaml
  config/judge-prompt.txt DESTINATION ${METAFUSE_DOCUMENTS}/examples)
install(DIRECTORY config/engines DESTINATION ${CMAKE_INSTALL_DATADIR}/metafuse)
install(DIRECTORY config/templates DESTINATION ${METAFUSE_DOCUMENTS}/examples)
# install_pages(NAME COMPONENT): what a program prints about itself.
function(install_pages name component)
  install(CODE "
    set(program \"$<TARGET_FILE:${name}>\")
    set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    set(data \"\${prefix}/${CMAKE_INSTALL_DATADIR}\")
    if(EXISTS \${program})
      execute_process(COMMAND \${program} manual \${data}/man COMMAND_ERROR_IS_FATAL ANY)
      foreach(row IN ITEMS bash/bash-completion/completions/${name} zsh/site-functions/_${name}
          fish/vendor_completions.d/${name}.fish)
        string(REGEX MATCH \"^[a-z]+\" shell \${row})
        string(REGEX REPLACE \"^bash/\" \"\" place \${row})
        get_filename_component(folder \${data}/\${place} DIRECTORY)
        file(MAKE_DIRECTORY \${folder})
        execute_process(COMMAND \${program} completion \${shell} OUTPUT_FILE \${data}/\${place} COMMAND_ERROR_IS_FATAL ANY)
      endforeach()
      message(STATUS \"Installing: man pages and completions of ${name}\")
    endif()" COMPONENT ${component})
endfunction()

install_pages(metafuse Unspecified)
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  file(READ \"${PROJECT_SOURCE_DIR}/config/metafuse.service\" unit)
  string(REPLACE /usr/local/bin/metafuse \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/metafuse unit \"\${unit}\")
  file(WRITE \${prefix}/lib/systemd/system/metafuse.service \"\${unit}\")
  message(STATUS \"Installing: the systemd unit\")")

# The laboratory, where it was built (scripts/setup leaves it out).
if(METAFUSE_LAB)
  install(TARGETS metafuse-lab RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT lab OPTIONAL)
  install_pages(metafuse-lab lab)
endif()
