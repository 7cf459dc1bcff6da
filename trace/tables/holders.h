// What readings of the process's memory found: who holds storages.
#pragma once

#include <cstdint>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

/// One reading of the process's memory.
struct ScanRow {
  RowId id = 0;
  std::int64_t from_seq = 0;
  std::int64_t from_ns = 0, to_ns = 0;
  std::int64_t storages = 0, owned = 0, objects = 0, torn = 0;
  bool collecting = false;
  bool everything = false, importing = false, ended = false;
  std::int64_t counted_ns = 0;

  static constexpr Table kTable{.name = "scan", .meaning = "One reading of the process's memory.", .since = 7};
  static constexpr void describe(auto&& column) {
    column(&ScanRow::id, Cell{"id", "id", ""});
    column(&ScanRow::from_seq, Cell{"from_seq", "seq", "of the last record before it began"});
    column(&ScanRow::from_ns, Cell{"from_ns", "ns", ""});
    column(&ScanRow::to_ns, Cell{"to_ns", "ns", ""});
    column(&ScanRow::storages, Cell{"storages", "number", "that were found, and alive from its begin to its end"});
    column(&ScanRow::owned, Cell{"owned", "number", "of them, those with an owner"});
    column(&ScanRow::objects, Cell{"objects", "number", "of Python and C++ that were decoded"});
    column(&ScanRow::torn, Cell{"torn", "number", "of them, those that changed while they were read"});
    column(&ScanRow::collecting, Cell{"collecting", "flag", "1: Python's collector was running"});
    column(&ScanRow::everything,
           Cell{"everything", "flag", "1: all objects were read; 0: those that variables lead to", 13});
    column(&ScanRow::importing,
           Cell{"importing", "flag", "1: nothing was read, because the program was importing modules", 13});
    column(&ScanRow::ended,
           Cell{"ended", "flag", "1: the program had ended: variables of its functions were gone", 13});
    column(&ScanRow::counted_ns, Cell{"counted_ns", "ns", "collections were counted between then and its end", 13});
  }
};

/// A holder that was found for one storage.
struct OwnerRow {
  RowId id = 0;
  RowId storage = 0;
  RowId scan = 0, last_scan = 0;
  std::int64_t position = 0;
  RowId path = 0, place = 0;
  bool confirmed = false;

  static constexpr Table kTable{.name = "owner", .meaning = "A holder that was found for one storage.", .since = 7};
  static constexpr void describe(auto&& column) {
    column(&OwnerRow::id, Cell{"id", "id", ""});
    column(&OwnerRow::storage, Cell{"storage", "storage", ""});
    column(&OwnerRow::scan, Cell{"scan", "scan", "the first that found it"});
    column(&OwnerRow::last_scan, Cell{"last_scan", "scan", "the last that did; each between them did, too"});
    column(&OwnerRow::position,
           Cell{"position", "number", "among the owners of the storage; 0: the one that reads best"});
    column(&OwnerRow::path, Cell{"path", "string", "from a root to what holds the storage"});
    column(&OwnerRow::place, OrNull{"place", "string", "where the frame stood that is the root; NULL: another root"});
    column(&OwnerRow::confirmed,
           Cell{"confirmed", "flag", "1: each reference of the path was there in a second reading"});
  }
};

/// A torch.nn.Module whose call allocated, or that has parameters or buffers.
struct ModuleRow {
  RowId id = 0;
  RowId name = 0;

  static constexpr Table kTable{
      .name = "module", .meaning = "Modules that allocated, or that have parameters or buffers.", .since = 12};
  static constexpr void describe(auto&& column) {
    column(&ModuleRow::id, Cell{"id", "id", ""});
    column(&ModuleRow::name,
           OrNull{"name", "string", "`model.layers.3.mlp`, as a reading found it; NULL: no reading did"});
  }
};

/// The result for one storage in the latest scan that found it.
struct HeldRow {
  RowId storage = 0;
  RowId scan = 0;
  std::string_view role;  ///< static text
  bool otherwise = false;
  RowId module = 0;

  static constexpr Table kTable{
      .name = "held", .meaning = "The result of the latest scan that found a storage.", .since = 7, .key = "storage"};
  static constexpr void describe(auto&& column) {
    column(&HeldRow::storage, Cell{"storage", "storage", ""});
    column(&HeldRow::scan, Cell{"scan", "scan", ""});
    column(
        &HeldRow::role,
        OrNull{"role", "text", "`parameter`, `gradient`, `optimizer state`, `buffer`, `saved for backward`, or NULL"});
    column(&HeldRow::otherwise, Cell{"otherwise", "flag", "0: only entries of the containers in `held_in` lead to it"});
    column(&HeldRow::module,
           OrNull{"module", "module", "that has the parameter or buffer; of a gradient or a state: its parameter", 12});
  }
};

