// Statements that may have stored something, by the way that leads from the holder to it.
#pragma once

#include <string_view>

#include "analyzer/source/user_files.h"

namespace dcmt::analyzer {

/// Where neither a name of the holder nor what was made is in a statement that says it.
/// @param way  the path by the holder to one of its storages
[[nodiscard]] FoundLines found_by_way(const UserFiles& files, std::string_view holder, std::string_view way);

}  // namespace dcmt::analyzer
