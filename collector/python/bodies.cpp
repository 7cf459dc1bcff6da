#include "collector/python/bodies.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "collector/agent/provider.h"
#include "collector/python/hash.h"
#include "collector/python/interpreter.h"
#include "collector/python/text.h"

namespace dcmt::python_provider {
namespace {

constexpr std::uint64_t kBodySeed = 0x626F6479;
constexpr std::uint64_t kLinesSeed = 0x6C696E6573;
constexpr std::size_t kPieceBytes = 8192;

/// Writes one part of a code object as a row of records. From its construction to the last byte, no other function of
/// the agent may be called.
class PartWriter {
 public:
  PartWriter(wire::CodeBodyPart part, std::uint64_t code, std::size_t total) noexcept
      : part_(part), code_(code), total_(total) {
    if (total == 0) open();  // write a part without bytes, too, so that the reader sees that it is complete
  }
  ~PartWriter() { close(); }
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  void write(const void* data, std::size_t bytes) noexcept {
    const auto* from = static_cast<const unsigned char*>(data);
    while (bytes > 0) {
      std::size_t room = 0;
      unsigned char* const to = next(room);
      const std::size_t step = std::min(room, bytes);
      if (to != nullptr) std::memcpy(to, from, step);
      advance(step);
      from += step;
      bytes -= step;
    }
  }

  /// The place of the next bytes (nullptr if the record was lost) and their capacity, which is at least one while bytes
  /// are missing.
  unsigned char* next(std::size_t& room) noexcept {
    if (used_ == piece_) open();
    room = piece_ - used_;
    return record_ != nullptr ? reinterpret_cast<unsigned char*>(record_ + 1) + used_ : nullptr;
  }
  /// True if a piece was lost because there was no space.
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  void advance(std::size_t bytes) noexcept {
    used_ += bytes;
    if (used_ == piece_) close();
  }

 private:
  void open() noexcept {
    piece_ = std::min(kPieceBytes, total_ - offset_);
    used_ = 0;
    const std::size_t padded = (piece_ + 7) & ~std::size_t{7};
    record_ = static_cast<wire::CodeBodyRecord*>(agent::begin_record(
        wire::RecordType::kCodeBody, sizeof(wire::CodeBodyRecord) + padded, static_cast<std::uint32_t>(part_)));
    lost_ = lost_ || record_ == nullptr;
    if (record_ != nullptr) {
      record_->code = code_;
      record_->python = DCMT_PYTHON_VERSION;
      record_->total = static_cast<std::uint32_t>(total_);
      record_->offset = static_cast<std::uint32_t>(offset_);
      record_->bytes = static_cast<std::uint32_t>(piece_);
      std::memset(reinterpret_cast<unsigned char*>(record_ + 1) + piece_, 0, padded - piece_);
    }
    offset_ += piece_;
  }
  void close() noexcept {
    if (record_ != nullptr) agent::commit_record(record_);
    record_ = nullptr;
  }

  wire::CodeBodyPart part_;
  std::uint64_t code_;
  std::size_t total_;
  std::size_t offset_ = 0;  ///< begin of the next piece
  std::size_t piece_ = 0;   ///< bytes of the open piece
  std::size_t used_ = 0;    ///< written bytes of that piece
  wire::CodeBodyRecord* record_ = nullptr;
  bool lost_ = false;
};

// Each publish_ function returns false if there was no space; the next sight tries again.

bool publish_bytes(wire::CodeBodyPart part, std::uint64_t id, PyObject* bytes) noexcept {
  if (bytes == nullptr || !PyBytes_Check(bytes)) return true;
  const auto size = static_cast<std::size_t>(PyBytes_GET_SIZE(bytes));
  PartWriter writer(part, id, size);
  writer.write(PyBytes_AS_STRING(bytes), size);
  return !writer.lost();
}

bool publish_instructions(const PyCodeObject* code, std::uint64_t id) noexcept {
  const std::size_t total = dcmt_py_code_bytes(code);
  PartWriter writer(wire::CodeBodyPart::kInstructions, id, total);
  unsigned caches = 0;
  for (std::size_t at = 0; at < total;) {
    std::size_t room = 0;
    unsigned char lost[kPieceBytes];
    unsigned char* const to = writer.next(room);
    dcmt_py_copy_code(code, at / 2, room / 2, to != nullptr ? to : lost, &caches);
    writer.advance(room);
    at += room;
  }
  return !writer.lost();
}

bool publish_names(const PyCodeObject* code, std::uint64_t id) noexcept {
  PyObject* const names = code->co_localsplusnames;
  std::size_t total = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) total += Text(PyTuple_GET_ITEM(names, i)).size() + 1;
  PartWriter writer(wire::CodeBodyPart::kLocalNames, id, total);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    const Text name(PyTuple_GET_ITEM(names, i));
    writer.write(name.data(), name.size());
    writer.write("", 1);
  }
  return !writer.lost();
}