/// A list, a dictionary or another object whose entries hold storages.
struct ContainerRow {
  RowId id = 0;
  RowId path = 0, place = 0, type = 0;
  std::int64_t entries = 0;
  RowId scan = 0, last_scan = 0;
  std::int64_t small_bytes = 0;
  RowId small_scan = 0;

  static constexpr Table kTable{
      .name = "container", .meaning = "Lists, dictionaries and other objects whose entries hold storages.", .since = 7};
  static constexpr void describe(auto&& column) {
    column(&ContainerRow::id, Cell{"id", "id", ""});
    column(&ContainerRow::path, Cell{"path", "string", "from a root to it"});
    column(&ContainerRow::place, OrNull{"place", "string", "as of an owner"});
    column(&ContainerRow::type,
           Cell{"type", "string", "`list`; `graph`: a tensor's; `finished frame`: ended by an exception"});
    column(&ContainerRow::entries, Cell{"entries", "number", "that held storages, in the last scan"});
    column(&ContainerRow::scan, Cell{"scan", "scan", "the first that found it"});
    column(&ContainerRow::last_scan, Cell{"last_scan", "scan", "the last that did"});
    column(&ContainerRow::small_bytes,
           Cell{"small_bytes", "bytes", "held in storages without rows, by nothing but its entries", 8});
    column(&ContainerRow::small_scan, Cell{"small_scan", "scan", "the scan that counted them", 8});
  }
};

struct HeldInRow {
  RowId storage = 0, container = 0, scan = 0;

  static constexpr Table kTable{
      .name = "held_in", .meaning = "Which containers hold a storage.", .since = 7, .key = "storage, container"};
  static constexpr void describe(auto&& column) {
    column(&HeldInRow::storage, Cell{"storage", "storage", ""});
    column(&HeldInRow::container, Cell{"container", "container", ""});
    column(&HeldInRow::scan, Cell{"scan", "scan", "the latest that found it there"});
  }
};

/// The holders of numpy arrays in one reading.
struct ArrayHolderRow {
  RowId scan = 0;
  std::int64_t position = 0;
  RowId path = 0, place = 0, type = 0;
  std::int64_t arrays = 0, bytes = 0;

  static constexpr Table kTable{.name = "array_holder",
                                .meaning = "Who held most bytes in arrays of numpy, at each scan.",
                                .since = 9,
                                .key = "scan, position"};
  static constexpr void describe(auto&& column) {
    column(&ArrayHolderRow::scan, Cell{"scan", "scan", ""});
    column(&ArrayHolderRow::position, Cell{"position", "number", "0: most bytes"});
    column(&ArrayHolderRow::path, Cell{"path", "string", "a container or a variable"});
    column(&ArrayHolderRow::place, OrNull{"place", "string", "as of an owner"});
    column(&ArrayHolderRow::type, Cell{"type", "string", "as of a container; empty for a variable"});
    column(&ArrayHolderRow::arrays, Cell{"arrays", "number", ""});
    column(&ArrayHolderRow::bytes, Cell{"bytes", "bytes", "of their data, each once"});
  }
};

/// A list, a dictionary or another collection in one reading.
struct CollectionRow {
  RowId scan = 0;
  std::int64_t position = 0;
  RowId path = 0, place = 0, type = 0;
  std::int64_t alike = 0, entries = 0, own_bytes = 0, bytes = 0;
  RowId entry_type = 0, parts = 0;

  static constexpr Table kTable{.name = "collection",
                                .meaning = "Lists, dictionaries and other collections with most entries, at each scan.",
                                .since = 13,
                                .key = "scan, position"};
  static constexpr void describe(auto&& column) {
    column(&CollectionRow::scan, Cell{"scan", "scan", ""});
    column(&CollectionRow::position, Cell{"position", "number", "0: most bytes"});
    column(&CollectionRow::path, Cell{"path", "string", "from a root to it, indexes as `[*]`"});
    column(&CollectionRow::place, OrNull{"place", "string", "as of an owner"});
    column(&CollectionRow::type, Cell{"type", "string", "`list`"});
    column(&CollectionRow::alike, Cell{"alike", "number", "of collections with this path"});
    column(&CollectionRow::entries, Cell{"entries", "number", "of all of them"});
    column(&CollectionRow::own_bytes, Cell{"own_bytes", "bytes", "of all of them, without their entries"});
    column(&CollectionRow::bytes,
           Cell{"bytes", "bytes", "with what they hold, estimated from a sample of the entries"});
    column(&CollectionRow::entry_type, OrNull{"entry_type", "string", "type of most entries"});
    column(&CollectionRow::parts,
           OrNull{"parts", "string", "types of what the entries refer to, most bytes first: `str, float`"});
  }
};

}  // namespace dcmt
