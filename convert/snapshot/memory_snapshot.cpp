#include "convert/snapshot/memory_snapshot.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "convert/pickle/reader.h"
#include "trace/base/printable.h"
#include "trace/sql/limits.h"

namespace dcmt::convert {
namespace {

// A shared entry costs two bytes of the pickle, but is read at each of its places, so its number of keys is limited.
constexpr std::size_t kMostKeys = 64;
constexpr std::int64_t kLatestUs = kLargest / 1000;
constexpr std::int64_t kMostLines = std::int64_t{1} << 31;

Action action_of(std::string_view text) {
  if (text == "alloc") return Action::kAlloc;
  if (text == "free_requested") return Action::kFreeRequested;
  if (text == "free_completed") return Action::kFreeCompleted;
  if (text == "segment_alloc") return Action::kSegmentAlloc;
  if (text == "segment_free") return Action::kSegmentFree;
  if (text == "segment_map") return Action::kSegmentMap;
  if (text == "segment_unmap") return Action::kSegmentUnmap;
  if (text == "oom") return Action::kOutOfMemory;
  return Action::kOther;
}

class Reader {
 public:
  Reader(PickleData data, const std::string& name) : name_(name) { snapshot_.data = std::move(data); }

  Expected<MemorySnapshot> read() {
    const ValueId root = data().root();
    if (data().is(root, ValueKind::kList)) return bad("has segments only, as torch before 2.0 wrote them");
    const std::optional<ValueId> segments = data().find(root, "segments");
    if (!segments || !data().is(*segments, ValueKind::kList))
      return bad("is a pickle, but no memory snapshot of torch");
    if (const auto traces = data().find(root, "device_traces")) DCMT_RETURN_IF_ERROR(read_histories(*traces));
    for (const ValueId segment : data().items(*segments)) DCMT_RETURN_IF_ERROR(read_segment(segment));
    if (const auto annotations = data().find(root, "external_annotations")) {
      for (const ValueId each : data().items(*annotations)) DCMT_RETURN_IF_ERROR(read_annotation(each));
    }
    return std::move(snapshot_);
  }

 private:
  [[nodiscard]] const PickleData& data() const { return snapshot_.data; }
  [[nodiscard]] Error bad(const std::string& what) const {
    return Error{ErrorCode::kBadInput, name_ + ": " + what +
                                           ". Make one: torch.cuda.memory._dump_snapshot(FILE) after "
                                           "torch.cuda.memory._record_memory_history()."};
  }
  [[nodiscard]] Error senseless(const std::string& what) const {
    return Error{ErrorCode::kBadInput, name_ + ": no memory snapshot that torch made: " + what + "."};
  }

  /// Checks a dictionary before it is read. A shared one counts at each of its places.
  Status check_entry(ValueId dict) {
    if (!data().is(dict, ValueKind::kDict)) return senseless("a list of dictionaries has something else");
    if (data().items(dict).size() > 2 * kMostKeys) return senseless("an entry has too many keys");
    if (++checked_ > data().size()) return senseless("its entries are shared again and again");
    return {};
  }
  /// An integer from 0 to `largest`; `otherwise` if the key is missing or None.
  Expected<std::int64_t> number(ValueId dict, std::string_view key, std::int64_t largest, std::int64_t otherwise = 0) {
    const std::optional<ValueId> value = data().find(dict, key);
    if (!value || data().is(*value, ValueKind::kNone)) return otherwise;
    const std::optional<std::int64_t> number = data().integer(*value);
    if (!number || *number < 0 || *number > largest)
      return senseless("'" + std::string(key) + "' has no sensible value");
    return *number;
  }
  /// Any 64-bit value: addresses and handles of streams.
  Expected<std::int64_t> handle(ValueId dict, std::string_view key) {
    const std::optional<ValueId> value = data().find(dict, key);
    if (!value || data().is(*value, ValueKind::kNone)) return 0;
    const std::optional<std::int64_t> number = data().integer(*value);
    if (!number) return senseless("'" + std::string(key) + "' has no sensible value");
    return *number;
  }
  [[nodiscard]] std::optional<ValueId> frames_of(ValueId dict) const {
    const std::optional<ValueId> frames = data().find(dict, "frames");
    return frames && !data().items(*frames).empty() ? frames : std::nullopt;
  }
  Expected<SnapshotDevice*> device(std::int64_t number) {
    if (number >= kMostGpus) return senseless("there is a device " + std::to_string(number));
    if (snapshot_.devices.size() <= static_cast<std::size_t>(number)) {
      snapshot_.devices.resize(static_cast<std::size_t>(number) + 1);
    }
    return &snapshot_.devices[static_cast<std::size_t>(number)];
  }
  /// Checks that the sum of sizes does not exceed what a trace may contain.
  Status count(std::int64_t bytes) {
    bytes_ += bytes;
    return bytes_ > kLargest ? Status(senseless("its sizes add up to too much")) : Status();
  }

  Status read_histories(ValueId traces) {
    std::int64_t number = 0;
    for (const ValueId trace : data().items(traces)) {
      if (data().items(trace).empty()) {
        ++number;
        continue;
      }
      DCMT_ASSIGN_OR_RETURN(SnapshotDevice* const into, device(number++));
      for (const ValueId each : data().items(trace)) {
        DCMT_ASSIGN_OR_RETURN(const Entry entry, read_entry(each));
        into->history.push_back(entry);
      }
    }
    return {};
  }

