#include "collector/scan/census.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <optional>

#include "collector/scan/graph/confirm.h"
#include "collector/scan/graph/containers.h"
#include "collector/scan/graph/counts.h"
#include "collector/scan/graph/own_modules.h"
#include "collector/scan/graph/owners.h"
#include "collector/scan/graph/paths.h"
#include "collector/scan/graph/retained.h"
#include "collector/scan/graph/roots.h"
#include "collector/scan/graph/source_files.h"
#include "collector/scan/memory/core_file.h"
#include "collector/scan/memory/process_memory.h"
#include "collector/scan/native_holders.h"
#include "collector/scan/process/stated_layout.h"
#include "collector/scan/process/versions.h"

namespace dcmt::scan {
namespace {

/// Limits for a census of variables. Guesses, a function's globals, base classes and other modules would lead to all
/// objects of the process.
constexpr GraphLimits kNear{.dearest = 2, .most_edges = 150'000};
constexpr std::uint64_t kLongestNear = 65'536;  // entries

/// What is needed to name holders.
struct Naming {
  const Graph& graph;
  Paths paths;
  Cycles cycles;
  SecondReading second;
  ContainerSearch search;  ///< gets the confirmed paths
};

/// Names the holders of a storage with this size: the cheapest path of each pattern, read a second time.
/// @param lives  the storage was alive in the second reading
std::vector<Holder> name_holders(const std::vector<Owner>& owners, std::size_t limit, std::uint64_t bytes, bool lives,
                                 Naming& naming) {
  auto& [graph, paths, cycles, second, search] = naming;
  std::vector<Holder> holders;
  std::vector<std::string> patterns;
  for (const Owner& owner : owners) {
    if (holders.size() >= limit) break;
    const NodeIndex source = graph.edges()[owner.edge].source;
    std::vector<EdgeIndex> way = paths.way_to(source);
    Holder holder;
    if (way.empty() && source != kRootNode) {
      const auto cycle = cycles.keeping(source);
      if (!cycle) continue;  // an object that was not decoded keeps it
      holder.path = paths.text_of(*cycle);
      holder.rooted = false;
      way = cycle->circle;
      way.insert(way.end(), cycle->from_it.begin(), cycle->from_it.end());
      way.push_back(owner.edge);
    } else {
      way.push_back(owner.edge);
      holder.path = paths.text_of(way);
      holder.place = paths.place_of(way);
    }
    const std::string pattern = Paths::pattern_of(holder.path);
    if (std::ranges::find(patterns, pattern) != patterns.end()) continue;
    patterns.push_back(pattern);
    way.insert(way.end(), owner.to_bytes.begin(), owner.to_bytes.end());
    holder.confirmed = lives && second.confirms(way);
    if (holder.confirmed && holder.rooted) search.add(way, bytes);
    holders.push_back(std::move(holder));
  }
  std::ranges::stable_partition(holders, &Holder::confirmed);
  return holders;
}

std::string type_of(ContainerKind kind, std::string of_object) {
  switch (kind) {
    case ContainerKind::kEntries:
    case ContainerKind::kAttributes:
      return of_object;
    case ContainerKind::kGraph:
      return "graph";
    case ContainerKind::kFinishedFrame:
      return "finished frame";
  }
  return of_object;
}

/// Names the objects that would free the most bytes.
std::vector<Retained> name_retained(const std::vector<StorageOf>& storages, const CensusOptions& options,
                                    Naming& naming, Mirror& memory, PythonText& text) {
  const Counts counts(naming.graph, memory);
  std::vector<Retained> result;
  for (const RetainedBy& each : most_retained(naming.graph, counts, storages, options.smallest)) {
    if (result.size() >= options.retained) break;
    const std::vector<EdgeIndex> way = naming.paths.way_to(each.node);
    const GraphNode& object = naming.graph.nodes()[each.node];
    result.push_back({naming.paths.text_of(way), naming.paths.place_of(way),
                      text.type_name(object.address, object.kind), each.bytes, each.storages, each.references,
                      naming.second.confirms(way)});
  }
  return result;
}

/// Adds the containers of many storages to a census; `nodes` are its storages.
void add_containers(const std::vector<NodeIndex>& nodes, const std::vector<StorageOf>& small, Naming& naming,
                    PythonText& text, const Counts* counts, Census& census) {
  const Reach reach(naming.graph, naming.search.find(naming.paths), counts);
  for (const Container& container : reach.containers()) {
    const GraphNode& object = naming.graph.nodes()[naming.graph.edges()[container.way.back()].target];
    census.containers.push_back({naming.paths.text_of(container.way), naming.paths.place_of(container.way),
                                 type_of(container.kind, text.type_name(object.address, object.kind)),
                                 container.entries.size(), 0});
  }
  for (const StorageOf& each : small) {
    const std::uint32_t by = reach.of(each.node);
    const bool by_one_alone = std::has_single_bit(by) && by != Reach::kOtherwise && by != Reach::kUnexplained;
    if (by_one_alone) census.containers[static_cast<std::size_t>(std::countr_zero(by)) - 1].small_bytes += each.bytes;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const std::uint32_t by = reach.of(nodes[i]);
    HeldStorage& held = census.storages[i];
    const bool is_otherwise = by == 0 || (by & Reach::kOtherwise) != 0;
    held.is_unexplained = !is_otherwise && (by & Reach::kUnexplained) != 0;
    held.otherwise = is_otherwise || held.is_unexplained;
    // All ways to it have changed, and some of them lead past the containers: those may be torn, too.
    const bool is_doubtful = !held.holders.empty() && std::ranges::none_of(held.holders, &Holder::confirmed);
    if (is_otherwise && is_doubtful) continue;
    for (std::uint32_t at = 0; at < reach.containers().size(); ++at) {
      if ((by >> (at + 1) & 1U) != 0) held.containers.push_back(at);
    }
  }
}

/// Adds what holds the storages to which no path was found, and the storages that are not in the graph.
void add_native_holders(NativeHeld native, Census& census) {
  std::ranges::move(native.unseen, std::back_inserter(census.storages));
  for (HeldStorage& held : census.storages) {
    if (!held.holders.empty() || held.role != Role::kNone) continue;
    const auto found = native.holders.find(held.storage);
    if (found != native.holders.end()) held.holders = std::move(found->second);
  }
  census.bytes_read += native.bytes_read;
}

/// Adds every live storage.
Status add_living(const CensusOptions& options, const std::vector<StorageOf>& small, const ExploredGraph& explored,
                  const OpenSource& open, Census& census) {
  std::vector<Address> found;
  for (const HeldStorage& held : census.storages) found.push_back(held.storage);
  for (const StorageOf& each : small) found.push_back(explored.graph.nodes()[each.node].address);
  for (const Address storage : unseen_storages(options, explored, 1)) found.push_back(storage);
  Mirror& memory = explored.memory;
  const TorchLayout& torch = explored.types.torch;
  DCMT_ASSIGN_OR_RETURN(const std::unique_ptr<MemorySource> source, open());
  Mirror fresh(*source);
  for (const Address storage : found) {
    const StorageFields fields = storage_fields(storage, memory, torch);
    const bool lives = still_lives(fields, fresh, torch) && fresh.word(storage) == memory.word(storage);
    if (fields.bytes == 0 || !lives) continue;
    census.living.push_back({storage, fields.data, fields.bytes, is_cpu_block(fields)});
  }
  census.bytes_read += fresh.bytes_read();
  return {};
}

bool is_readable(MemorySource& source, Address address) {
  std::array<std::byte, 1> byte;
  const Piece piece{address, byte};
  return source.read({&piece, 1}) == byte.size();
}

template <class Source>
Expected<std::unique_ptr<MemorySource>> on_heap(Expected<Source> source) {
  if (!source.ok()) return source.error();
  return std::unique_ptr<MemorySource>(std::make_unique<Source>(std::move(*source)));
}

}  // namespace

std::string Holder::readable() const {
  const std::size_t function = place.empty() ? std::string::npos : path.find(": ");
  return function == std::string::npos
             ? path
             : fmt::format("{} ({}){}", path.substr(0, function), place, path.substr(function));
}

struct Censuses::State {
  State(OpenSource open, RunningVersions running, const PythonLayout& python, TorchLayout torch)
      : source(std::move(open)),
        versions(std::move(running)),
        types(python, std::move(torch)),
        own_modules(types.python) {}

