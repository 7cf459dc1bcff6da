// Folders that only this user can enter, made with a name that nobody can foresee. Other files name them, so each is
// checked before something in it is changed.
#pragma once

#include <string>
#include <string_view>

namespace dcmt::recorder {

/// True if mkdtemp() or mkostemp() can have made the name from `<prefix>XXXXXX`.
bool is_made_from(std::string_view name, std::string_view prefix);

/// Opens a private folder (0700) of this user, no link. Returns a descriptor, or -1 with errno (EPERM: it is open to
/// others, or another user's).
int open_private(const std::string& path);

}  // namespace dcmt::recorder