  Expected<Entry> read_entry(ValueId id) {
    DCMT_RETURN_IF_ERROR(check_entry(id));
    Entry entry;
    const std::optional<ValueId> action = data().find(id, "action");
    if (!action || !data().text(*action)) return senseless("an entry of its history has no action");
    entry.action = action_of(*data().text(*action));
    DCMT_ASSIGN_OR_RETURN(entry.address, handle(id, entry.action == Action::kOutOfMemory ? "device_free" : "addr"));
    // A program can request any number of bytes, and not get them.
    const std::int64_t largest = entry.action == Action::kOutOfMemory ? kLargest : kLargestCount;
    DCMT_ASSIGN_OR_RETURN(entry.size, number(id, "size", largest));
    if (entry.action == Action::kAlloc || entry.action == Action::kFreeRequested ||
        entry.action == Action::kFreeCompleted) {
      DCMT_RETURN_IF_ERROR(count(entry.size));
    }
    DCMT_ASSIGN_OR_RETURN(entry.stream, handle(id, "stream"));
    DCMT_ASSIGN_OR_RETURN(entry.time_us, number(id, "time_us", kLatestUs));
    entry.frames = frames_of(id);
    return entry;
  }

  Status read_segment(ValueId id) {
    DCMT_RETURN_IF_ERROR(check_entry(id));
    DCMT_ASSIGN_OR_RETURN(const std::int64_t number_of_device, number(id, "device", kLargest));
    DCMT_ASSIGN_OR_RETURN(SnapshotDevice* const into, device(number_of_device));
    DCMT_ASSIGN_OR_RETURN(const std::int64_t total, number(id, "total_size", kLargestCount));
    DCMT_RETURN_IF_ERROR(count(total));
    DCMT_ASSIGN_OR_RETURN(std::int64_t address, handle(id, "address"));
    DCMT_ASSIGN_OR_RETURN(const std::int64_t stream, handle(id, "stream"));
    const std::optional<ValueId> expandable = data().find(id, "is_expandable");
    into->segments.push_back({address, total, stream, expandable && data().integer(*expandable).value_or(0) != 0});
    into->reserved += total;
    const std::optional<ValueId> blocks = data().find(id, "blocks");
    if (!blocks) return {};
    for (const ValueId each : data().items(*blocks)) {
      DCMT_RETURN_IF_ERROR(check_entry(each));
      SnapshotBlock block;
      // Blocks lie side by side. torch before 2.1 does not write their addresses.
      if (const auto at = data().find(each, "address"); at && data().integer(*at)) address = *data().integer(*at);
      block.address = address;
      DCMT_ASSIGN_OR_RETURN(block.rounded, number(each, "size", kLargestCount));
      DCMT_ASSIGN_OR_RETURN(block.bytes, number(each, "requested_size", kLargestCount, block.rounded));
      DCMT_RETURN_IF_ERROR(count(block.bytes));
      address =
          static_cast<std::int64_t>(static_cast<std::uint64_t>(address) + static_cast<std::uint64_t>(block.rounded));
      block.stream = stream;
      block.frames = frames_of(each);
      const auto state = data().find(each, "state");
      const std::string_view text = state ? data().text(*state).value_or("") : "";
      if (text != "active_allocated" && !text.starts_with("active_pending") && text != "active_awaiting_free") continue;
      block.state = text == "active_allocated" ? BlockState::kAllocated : BlockState::kPendingFree;
      into->blocks.push_back(block);
    }
    return {};
  }

  Status read_annotation(ValueId id) {
    DCMT_RETURN_IF_ERROR(check_entry(id));
    Annotation annotation;
    const auto name = data().find(id, "name");
    const auto stage = data().find(id, "stage");
    if (!name || !stage || !data().text(*name) || !data().text(*stage)) return {};
    annotation.name = *data().text(*name);
    annotation.start = *data().text(*stage) == "START";
    DCMT_ASSIGN_OR_RETURN(annotation.time_us, number(id, "time_us", kLatestUs));
    snapshot_.annotations.push_back(annotation);
    return {};
  }

  const std::string& name_;
  MemorySnapshot snapshot_;
  std::size_t checked_ = 0;
  std::int64_t bytes_ = 0;
};

}  // namespace

std::vector<SnapshotFrame> MemorySnapshot::frames(ValueId list) const {
  std::vector<SnapshotFrame> all;
  for (const ValueId each : data.items(list)) {
    if (data.items(each).size() > 2 * kMostKeys) continue;
    const auto text_of = [&](std::string_view key) {
      const auto value = data.find(each, key);
      return value ? data.text(*value).value_or("") : std::string_view();
    };
    SnapshotFrame frame;
    frame.file = text_of("filename");
    frame.function = text_of("name");
    const auto line = data.find(each, "line");
    frame.line = std::clamp<std::int64_t>(line ? data.integer(*line).value_or(0) : 0, 0, kMostLines);
    all.push_back(frame);
  }
  return all;
}

Expected<MemorySnapshot> snapshot_of(PickleData data, const std::string& name) {
  return Reader(std::move(data), name).read();
}

Expected<MemorySnapshot> read_snapshot(const std::string& path) {
  const std::string name = printable(path);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes;
  if (file) {
    bytes.resize(static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg())));
    file.seekg(0).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  if (!file) return Error{ErrorCode::kBadInput, name + ": cannot be read: " + std::strerror(errno) + "."};
  DCMT_ASSIGN_OR_RETURN(PickleData data, read_pickle(std::move(bytes), name));
  return snapshot_of(std::move(data), name);
}

bool is_pickle(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string begin(2, '\0');
  return file.read(begin.data(), 2) && begins_like_pickle(begin);
}

}  // namespace dcmt::convert