  OpenSource source;
  RunningVersions versions;
  ProcessTypes types;
  OwnModules own_modules;
  KnownCollections collections;
  std::vector<Range> read_before;        ///< ranges that the latest census used
  std::vector<Range> read_again_before;  ///< ranges that its second reading used
};

Censuses::Censuses(std::unique_ptr<State> state) : state_(std::move(state)) {}
Censuses::~Censuses() = default;
Censuses::Censuses(Censuses&&) noexcept = default;
Censuses& Censuses::operator=(Censuses&&) noexcept = default;

Expected<Censuses> Censuses::open(pid_t pid, const LayoutFolders& layouts) {
  return open([pid] { return on_heap(ProcessMemory::open(pid)); }, layouts);
}

Expected<Censuses> Censuses::open_core(const std::string& core, const LayoutFolders& layouts) {
  return open([core] { return on_heap(CoreFile::open(core)); }, layouts);
}

Expected<Censuses> Censuses::open(OpenSource open_source, const LayoutFolders& layouts) {
  DCMT_ASSIGN_OR_RETURN(const std::unique_ptr<MemorySource> source, open_source());
  Mirror memory(*source);
  DCMT_ASSIGN_OR_RETURN(RunningVersions versions, running_versions(memory));
  PythonLayout python;
  if (versions.python != 0) {
    DCMT_ASSIGN_OR_RETURN(python, python_layout(versions.python));
    DCMT_RETURN_IF_ERROR(check_stated_layout(memory, python, versions.runtime));
  }
  DCMT_ASSIGN_OR_RETURN(TorchLayout torch, torch_layout(layouts, versions.torch, versions.torch_build));
  return Censuses(std::make_unique<State>(std::move(open_source), std::move(versions), python, std::move(torch)));
}

Expected<Census> Censuses::take(const CensusOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  DCMT_ASSIGN_OR_RETURN(const std::unique_ptr<MemorySource> source, state_->source());
  ProcessTypes& types = state_->types;
  Mirror memory(*source);
  const bool is_near = options.scope == Scope::kVariables;
  const bool has_python = state_->versions.python != 0;
  // Without a graph of objects, nothing shows that the search of memory has found all storages.
  if (!has_python && options.living) return Error{ErrorCode::kCannotRecord, kNoPython};
  types.forget_misses();
  memory.read_ahead(state_->read_before);
  Census census;
  if (options.unless_importing && is_importing(memory, types, state_->versions.runtime)) {
    census.importing = true;
    return census;
  }
  PythonObjects objects(memory, types, is_near ? kLongestNear : kLongestContainer);
  PythonText text(memory, types);
  const GraphLimits limits = is_near ? kNear : GraphLimits{};
  Graph graph(objects, limits);
  OwnModules* const own = is_near ? &state_->own_modules : nullptr;
  MemoryAhead memory_ahead(options, state_->source);
  if (has_python) {
    for (NamedRoot& each : named_roots(memory, types, text, state_->versions.runtime, own)) {
      graph.add_root(std::move(each.root), each.cost);
    }
    graph.explore();
  }
  types.typed.begin(options.shapes);
  for (NamedRoot& each : cpp_roots(options.variables, memory, types)) graph.add_root(std::move(each.root), each.cost);
  graph.explore();
  CollectedObjects collected;
  if (has_python && !is_near) {
    collected = add_collected_objects(graph, memory, types, state_->versions.runtime);
    census.collecting = collected.collecting;
    graph.explore();
  }
  if (has_python) census.python = fmt::format("{}.{}", state_->versions.python >> 8, state_->versions.python & 255);
  census.torch = state_->versions.torch;
  census.objects = graph.nodes().size() - 1;
  census.references = graph.edges().size();
  census.torn = objects.torn_objects();
  if (has_python && census.objects == 0) {
    return Error{ErrorCode::kCannotRecord, "cannot inspect the process: its memory is gone, or not in the core file"};
  }

  census.until_second = seconds();
  // Listing the mappings takes a tenth of the time of a census of variables, and they hardly change meanwhile.
  std::unique_ptr<MemorySource> later;
  if (!is_near) {
    DCMT_ASSIGN_OR_RETURN(later, state_->source());
  }
  Mirror fresh(is_near ? *source : *later);
  // Only for a short census: if the program changes meanwhile, memory that is read ahead does not fit memory that is
  // read later on demand.
  if (is_near) fresh.read_ahead(state_->read_again_before);
  Naming naming{graph, Paths(graph, memory, types, text), Cycles(graph),
                SecondReading(graph, fresh, types, state_->versions.runtime, own, options.variables),
                ContainerSearch(graph, types.names)};
  naming.paths.set_frozen(std::move(collected.frozen));
  naming.paths.set_collector_off(collector_is_off(memory, types, state_->versions.runtime));
  Owners owners(graph, memory, types, text, naming.paths);
  const ExploredGraph explored{graph, owners.storages(), memory, types, naming.paths, state_->versions.runtime};
  const bool wants_native = options.native == Native::kAll ||
                            (options.native == Native::kProved && is_worth_search(options.in_question, explored));
  const Modules modules(graph, naming.paths, text, options.modules);
  census.modules = modules.named();
  std::vector<NodeIndex> nodes;
  std::vector<StorageOf> small;
  for (const NodeIndex node : owners.storages()) {
    const StorageFields fields = storage_fields(graph.nodes()[node].address, memory, types.torch);
    // A storage without data keeps no memory: storages of fake tensors have sizes of gigabytes.
    if (!is_plausible(fields, memory) && !is_plausible(fields, fresh)) continue;
    HeldStorage held(fields);
    if (held.bytes < options.smallest) {
      small.push_back({node, held.bytes});
      continue;
    }
    const StorageOwners found = owners.of(node);
    held.role = found.role;
    held.module = modules.having(found.tensors);
    held.holders = name_holders(found.owners, options.paths, held.bytes, still_lives(held, fresh, types.torch), naming);
    const bool is_found = std::ranges::any_of(held.holders, &Holder::confirmed);
    if (is_near && !is_found) continue;
    census.storages.push_back(std::move(held));
    nodes.push_back(node);
  }
  std::optional<Counts> counts;
  if (is_near) counts.emplace(graph, memory);
  add_containers(nodes, small, naming, text, counts ? &*counts : nullptr, census);
  if (options.on_holders) options.on_holders();
  census.arrays = held_arrays(graph, memory, types, naming.paths, text);
  if (options.collections > 0) {
    const bool is_complete = graph.edges().size() < limits.most_edges;
    std::unique_ptr<MemorySource> parent;
    if (options.parent != 0) {
      DCMT_ASSIGN_OR_RETURN(parent, on_heap(ProcessMemory::open(options.parent)));
    }
    census.collections = find_collections({graph, memory, fresh, types, naming.paths, text, naming.second, is_complete,
                                           options.collections, later.get(), parent.get()},
                                          state_->collections);
    if (is_near) census.files = source_files(graph, memory, types, text);
  }
  if (options.retained > 0 && !is_near) {
    std::vector<StorageOf> all = small;
    for (std::size_t i = 0; i < nodes.size(); ++i) all.push_back({nodes[i], census.storages[i].bytes});
    census.retained = name_retained(all, options, naming, memory, text);
  }
  if (wants_native) {
    DCMT_ASSIGN_OR_RETURN(NativeHeld native, native_held(options, explored, state_->source, memory_ahead.take()));
    add_native_holders(std::move(native), census);
  }
  if (options.living && !is_near) DCMT_RETURN_IF_ERROR(add_living(options, small, explored, state_->source, census));
  state_->read_before = memory.ranges_used();
  state_->read_again_before = fresh.ranges_used();
  // If the process ended meanwhile, only a part was read.
  const bool is_there = !state_->read_before.empty() && is_readable(*source, state_->read_before.front().begin);
  if (!is_there) DCMT_RETURN_IF_ERROR(state_->source().status());
  census.bytes_read += memory.bytes_read() + fresh.bytes_read();
  census.seconds = seconds();
  return census;
}

}  // namespace dcmt::scan