PyObject* item_named(PyObject* dict, std::string_view ascii) noexcept {
  return dcmt_py_item(dict, {ascii.data(), static_cast<Py_ssize_t>(ascii.size()), PyUnicode_1BYTE_KIND});
}

/// torch._inductor.codecache.PyCodeCache.linemaps[filename], borrowed; nullptr if there is none. Uses only lookups that
/// run no Python code: dicts with text keys, and a class whose metaclass is `type`.
PyObject* line_map(PyObject* filename) noexcept {
  PyObject* const module = item_named(item_named(dcmt_py_sys(), "modules"), "torch._inductor.codecache");
  if (module == nullptr || !PyModule_Check(module)) return nullptr;
  PyObject* const cache = item_named(PyModule_GetDict(module), "PyCodeCache");
  if (cache == nullptr || !Py_IS_TYPE(cache, &PyType_Type)) return nullptr;
  PyObject* const maps = item_named(reinterpret_cast<PyTypeObject*>(cache)->tp_dict, "linemaps");
  if (!PyUnicode_IS_READY(filename)) return nullptr;
  return dcmt_py_item(
      maps, {PyUnicode_DATA(filename), PyUnicode_GET_LENGTH(filename), static_cast<int>(PyUnicode_KIND(filename))});
}

bool is_sequence(PyObject* object) noexcept {
  return object != nullptr && (PyTuple_CheckExact(object) || PyList_CheckExact(object));
}
PyObject* item(PyObject* sequence, Py_ssize_t index) noexcept {
  return PyTuple_CheckExact(sequence) ? PyTuple_GET_ITEM(sequence, index) : PyList_GET_ITEM(sequence, index);
}

bool publish_source_line(std::uint64_t file, PyObject* line, PyObject* text) noexcept {
  if (!PyLong_CheckExact(line) || !PyUnicode_CheckExact(text)) return true;
  int overflow = 0;
  const long number = PyLong_AsLongAndOverflow(line, &overflow);
  if (overflow != 0 || number < 0 || number > 0x7FFFFFFF) return true;
  const std::uint64_t text_id = Text(text).intern();
  void* const room = agent::begin_record(wire::RecordType::kSourceLine, sizeof(wire::SourceLineRecord),
                                         static_cast<std::uint32_t>(number));
  if (room == nullptr) return false;
  auto* const record = static_cast<wire::SourceLineRecord*>(room);
  record->file = file;
  record->text = text_id;
  agent::commit_record(room);
  return true;
}

}  // namespace

void publish_body(PyCodeObject* code, std::uint64_t id) noexcept {
  const std::uint64_t body = as_id(mix(id, kBodySeed));
  if (!agent::first_sight(body)) return;
  const bool whole =
      publish_instructions(code, id) && publish_bytes(wire::CodeBodyPart::kLineTable, id, code->co_linetable) &&
      publish_bytes(wire::CodeBodyPart::kExceptionTable, id, code->co_exceptiontable) && publish_names(code, id);
  if (!whole) agent::forget(body);
}

bool publish_source_lines(PyObject* filename) noexcept {
  PyObject* const map = line_map(filename);
  if (!is_sequence(map) || Py_SIZE(map) != 2) return false;
  PyObject* const lines = item(map, 0);
  PyObject* const texts = item(map, 1);
  if (!is_sequence(lines) || !is_sequence(texts) || Py_SIZE(lines) != Py_SIZE(texts)) return false;
  const std::uint64_t file = Text(filename).intern();
  const std::uint64_t map_id = as_id(mix(file, kLinesSeed));
  if (!agent::first_sight(map_id)) return true;
  bool whole = true;
  for (Py_ssize_t i = 0; i < Py_SIZE(lines) && whole; ++i) {
    if (i > 0 && item(texts, i) == item(texts, i - 1)) continue;  // a text is valid from its line on
    whole = publish_source_line(file, item(lines, i), item(texts, i));
  }
  if (!whole) agent::forget(map_id);
  return true;
}

}  // namespace dcmt::python_provider
