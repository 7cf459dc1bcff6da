# `cmake --install DIR` makes a folder that can be carried to another machine: all that the program needs beyond the C
# and C++ runtimes lies in it. Nothing in it knows where it was built.
set(DCMT_RUNTIME "^ld-linux" "^lib(c|m|gcc_s|stdc\\+\\+)\\.so")

set_target_properties(dc-memtrace PROPERTIES INSTALL_RPATH "\$ORIGIN/../lib/dcmt")
install(TARGETS dc-memtrace RUNTIME_DEPENDENCY_SET dcmt_needed RUNTIME DESTINATION bin)
install(RUNTIME_DEPENDENCY_SET dcmt_needed PRE_EXCLUDE_REGEXES ${DCMT_RUNTIME} LIBRARY DESTINATION lib/dcmt)
install(FILES ${PROJECT_BINARY_DIR}/share/dcmt/undeleted_names.py DESTINATION share/dcmt)
if(DCMT_COLLECTOR)
  install(TARGETS dcmt_agent dcmt_torch dcmt_python LIBRARY DESTINATION lib/dcmt)
  if(TARGET dcmt_cuda)
    install(TARGETS dcmt_cuda LIBRARY DESTINATION lib/dcmt)
  endif()
  install(FILES ${PROJECT_BINARY_DIR}/share/dcmt/operators.toml DESTINATION share/dcmt)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/share/dcmt/layouts DESTINATION share/dcmt)
endif()
if(TARGET dcmt_zero3)  # for `reproduce`
  install(TARGETS dcmt_zero3 LIBRARY DESTINATION lib/dcmt)
  install(DIRECTORY executor/python/dcmt_zero3 python/dc_memtrace DESTINATION share/dcmt/python
          FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
endif()
