# `cmake --install DIR` makes a folder that can be carried to another machine: all that the program needs beyond the C
# and C++ runtimes lies in it. Nothing in it knows where it was built.
set(DCMT_RUNTIME "^ld-linux" "^lib(c|m|gcc_s|stdc\\+\\+)\\.so")

# Its licence, and those of all that it contains (scripts/licences).
file(GLOB dcmt_licences CONFIGURE_DEPENDS licences/*.txt)
list(PREPEND dcmt_licences LICENSE NOTICE)
install(FILES ${dcmt_licences} DESTINATION share/doc/dc-memtrace)

install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man ${PROJECT_BINARY_DIR}/share/bash-completion ${PROJECT_BINARY_DIR}/share/zsh
        DESTINATION share)

# find_package(dc-memtrace) gives a C or C++ program the header with which it says what it does: dc-memtrace::marks.
add_library(dcmt_marks INTERFACE)
set_target_properties(dcmt_marks PROPERTIES EXPORT_NAME marks)
target_include_directories(dcmt_marks INTERFACE $<INSTALL_INTERFACE:include>)
target_link_libraries(dcmt_marks INTERFACE ${CMAKE_DL_LIBS})
install(FILES collector/include/dcmt/marks.h collector/include/dcmt/testing.h DESTINATION include/dcmt)
install(TARGETS dcmt_marks EXPORT dcmt_marks)
install(EXPORT dcmt_marks NAMESPACE dc-memtrace:: FILE dc-memtraceConfig.cmake DESTINATION lib/cmake/dc-memtrace)
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dc-memtraceConfigVersion.cmake COMPATIBILITY SameMajorVersion
  ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/dc-memtraceConfigVersion.cmake DESTINATION lib/cmake/dc-memtrace)

set_target_properties(dc-memtrace PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/dcmt")
if(DCMT_STATIC)
  install(TARGETS dc-memtrace RUNTIME DESTINATION bin)
else()
  install(TARGETS dc-memtrace RUNTIME_DEPENDENCY_SET dcmt_needed RUNTIME DESTINATION bin)
  install(RUNTIME_DEPENDENCY_SET dcmt_needed PRE_EXCLUDE_REGEXES ${DCMT_RUNTIME} LIBRARY DESTINATION lib/dcmt)
endif()
# Qt is the machine's.
if(DCMT_GUI)
  set_target_properties(dc-memtrace-view PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/dcmt")
  install(TARGETS dc-memtrace-view RUNTIME DESTINATION bin)
  install(FILES gui/app/dc-memtrace-view.desktop DESTINATION share/applications)
  install(FILES gui/app/dc-memtrace-view.svg DESTINATION share/icons/hicolor/scalable/apps)

  # A package for whoever reads traces and records none (`cpack -G DEB --config DIR/CPackConfig.cmake`): the program and the
  # viewer, with the libraries of the distribution.
  install(TARGETS dc-memtrace dc-memtrace-view RUNTIME DESTINATION bin COMPONENT reader EXCLUDE_FROM_ALL)
  install(FILES gui/app/dc-memtrace-view.desktop DESTINATION share/applications COMPONENT reader EXCLUDE_FROM_ALL)
  install(FILES gui/app/dc-memtrace-view.svg DESTINATION share/icons/hicolor/scalable/apps COMPONENT reader
          EXCLUDE_FROM_ALL)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/man ${PROJECT_BINARY_DIR}/share/bash-completion
          ${PROJECT_BINARY_DIR}/share/zsh DESTINATION share COMPONENT reader EXCLUDE_FROM_ALL)
  install(FILES ${PROJECT_BINARY_DIR}/share/dcmt/undeleted_names.py ${PROJECT_BINARY_DIR}/share/dcmt/csv_to_parquet.py
          DESTINATION share/dcmt COMPONENT reader EXCLUDE_FROM_ALL)
  install(FILES ${dcmt_licences} DESTINATION share/doc/dc-memtrace COMPONENT reader EXCLUDE_FROM_ALL)
  install(FILES licences/debian-copyright DESTINATION share/doc/dc-memtrace RENAME copyright COMPONENT reader
          EXCLUDE_FROM_ALL)
  set(CPACK_GENERATOR DEB)
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_PACKAGE_NAME dc-memtrace)
  set(CPACK_PACKAGE_CONTACT "the authors of dc-memtrace")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Reads traces of the memory of PyTorch programs: reports and a timeline")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_COMPONENTS_ALL reader)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_READER_PACKAGE_NAME dc-memtrace)
  set(CPACK_DEBIAN_PACKAGE_SECTION devel)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  include(CPack)
endif()
install(FILES ${PROJECT_BINARY_DIR}/share/dcmt/undeleted_names.py ${PROJECT_BINARY_DIR}/share/dcmt/csv_to_parquet.py
  DESTINATION share/dcmt)
if(DCMT_COLLECTOR)
  install(TARGETS dcmt_agent dcmt_standby dcmt_native LIBRARY DESTINATION lib/dcmt)
  if(TARGET dcmt_cuda)
    install(TARGETS dcmt_cuda LIBRARY DESTINATION lib/dcmt)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/share/dcmt/operators.toml DESTINATION share/dcmt)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/dcmt/layouts ${PROJECT_BINARY_DIR}/share/dcmt/source DESTINATION share/dcmt)
endif()
if(TARGET dcmt_zero3)  # for `reproduce`
  install(TARGETS dcmt_zero3 LIBRARY DESTINATION lib/dcmt)
  install(DIRECTORY executor/python/dcmt_zero3 python/dc_memtrace DESTINATION share/dcmt/python
          FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
endif()
