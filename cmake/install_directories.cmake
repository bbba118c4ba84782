# Notes, before anything is installed, which directories installing is about to make, in
# install_directories.txt of the build folder: uninstall.cmake removes them again when they are empty,
# and leaves those alone that were there before.
set(destinations ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_INCLUDEDIR}/polyad
  ${CMAKE_INSTALL_LIBDIR}/cmake/polyad ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_DOCDIR}
  ${CMAKE_INSTALL_MANDIR}/man1 ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  ${CMAKE_INSTALL_DATADIR}/zsh/site-functions ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(CODE "
  set(made \"\")
  foreach(destination IN ITEMS ${destinations})
    get_filename_component(directory \"\${destination}\" ABSOLUTE
      BASE_DIR \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    while(NOT EXISTS \"\${directory}\")
      list(APPEND made \"\${directory}\")
      get_filename_component(directory \"\${directory}\" DIRECTORY)
    endwhile()
  endforeach()
  list(REMOVE_DUPLICATES made)
  foreach(directory IN LISTS made)
    file(APPEND \"${PROJECT_BINARY_DIR}/install_directories.txt\" \"\${directory}\\n\")
  endforeach()")
