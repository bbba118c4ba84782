# What `cmake --install` puts where: headers, libraries, command, man page, completions, and the
# files by which CMake and pkg-config find the library.
include(CMakePackageConfigHelpers)

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/polyad)

install(TARGETS polyad EXPORT polyad_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS polyad_static EXPORT polyad_static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/polyad DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

foreach(kind shared static)
  install(EXPORT polyad_${kind} NAMESPACE polyad:: FILE polyad-${kind}-targets.cmake
    DESTINATION ${package_directory})
endforeach()
configure_package_config_file(cmake/polyad-config.cmake.in polyad-config.cmake
  INSTALL_DESTINATION ${package_directory})
# While the major version is 0 another minor version is another interface.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(compatibility SameMinorVersion)
else()
  set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(polyad-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES ${PROJECT_BINARY_DIR}/polyad-config.cmake
  ${PROJECT_BINARY_DIR}/polyad-config-version.cmake DESTINATION ${package_directory})

# Paths relative to the file, so that `cmake --install --prefix` may choose another prefix.
file(RELATIVE_PATH prefix_from_pkgconfig
  ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/polyad.pc.in polyad.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/polyad.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(FILES LICENSE THIRD-PARTY.md CITATION.cff CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

if(POLYAD_BUILD_CLI)
  # The command finds the library beside it wherever the prefix is moved to.
  file(RELATIVE_PATH library_from_command ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(polyad_installed_command PROPERTIES INSTALL_RPATH "$ORIGIN/${library_from_command}")
  install(TARGETS polyad_installed_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(EXISTS ${PROJECT_SOURCE_DIR}/docs/man/polyad.1)
    install(FILES docs/man/polyad.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/completions/polyad.bash)
    install(FILES completions/polyad.bash RENAME polyad
      DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/completions/_polyad)
    install(FILES completions/_polyad DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  endif()
  if(EXISTS ${PROJECT_SOURCE_DIR}/completions/polyad.fish)
    install(FILES completions/polyad.fish
      DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

add_custom_target(uninstall
  COMMAND ${CMAKE_COMMAND} -D MANIFEST=${PROJECT_BINARY_DIR}/install_manifest.txt
    -P ${PROJECT_SOURCE_DIR}/cmake/uninstall.cmake
  COMMENT "Removing what was installed" VERBATIM)
