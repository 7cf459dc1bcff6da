#include "analyzer/compare/allocation_lines.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/storages/stacks.h"
#include "analyzer/storages/without_numbers.h"
#include "trace/base/code_path.h"
#include "trace/base/followed_bytes.h"

namespace dcmt::analyzer {
namespace {

std::string function_text(const TraceData& data, const Frame& frame) {
  const std::string function = without_numbers(data.text(frame.function));
  return portable_name(data, frame.file) + (function.empty() ? "" : " " + function);
}

/// The next frame of the user's code outside of `site`; nullptr if there is none.
const Frame* caller_of(const TraceData& data, StackId stack, FrameId site) {
  bool past = false;
  for (const Stack* at = data.stacks.find(stack); at != nullptr; at = data.stacks.find(at->parent)) {
    const Frame* frame = data.frames.find(at->frame);
    if (frame == nullptr) continue;
    if (past && !is_library_file(data.text(frame->file))) return frame;
    past = past || frame->id == site;
  }
  return nullptr;
}

/// Sums the bytes that a line made by their holders.
class LineHolders {
 public:
  /// @param name  empty: unknown
  void add(const std::string& name, Bytes bytes) {
    Holder& holder = by_name_[name.substr(0, name.find(kAsOthers))];
    holder.bytes += bytes.value;
    if (holder.name.empty() || name.size() < holder.name.size()) holder.name = name;
  }

  /// The holder with most bytes; of several the first by name.
  [[nodiscard]] std::string of_most() const {
    const auto most = std::ranges::max_element(by_name_, {}, [](const auto& each) { return each.second.bytes; });
    return most != by_name_.end() && most->first != kNotRead ? most->second.name : std::string();
  }

 private:
  struct Holder {
    std::int64_t bytes = 0;
    std::string name;  ///< that of a storage with a reading of its own, if there is one
  };
  std::map<std::string, Holder> by_name_;
};

}  // namespace

AllocationLine AllocationLines::at(StackId stack) const {
  AllocationLine line;
  const FrameId site = site_of(data_, stack);
  const Frame* frame = data_.frames.find(site);
  if (frame == nullptr) {
    line.function = "no Python";
    return line;
  }
  line.function = function_text(data_, *frame);
  line.file = data_.text(frame->file);
  line.line = frame->line;
  if (const Frame* caller = caller_of(data_, stack, site)) line.caller = describe_frame(data_, caller->id);
  return line;
}

std::vector<AllocationLine> AllocationLines::of(const std::vector<const Block*>& blocks) const {
  struct Lines {
    AllocationLine line;
    LineHolders holders;
  };
  std::map<std::tuple<std::string, std::string, std::int64_t>, Lines> lines;
  std::map<StackId, AllocationLine> known;
  for (const Block* block : blocks) {
    AllocationLine where;
    if (block->owner.valid() && data_.text(block->owner) == kSmallBlocks) {
      where.function = kSmallBlocks;
    } else {
      const auto [at, fresh] = known.try_emplace(block->birth.stack);
      if (fresh) at->second = this->at(block->birth.stack);
      where = at->second;
    }
    Lines& same = lines[{where.function, where.file, where.line}];
    if (same.line.blocks == 0) same.line = where;
    same.line.bytes.value += block->bytes.value;
    ++same.line.blocks;
    same.holders.add(block->storage.valid() ? holders_.of(block->storage) : std::string(), block->bytes);
  }
  std::vector<AllocationLine> result;
  for (auto& [key, same] : lines) {
    same.line.holder = same.holders.of_most();
    result.push_back(std::move(same.line));
  }
  return result;
}

}  // namespace dcmt::analyzer
