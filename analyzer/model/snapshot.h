// The result of `snapshot`: who holds the memory of a program, according to one reading of the process or of its core
// file. It belongs to no trace, so the reader of the memory fills it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/base/typed_id.h"

namespace dcmt::model {

struct SnapshotHolder {
  std::string path;
  bool confirmed = false;

  static constexpr std::string_view kShape = "snapshot_holder";
  static void describe(auto&& field) {
    field("path", &SnapshotHolder::path,
          "\"main (train.py:37): probe.seen[3]\"; \"libfoo.so: cache → Session\": from a static variable of a library, "
          "with "
          "the classes between it and the storage");
    field("confirmed", &SnapshotHolder::confirmed, "each reference of the path was there in a second reading");
  }
};

struct SnapshotStorage {
  std::int64_t data = 0;
  Bytes bytes;
  std::int64_t references = 0;
  std::optional<std::string> role;
  std::vector<SnapshotHolder> holders;

  static constexpr std::string_view kShape = "snapshot_storage";
  static void describe(auto&& field) {
    field("data", &SnapshotStorage::data, "address");
    field("bytes", &SnapshotStorage::bytes, "");
    field("references", &SnapshotStorage::references, "strong count of the storage object");
    field("role", &SnapshotStorage::role,
          "\"parameter\", \"gradient\", \"optimizer state\", \"buffer\", \"saved for backward\"; null: none of these");
    field("holders", &SnapshotStorage::holders,
          "the one that reads best first; none: none was found, which is not that there is none");
  }
};

/// Storages with one common holder: "main.losses[*]". Only for text output.
struct SnapshotGroup {
  std::string holder;  ///< with [*] in place of indexes; empty: no holder was found
  std::optional<std::string> role;
  bool confirmed = false;
  Bytes bytes;
  std::int64_t storages = 0;
  std::vector<std::string> also;  ///< other holders of its largest storage
};

/// What would be freed if one object were.
struct SnapshotRetained {
  std::string path;
  std::string type;
  Bytes bytes;
  std::int64_t storages = 0, references = 0;
  bool confirmed = false;

  static constexpr std::string_view kShape = "snapshot_retained";
  static void describe(auto&& field) {
    field("path", &SnapshotRetained::path, "to the object: \"main (train.py:37): opt.state\"");
    field("type", &SnapshotRetained::type, "of the object: \"defaultdict\"");
    field("bytes", &SnapshotRetained::bytes, "of storages that go with it, those under `smallest` too");
    field("storages", &SnapshotRetained::storages, "");
    field("references", &SnapshotRetained::references,
          "to the object that must go, but for those of what goes with it; 1: the path alone. What has references that "
          "were not found is not counted");
    field("confirmed", &SnapshotRetained::confirmed, "each reference of the path was there in a second reading");
  }
};

struct Snapshot {
  std::optional<std::int64_t> pid;  ///< either this or `core`
  std::optional<std::string> core;
  std::string python, torch;
  Bytes smallest;
  std::int64_t objects = 0, torn = 0;
  bool collecting = false;
  Bytes bytes_read;
  double seconds = 0;
  std::vector<SnapshotStorage> storages;
  std::vector<SnapshotRetained> retained;

  std::vector<SnapshotGroup> groups;  ///< groups of `storages`, most bytes first

  static constexpr std::string_view kShape = "snapshot";
  static void describe(auto&& field) {
    field("pid", &Snapshot::pid, "null: of a core file");
    field("core", &Snapshot::core, "path of the core file; null: of a process");
    field("python", &Snapshot::python, "\"3.11\"; empty: a program of C++ alone");
    field("torch", &Snapshot::torch, "\"2.11.0\"");
    field("smallest", &Snapshot::smallest, "bytes of the smallest storage that counts");
    field("objects", &Snapshot::objects, "that were decoded");
    field("torn", &Snapshot::torn, "of them: changed while they were read");
    field("collecting", &Snapshot::collecting, "Python's collector was running");
    field("bytes_read", &Snapshot::bytes_read, "from the process");
    field("seconds", &Snapshot::seconds, "that the reading took");
    field("storages", &Snapshot::storages, "");
    field("retained", &Snapshot::retained, "with --retained: the objects with which most goes, most bytes first");
  }

  /// The sum of all storages.
  [[nodiscard]] Bytes bytes() const;
  /// The sum of the storages with a holder or a role.
  [[nodiscard]] Bytes bytes_explained() const;
};

}  // namespace dcmt::model
