#include "collector/scan/native_holders.h"

#include <algorithm>
#include <utility>

#include "collector/scan/graph/confirm.h"
#include "collector/scan/native/native_search.h"

namespace dcmt::scan {
namespace {

/// For one storage: limit of the paths from which its holders are named.
constexpr std::size_t kMostWays = 16;

StorageFields fields_of(Address storage, const ExploredGraph& explored) {
  return storage_fields(storage, explored.memory, explored.types.torch);
}

bool has_root(Address storage, const Graph& graph) {
  const NodeIndex node = graph.find(storage, Kind::kStorage);
  return node != kRootNode && graph.is_rooted(node);
}

/// The memory, without the data of storages, which contains no objects.
std::optional<SearchedMemory> read_memory(const CensusOptions& options, const ExploredGraph& explored) {
  std::vector<Range> data = options.data;
  for (const NodeIndex node : explored.storages) {
    const StorageFields fields = fields_of(explored.graph.nodes()[node].address, explored);
    if (is_plausible(fields, explored.memory)) data.push_back({fields.data, fields.data + fields.bytes});
  }
  return SearchedMemory::read(explored.memory.source(), std::move(data), !options.variables.empty());
}

NativeSearch search_in(SearchedMemory memory, const CensusOptions& options, const ExploredGraph& explored) {
  return {explored.memory,  explored.types,    explored.graph,   explored.paths,
          explored.runtime, options.variables, std::move(memory)};
}

/// Those whose holders are searched for.
std::vector<Address> searched_for(const CensusOptions& options, const ExploredGraph& explored,
                                  const std::vector<HeldStorage>& unseen) {
  std::vector<Address> storages;
  for (const NodeIndex node : explored.storages) {
    const Address storage = explored.graph.nodes()[node].address;
    if (!explored.graph.is_rooted(node) && fields_of(storage, explored).bytes >= options.smallest)
      storages.push_back(storage);
  }
  for (const HeldStorage& each : unseen) storages.push_back(each.storage);
  if (options.native == Native::kProved) {
    std::erase_if(storages,
                  [&](Address storage) { return !std::ranges::binary_search(options.in_question.storages, storage); });
  }
  return storages;
}

}  // namespace

MemoryAhead::MemoryAhead(const CensusOptions& options, OpenSource open) {
  if (!options.has_ended || options.native != Native::kProved || options.in_question.storages.empty()) return;
  // Without a thread, take() reads it.
  memory_ = std::async(std::launch::async | std::launch::deferred,
                       [open = std::move(open), data = options.data,
                        with_stack = !options.variables.empty()]() -> std::optional<SearchedMemory> {
                         const Expected<std::unique_ptr<MemorySource>> source = open();
                         return source.ok() ? SearchedMemory::read(**source, data, with_stack) : std::nullopt;
                       });
}

std::optional<SearchedMemory> MemoryAhead::take() { return memory_.valid() ? memory_.get() : std::nullopt; }

bool is_worth_search(const InQuestion& in_question, const ExploredGraph& explored) {
  std::uint64_t bytes = 0;
  for (const Address storage : in_question.storages) {
    if (has_root(storage, explored.graph)) continue;
    const StorageFields fields = fields_of(storage, explored);
    if (is_plausible(fields, explored.memory)) bytes += fields.bytes;
  }
  return bytes > 0 && bytes >= in_question.least;
}

std::vector<Address> unseen_storages(const CensusOptions& options, const ExploredGraph& explored,
                                     std::uint64_t smallest) {
  std::optional<SearchedMemory> memory = read_memory(options, explored);
  if (!memory) return {};
  return search_in(*std::move(memory), options, explored).unseen_storages(smallest);
}

Expected<NativeHeld> native_held(const CensusOptions& options, const ExploredGraph& explored, const OpenSource& open,
                                 std::optional<SearchedMemory> ahead) {
  NativeHeld held;
  std::optional<SearchedMemory> read = ahead ? std::move(ahead) : read_memory(options, explored);
  if (!read) return held;
  NativeSearch search = search_in(*std::move(read), options, explored);
  for (const Address storage : search.unseen_storages(options.smallest)) {
    const StorageFields fields = fields_of(storage, explored);
    if (is_plausible(fields, explored.memory)) held.unseen.emplace_back(fields);
  }
  const std::vector<Address> storages = searched_for(options, explored, held.unseen);
  search.search(storages);
  // The memory that the search has read is newer than the graph's, and than a second reading of that.
  DCMT_ASSIGN_OR_RETURN(const std::unique_ptr<MemorySource> source, open());
  Mirror fresh(*source);
  SecondReading second(explored.graph, fresh, explored.types, explored.runtime, nullptr, options.variables);
  Proof proof = search.proof_by(fresh);
  const auto lives = [&](const StorageFields& fields) { return still_lives(fields, fresh, explored.types.torch); };
  // What looks like a storage is one only if a second reading finds it again.
  std::erase_if(held.unseen, [&](const HeldStorage& each) {
    return !lives(each) || fresh.word(each.storage) != explored.memory.word(each.storage);
  });
  for (const Address storage : storages) {
    std::vector<Holder> holders;
    for (NativeHolder& each : search.holders_of(storage, kMostWays, proof, second)) {
      const bool counts = options.native == Native::kAll || each.proved;
      if (!counts || holders.size() >= options.paths) break;
      Holder holder;
      holder.path = std::move(each.path);
      holder.place = std::move(each.place);
      holder.confirmed = each.confirmed && lives(fields_of(storage, explored));
      holders.push_back(std::move(holder));
    }
    if (!holders.empty()) held.holders.emplace(storage, std::move(holders));
  }
  held.bytes_read = fresh.bytes_read();
  return held;
}

}  // namespace dcmt::scan
