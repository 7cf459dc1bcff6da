# The libraries of others that the program is linked with, as targets: dcmt_fmt, dcmt_toml, dcmt_sqlite. With
# DCMT_STATIC all of them, and the C++ runtime, are in the program itself, as the wheel needs it: it then depends on the C
# library alone.
option(DCMT_STATIC "Link the program with static libraries" OFF)

foreach(name fmt toml sqlite)
  add_library(dcmt_${name} INTERFACE)
endforeach()
find_package(fmt REQUIRED)
if(DCMT_STATIC)
  find_library(DCMT_STATIC_sqlite3 libsqlite3.a REQUIRED)
  target_link_libraries(dcmt_fmt INTERFACE fmt::fmt-header-only)  # Debian has no archive of it, and toml++ is headers too
  target_link_libraries(dcmt_sqlite INTERFACE ${DCMT_STATIC_sqlite3} m ${CMAKE_DL_LIBS})
else()
  find_package(tomlplusplus REQUIRED)
  find_package(SQLite3 REQUIRED)
  target_link_libraries(dcmt_fmt INTERFACE fmt::fmt)
  target_link_libraries(dcmt_toml INTERFACE tomlplusplus::tomlplusplus)
  target_link_libraries(dcmt_sqlite INTERFACE SQLite::SQLite3)
endif()
