// Which file systems are on another machine: a SQLite file that several processes use needs memory that they share, and
// such file systems do not give it.
#pragma once

#include <string>
#include <string_view>

namespace dcmt::recorder {

/// The name of a network file system, such as "NFS", by its number in statfs::f_type. Empty for all others.
std::string_view network_file_system(long type);

/// The same for the file system that has `path`. Empty if that cannot be found out.
std::string_view network_file_system_of(const std::string& path);

}  // namespace dcmt::recorder
