// The four tables that grow with the run. Their ids are the sequence of the record that made the row.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "trace/tables/column.h"
#include "trace/tables/point.h"

namespace dcmt {

struct OperatorRow {
  RowId id = 0;
  std::int64_t thread = 0;
  RowId parent = 0;
  RowId name = 0;
  std::string_view scope;  ///< 'function' | 'backward' | 'user'
  std::int64_t ordinal = 0;
  Span span;

  static constexpr Table kTable{.name = "operator", .meaning = "One run of an operator."};
  static constexpr void describe(auto&& column) {
    column(&OperatorRow::id, Cell{"id", "id", ""});
    column(&OperatorRow::thread, Cell{"thread", "thread", ""});
    column(&OperatorRow::parent, Back{"parent", "operator", "the one that it ran inside of"});
    column(&OperatorRow::name, Cell{"name", "string", ""});
    column(&OperatorRow::scope, Scope{});
    column(&OperatorRow::ordinal, Cell{"ordinal", "number", "how many operators the thread had begun by then"});
    column(&OperatorRow::span, Lifetime{});
  }
};

/// What an allocator handed out.
struct BlockRow {
  RowId id = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> gpu;  ///< nullopt: a block of the CPU
  RowId storage = 0;
  Place birth;
  Place free;
  Span span;
  std::optional<std::int64_t> stream = {};  ///< 0: CUDA's default stream
  RowId owner = 0;
  bool waits = false;  ///< freed while other streams still used it
  Point done = {};     ///< when those streams had finished with it; not set if they never did
  RowId module = 0;
  std::optional<std::int64_t> rounding = {};

  static constexpr Table kTable{.name = "block", .meaning = "What an allocator handed out."};
  static constexpr void describe(auto&& column) {
    column(&BlockRow::id, Cell{"id", "id", ""});
    column(&BlockRow::address, Cell{"address", "address", "0: a sum of small blocks"});
    column(&BlockRow::bytes, Cell{"bytes", "bytes", "as requested"});
    column(&BlockRow::gpu, Gpu{"NULL: of the CPU"});
    column(&BlockRow::storage, Back{"storage", "storage", "that owns it, where that is known"});
    column(&BlockRow::birth, NearPlace{"", "of the allocation"});
    column(&BlockRow::free, NearPlace{"free_", "of the free"});
    column(&BlockRow::span, Lifetime{});
    column(&BlockRow::stream, Cell{"stream", "number", "of its CUDA stream; 0: the default one; NULL: not known", 2});
    column(&BlockRow::owner, OrNull{"owner", "string", "who keeps it, where that is known and no tensor", 2});
    column(&BlockRow::done, Wait{3});
    column(&BlockRow::module, OrNull{"module", "module", "whose call allocated it, or the backward of that call", 12});
    column(&BlockRow::rounding,
           Cell{"rounding", "bytes", "of CUDA: how many of its bytes were not asked for; NULL: not known", 15});
  }
};

/// One StorageImpl.
struct StorageRow {
  RowId id = 0;
  std::int64_t address = 0;
  std::int64_t bytes = 0;
  bool first_seen = false;
  Place birth;
  Place end;
  RowId end_ordinal = 0;  ///< number of operators that the thread had begun at the end
  Span span;

  static constexpr Table kTable{.name = "storage", .meaning = "One StorageImpl."};
  static constexpr void describe(auto&& column) {
    column(&StorageRow::id, Cell{"id", "id", ""});
    column(&StorageRow::address, Cell{"address", "address", ""});
    column(&StorageRow::bytes, Cell{"bytes", "bytes", "at birth; later sizes are marks of kind `resize`"});
    column(&StorageRow::first_seen,
           Cell{"first_seen", "flag", "1: the constructor was not seen, the birth is the first sight"});
    column(&StorageRow::birth, NearPlace{"", "of the birth"});
    column(&StorageRow::end, NearPlace{"end_", "of the end of its last reference"});
    column(&StorageRow::end_ordinal, OrNull{"end_ordinal", "number", "operators that `end_thread` had begun by then"});
    column(&StorageRow::span, Lifetime{});
  }
};

/// The stay of one tensor object on one storage.
struct TensorRow {
  RowId id = 0;
  RowId object = 0;
  std::int64_t address = 0;
  RowId storage = 0;
  Place birth;
  Span span;

  static constexpr Table kTable{.name = "tensor", .meaning = "The stay of one tensor object on one storage."};
  static constexpr void describe(auto&& column) {
    column(&TensorRow::id, Cell{"id", "id", ""});
    column(&TensorRow::object, FirstStay{});
    column(&TensorRow::address, Cell{"address", "address", ""});
    column(&TensorRow::storage, Back{"storage", "storage", ""});
    column(&TensorRow::birth, NearPlace{"", "of the begin"});
    column(&TensorRow::span, Lifetime{});
  }
};

}  // namespace dcmt
