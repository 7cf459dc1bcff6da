// A storage, and what holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/scan/memory/memory_source.h"
#include "collector/scan/objects/reference.h"
#include "collector/scan/objects/storage_fields.h"

namespace dcmt::scan {

struct Holder {
  std::string path;   ///< "main: probe.seen[3]", "sys.last_traceback.tb_frame train: loss"
  std::string place;  ///< position of the frame that is the path's root, "train.py:37"; empty for another root
  /// A second reading found every reference of the path again. If it did not, the program was changing the path.
  bool confirmed = false;
  /// False: no root was found that leads to the holder. A single reading of a running process does not prove that there
  /// is none.
  bool rooted = true;

  /// "main (train.py:37): probe.seen[3]"
  [[nodiscard]] std::string readable() const;
};

struct HeldStorage : StorageFields {
  HeldStorage() = default;
  explicit HeldStorage(const StorageFields& fields) : StorageFields(fields) {}

  Role role = Role::kNone;
  std::vector<Holder> holders;            ///< different paths, the most readable one first; empty if none was found
  std::vector<std::uint32_t> containers;  ///< indexes into Census::containers whose entries lead to the storage
  bool otherwise = true;                  ///< it would, or might, still be held if all of these dropped their entries
  Address module = 0;                     ///< as in Modules::having()
  bool is_unexplained = false;  ///< `otherwise` only because not all references were found: a census of variables
};

}  // namespace dcmt::scan
