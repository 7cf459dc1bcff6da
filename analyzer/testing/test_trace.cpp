#include "analyzer/testing/test_trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "trace/sql/meta_keys.h"
#include "trace/sql/trace_file.h"

namespace dcmt::testing {

TestTrace::TestTrace() {
  static int counter = 0;
  folder_ = std::filesystem::temp_directory_path() /
            ("dcmt_test_" + std::to_string(getpid()) + "_" + std::to_string(++counter));
  std::filesystem::create_directories(folder_);
}

TestTrace::~TestTrace() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void TestTrace::op(const std::string& name, const std::function<void()>& inside, const std::string& scope) {
  const std::size_t at = ops_.size();
  ops_.push_back({});
  OpRow& op = ops_.back();
  op.name = name;
  op.scope = scope;
  op.parent = open_ops_.empty() ? 0 : open_ops_.back();
  op.ordinal = ++ordinal_;
  op.from = ++seq_;
  for (const std::size_t release : unsettled_) {
    marks_[release].settled_bytes = storages_[marks_[release].handle].bytes_now;
    marks_[release].settled_seq = seq_;
  }
  unsettled_.clear();
  open_ops_.push_back(static_cast<std::int64_t>(at) + 1);
  if (inside) inside();
  open_ops_.pop_back();
  ops_[at].to = ++seq_;
}

TestTrace::Handle TestTrace::allocate(std::int64_t bytes) {
  StorageState storage;
  storage.bytes = storage.bytes_now = bytes;
  storage.stream = stream;
  storage.gpu = gpu;
  storage.module = module;
  storage.block_address =
      reused_ ? storages_[*reused_].block_address : static_cast<std::int64_t>(0x1000 + 0x100 * storages_.size() + 0x40);
  reused_.reset();
  storage.block_birth = event();
  storage.birth = event();
  storages_.push_back(storage);
  return storages_.size() - 1;
}

void TestTrace::drop(Handle handle) {
  StorageState& storage = storages_[handle];
  storage.end = event();
  if (storage.bytes_now > 0) storage.block_end = event();
  storage.bytes_now = 0;
}

void TestTrace::resize_to_zero(Handle handle) {
  StorageState& storage = storages_[handle];
  storage.block_end = event();
  storage.bytes_now = 0;
  MarkState mark = new_mark("resize", handle);
  mark.bytes = 0;
  marks_.push_back(mark);
}

TestTrace::Handle TestTrace::gathered(std::int64_t key, std::int64_t bytes) {
  Handle handle = 0;
  op("zero3::allgather_param", [&] {
    handle = allocate(bytes);
    gather(key, handle);
  });
  return handle;
}

void TestTrace::gather(std::int64_t key, Handle handle, const std::string& name) {
  MarkState mark = new_mark("gather", handle);
  mark.name = name;
  mark.key = key;
  mark.cycle = ++cycles_[{graph, key}];
  mark.bytes = storages_[handle].bytes_now;
  marks_.push_back(mark);
}

void TestTrace::wait(std::int64_t key, Handle handle) {
  MarkState mark = new_mark("wait", handle);
  mark.name = "zero3::wait_allgather";
  mark.key = key;
  mark.cycle = cycles_[{graph, key}];
  mark.bytes = storages_[handle].bytes_now;
  marks_.push_back(mark);
}

void TestTrace::persist(std::int64_t key) {
  MarkState mark = new_mark("persist", std::nullopt);
  mark.key = key;
  marks_.push_back(mark);
}

std::int64_t TestTrace::release(std::int64_t key, std::optional<Handle> handle, const ReleaseOf& of,
                                const std::function<void()>& inside) {
  const std::size_t at = marks_.size();
  op(of.op, [&] {
    const std::size_t mine = marks_.size();
    marks_.push_back(new_mark("release", handle));
    marks_[mine].name = of.op;
    marks_[mine].key = key;
    marks_[mine].cycle = cycles_[{graph, key}];
    marks_[mine].flags = of.flags;
    marks_[mine].declared = of.declared;
    marks_[mine].remaining = of.remaining;
    if (handle) marks_[mine].bytes = storages_[*handle].bytes_now;
    if (inside) inside();
    if (handle) marks_[mine].bytes_after = storages_[*handle].bytes_now;
    marks_[mine].to = ++seq_;
    if (handle) unsettled_.push_back(mine);
  });
  return static_cast<std::int64_t>(at) + 1;
}

void TestTrace::read(std::int64_t release_mark, std::int64_t key, Handle handle, const std::string& name) {
  MarkState mark = new_mark("read", handle);
  mark.name = name;
  mark.key = key;
  mark.parent = release_mark;
  mark.bytes = storages_[handle].bytes_now;
  marks_.push_back(mark);
}

void TestTrace::launches(bool observed, std::int64_t calls, std::int64_t graphs, std::int64_t nccl) {
  LaunchesRow row;
  row.id = event().seq;
  row.observed = observed;
  row.calls = calls;
  row.graphs = graphs;
  row.nccl = nccl;
  launches_.push_back(row);
}

std::int64_t TestTrace::census(std::int64_t release_mark, Handle handle, const std::vector<LocalOf>& locals,
                               std::int64_t unexplained) {
  MarkState mark = new_mark("census", handle);
  mark.parent = release_mark;
  mark.trigger = "release";
  mark.to = ++seq_;
  marks_.push_back(mark);
  const auto id = static_cast<std::int64_t>(marks_.size());
  censuses_.push_back({id, handle, locals, unexplained, mark.at.seq});
  return id;
}

void TestTrace::step(std::int64_t number) {
  MarkState mark = new_mark("step", std::nullopt);
  mark.value = number;
  marks_.push_back(mark);
}

void TestTrace::user_mark(const std::string& name) {
  MarkState mark = new_mark("user", std::nullopt);
  mark.name = name;
  marks_.push_back(mark);
}

void TestTrace::phase(const std::string& name, const std::function<void()>& inside) {
  const std::size_t at = marks_.size();
  marks_.push_back(new_mark("phase", std::nullopt));
  marks_[at].name = name;
  inside();
  marks_[at].to = ++seq_;
}

void TestTrace::sums_only_interval(std::int64_t step, std::int64_t events, std::int64_t begin_bytes,
                                   std::int64_t peak_bytes, std::int64_t end_bytes) {
  const std::int64_t from = seq_;
  seq_ += events;
  end_interval(step, Kept::kNo);
  IntervalCurveRow curve;
  curve.interval = intervals_.back().id;
  curve.device = "cpu";
  curve.begin_bytes = begin_bytes;
  curve.peak_bytes = peak_bytes;
  curve.end_bytes = end_bytes;
  curve.peak_at = {from + 2, (from + 2) * 1000};
  curves_.push_back(curve);
}

void TestTrace::allocator_peaks(std::optional<std::int64_t> active, std::int64_t reserved) {
  IntervalCurveRow curve;
  curve.interval = intervals_.empty() ? 1 : intervals_.back().id;
  static constexpr const char* kDevices[] = {"cuda:0", "cuda:1"};
  curve.device = kDevices[*gpu];
  curve.active_peak = active;
  curve.reserved_peak = reserved;
  curves_.push_back(curve);
}

std::int64_t TestTrace::out_of_memory(const OomOf& of) {
  const Event at = event();
  OutOfMemoryRow row;
  row.id = at.seq;
  row.requested = of.requested;
  row.allocated = of.allocated;
  row.reserved = of.reserved;
  row.free = of.free;
  row.total = of.total;
  ooms_.emplace_back(row, at);
  return at.seq;
}

std::string TestTrace::save(const std::string& name) {
  std::string path = (folder_ / name).string();
  const Status written = write(path);
  EXPECT_TRUE(written.ok()) << written.error().message;
  return path;
}

analyzer::TraceData TestTrace::load(const std::string& changes) {
  const std::string path = save();
  if (!changes.empty()) {
    Expected<Database> changed = Database::open(path, OpenMode::kReadWrite);
    EXPECT_TRUE(changed.ok() && changed->execute(changes).ok()) << changes;
  }
  return loaded_trace(path);
}

analyzer::TraceData loaded_trace(const std::string& path) {
  Expected<Database> database = open_trace(path);
  EXPECT_TRUE(database.ok()) << (database.ok() ? "" : database.error().message);
  Expected<analyzer::TraceData> data = analyzer::TraceData::load(*database);
  EXPECT_TRUE(data.ok()) << (data.ok() ? "" : data.error().message);
  return std::move(*data);
}

void TestTrace::end_interval(std::optional<std::int64_t> step, Kept kept) {
  IntervalRow row;
  row.id = static_cast<std::int64_t>(intervals_.size()) + 1;
  row.step = step;
  row.steps = step ? 1 : 0;
  row.kept = kept;
  row.span.from = intervals_.empty() ? Point{} : intervals_.back().span.to;
  row.span.to = {seq_, seq_ * 1000};
  intervals_.push_back(row);
}

TestTrace::MarkState TestTrace::new_mark(const std::string& kind, std::optional<Handle> handle) {
  MarkState mark;
  mark.kind = kind;
  mark.at = event();
  mark.to = mark.at.seq;
  mark.ordinal = ordinal_;
  mark.graph = graph;
  mark.handle = handle.value_or(0);
  mark.has_handle = handle.has_value();
  return mark;
}

Status TestTrace::write(const std::string& path) {
  std::filesystem::remove(path);
  DCMT_ASSIGN_OR_RETURN(Database created, create_trace(path));
  DCMT_ASSIGN_OR_RETURN(TraceWriter opened, TraceWriter::create(std::move(created)));
  TraceWriter& writer = opened;
  Status failed;
  const auto note = [&](const Status& status) {
    if (failed.ok() && !status.ok()) failed = status;
  };
  const auto text = [&](const std::string& value) { return value.empty() ? 0 : *writer.intern(value); };
  const auto stack_id = [&](const StackOf& frames) {
    RowId id = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      id = *writer.stack(id, *writer.frame(text(frame->file), text(frame->function), frame->line));
    }
    return id;
  };
  const auto place = [&](const Event& at) {
    return at.seq != 0 ? Place{at.thread, at.op, stack_id(at.stack)} : Place{};
  };

  note(writer.begin());
  note(writer.write(ThreadRow{1, 4711, text("MainThread"), point(1)}));
  note(writer.write(ThreadRow{2, 4712, text("Worker"), point(1)}));
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const OpRow& op = ops_[i];
    note(writer.write(OperatorRow{
        static_cast<RowId>(i) + 1, 1, op.parent, text(op.name), op.scope, op.ordinal, {point(op.from), point(op.to)}}));
  }
  std::map<std::string, RowId> modules;
  for (const StorageState& s : storages_) {
    if (!s.module.empty()) modules.emplace(s.module, static_cast<RowId>(modules.size()) + 1);
  }
  for (const auto& [name, id] : modules) note(writer.write(ModuleRow{id, text(name)}));
  for (std::size_t i = 0; i < storages_.size(); ++i) {
    const StorageState& s = storages_[i];
    const auto id = static_cast<RowId>(i) + 1;
    const auto address = static_cast<std::int64_t>(0x1000 + 0x100 * i);
    StorageRow row;
    row.id = id;
    row.address = address;
    row.bytes = s.bytes;
    row.birth = place(s.birth);
    row.end = place(s.end);
    row.end_ordinal = s.end.ordinal;
    row.span = {point(s.birth.seq), point(s.end.seq)};
    note(writer.write(row));
    BlockRow block{id,
                   s.block_address,
                   s.bytes,
                   s.gpu,
                   id,
                   place(s.block_birth),
                   place(s.block_end),
                   {point(s.block_birth.seq), point(s.block_end.seq)}};
    block.stream = s.stream;
    if (!s.module.empty()) block.module = modules.at(s.module);
    block.waits = s.waits;
    if (s.done != 0) block.done = point(s.done);
    note(writer.write(block));
    note(writer.write(TensorRow{id, id, address + 0x80, id, place(s.birth), {point(s.birth.seq), point(s.end.seq)}}));
  }
  for (std::size_t i = 0; i < marks_.size(); ++i) {
    const MarkState& m = marks_[i];
    MarkRow row;
    row.id = static_cast<RowId>(i) + 1;
    row.kind = m.kind;
    row.name = text(m.name);
    row.thread = m.at.thread;
    if (m.key) row.graph = m.graph;
    row.key = m.key;
    row.cycle = known(m.cycle);
    row.storage = m.has_handle ? static_cast<RowId>(m.handle) + 1 : 0;
    row.tensor = row.storage;
    row.bytes = m.bytes;
    row.bytes_after = m.bytes_after;
    row.bytes_settled = m.settled_bytes;
    if (m.settled_seq != 0) row.settled = point(m.settled_seq);
    row.declared = m.declared;
    row.remaining = m.remaining;
    if (!m.flags.empty()) row.flags = m.flags;
    row.ordinal = m.ordinal;
    row.trigger = m.trigger;
    row.parent = m.parent;
    row.value = m.value;
    row.operator_id = m.at.op;
    row.stack = stack_id(m.at.stack);
    row.span = {point(m.at.seq), point(m.to)};
    note(writer.write(row));
  }
  for (const LaunchesRow& row : launches_) note(writer.write(row));
  for (const auto& [at, of] : stream_calls_) {
    note(writer.write(
        StreamCallRow{at.seq, clock(at.seq), of.kind, of.stream, of.blocks, of.event, text(of.name), place(at)}));
    for (const Handle handle : of.uses) note(writer.write(StreamUseRow{at.seq, static_cast<RowId>(handle) + 1}));
  }
  note(write_censuses(writer));
  note(write_owners(writer));
  RowId id = 0;
  for (const auto& [code, what] : diagnostics_) note(writer.write(DiagnosticRow{++id, point(1), code, text(what)}));
  id = 0;
  for (const KeySumRow& row : key_sums) note(writer.write(row));
  for (const ParameterOf& of : parameters) {
    note(writer.write(ParameterRow{of.graph, of.key, text(of.name), text(of.mechanism)}));
  }
  for (const IntervalRow& row : intervals_) note(writer.write(row));
  for (const IntervalCurveRow& row : curves_) note(writer.write(row));
  for (const auto& [figures, at] : ooms_) {
    OutOfMemoryRow row = figures;
    row.where = place(at);
    row.ns = clock(row.id);
    note(writer.write(row));
  }
  for (LossRow loss : losses_) {
    loss.id = ++id;
    note(writer.write(loss));
  }
  for (const auto& [key, value] : meta_texts) note(writer.set_meta(key, value));
  for (const auto& [key, value] : meta_integers) note(writer.set_meta(key, value));
  note(writer.set_meta(meta::kLastSeq, seq_));
  note(writer.set_meta(meta::kRecords, seq_));
  note(writer.set_meta(meta::kStartNs, std::int64_t{0}));
  note(writer.set_meta(meta::kEndNs, seq_ * 1000));
  note(writer.commit());
  if (failed.ok()) failed = finish_trace(writer.database());
  return failed;
}

Status TestTrace::write_owners(TraceWriter& writer) {
  if (held_.empty()) return {};
  const auto text = [&](const std::string& value) { return value.empty() ? 0 : *writer.intern(value); };
  const RowId place = text("train.py:37");
  if (readings_.empty()) readings_.push_back(seq_ - 1);
  ScanRow scan;
  for (const std::int64_t from : readings_) {
    ++scan.id;
    scan.from_seq = from;
    DCMT_RETURN_IF_ERROR(writer.write(scan));
  }
  std::map<std::string, RowId> containers;
  RowId owner = 0;
  for (const auto& [handle, of, readings_begun] : held_) {
    const auto reading = static_cast<RowId>(std::max<std::size_t>(readings_begun, 1));
    const auto storage = static_cast<RowId>(handle) + 1;
    DCMT_RETURN_IF_ERROR(writer.write(HeldRow{storage, reading, of.role, of.otherwise}));
    if (!of.path.empty()) {
      DCMT_RETURN_IF_ERROR(
          writer.write(OwnerRow{++owner, storage, reading, reading, 0, text(of.path), place, of.confirmed}));
    }
    for (const std::string& path : of.containers) {
      const auto [container, fresh] = containers.try_emplace(path, static_cast<RowId>(containers.size()) + 1);
      if (fresh) {
        const RowId type = text(of.type);
        DCMT_RETURN_IF_ERROR(writer.write(
            ContainerRow{container->second, text(path), place, type, 1, reading, reading, of.small, reading}));
      }
      DCMT_RETURN_IF_ERROR(writer.write(HeldInRow{storage, container->second, reading}));
    }
  }
  return {};
}

Status TestTrace::write_censuses(TraceWriter& writer) {
  RowId edge_id = 0;
  RowId sample_id = 0;
  const auto text = [&](const std::string& value) { return value.empty() ? 0 : *writer.intern(value); };
  for (const CensusState& census : censuses_) {
    const auto storage = static_cast<RowId>(census.handle) + 1;
    const auto names = static_cast<std::int64_t>(census.locals.size());
    const Span span{point(census.seq), point(census.seq)};
    EdgeRow edge;
    edge.census = census.mark;
    edge.storage = storage;
    edge.tensor = storage;
    edge.confidence = "certain";
    edge.span = span;
    edge.id = ++edge_id;
    edge.held = "storage";
    edge.holder = "tensor";
    DCMT_RETURN_IF_ERROR(writer.write(edge));
    edge.id = ++edge_id;
    edge.held = "tensor";
    edge.holder = "python_object";
    edge.object = census.locals.empty() ? 0x7000 : census.locals.front().object;
    DCMT_RETURN_IF_ERROR(writer.write(edge));
    for (const LocalOf& local : census.locals) {
      EdgeRow row = edge;
      row.id = ++edge_id;
      row.held = "object";
      row.holder = "local";
      row.object = local.object;
      row.thread = 1;
      row.name = text(local.name);
      row.function = text(local.function);
      row.file = text(local.file);
      row.line = local.line;
      row.assignment = text(local.assignment);
      row.current_line = 0;
      row.delete_line = local.delete_line;
      if (local.unproven) row.confidence = "unproven";
      row.return_line = local.return_line;
      row.model_file = text(local.model_file);
      if (!local.model_file.empty()) row.model_line = local.model_line;
      row.model_text = text(local.model_text);
      DCMT_RETURN_IF_ERROR(writer.write(row));
      if (local.file.find("torchinductor") != std::string::npos) {
        DCMT_RETURN_IF_ERROR(writer.write(
            SourceLineRow{row.file, local.line, row.model_file, row.model_line, row.model_text, text("stack text")}));
      }
    }
    const auto unexplained = census.unexplained;
    DCMT_RETURN_IF_ERROR(writer.write(SampleRow{++sample_id, census.mark, "storage", storage, 0, 1, 1, 0}));
    DCMT_RETURN_IF_ERROR(writer.write(SampleRow{++sample_id, census.mark, "tensor", storage, storage, 1, 1, 0}));
    DCMT_RETURN_IF_ERROR(writer.write(
        SampleRow{++sample_id, census.mark, "object", storage, storage, names + unexplained, names, unexplained}));
  }
  return {};
}

void add_zero3_graph(TestTrace& trace, std::int64_t layers, std::int64_t bytes, bool fixed) {
  const StackOf model{{"/home/user/model.py", "forward", 41}, {"/home/user/train.py", "main", 12}};
  const auto in_wrapper = [&](std::int64_t line) {
    trace.stack = {{kGenerated, "Runner.call", line},
                   {"/usr/lib/python3/dist-packages/torch/_dynamo/eval_frame.py", "fn", 900}};
    trace.stack.insert(trace.stack.end(), model.begin(), model.end());
  };
  std::vector<TestTrace::Handle> buffers(static_cast<std::size_t>(layers));
  const auto gather = [&](std::int64_t k) {
    in_wrapper(90 + 10 * k);
    trace.op("zero3::allgather_param", [&] {
      trace.op("aten::empty", [&] { buffers[static_cast<std::size_t>(k)] = trace.allocate(bytes); });
      trace.gather(k, buffers[static_cast<std::size_t>(k)]);
    });
  };
  gather(0);
  for (std::int64_t k = 0; k < layers; ++k) {
    if (k + 1 < layers) gather(k + 1);
    const TestTrace::Handle buffer = buffers[static_cast<std::size_t>(k)];
    in_wrapper(95 + 10 * k);
    trace.op("zero3::wait_allgather", [&] { trace.wait(k, buffer); });
    trace.op("aten::addmm");
    in_wrapper(98 + 10 * k);
    const std::int64_t release = trace.release(k, buffer, {.flags = fixed ? "final" : "final,metadata_only"}, [&] {
      if (fixed) trace.resize_to_zero(buffer);
    });
    if (fixed) continue;
    const auto names = [&](std::int64_t number) { return "buf" + std::to_string(number); };
    LocalOf local{names(4 * k),
                  "Runner.call",
                  kGenerated,
                  names(4 * k) + " = torch.ops.zero3.wait_allgather.default(...)",
                  95 + 10 * k,
                  std::nullopt,
                  214,
                  "/home/user/model.py",
                  "x = F.linear(x, self.weight)",
                  41,
                  0x7000 + 16 * k};
    LocalOf alias = local;
    alias.name = names(4 * k + 1);
    alias.assignment = alias.name + " = " + local.name;
    alias.line = 96 + 10 * k;
    trace.census(release, buffer, {local, alias});
  }
  trace.op("aten::sum");
  in_wrapper(214);
  for (const TestTrace::Handle buffer : buffers) trace.drop(buffer);
  trace.stack = model;
}

void add_streams(TestTrace& trace) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  trace.gpu = 0;
  std::vector<TestTrace::Handle> gathered;
  for (std::int64_t layer = 0; layer < 5; ++layer) {
    trace.stack = {{"/home/user/model.py", "gather", 20 + layer / 2}, {"/home/user/train.py", "main", 12}};
    trace.stream = layer == 4 ? 1 : 0;
    gathered.push_back(trace.allocate((64 + layer) * kMiB));
    trace.drop_in_use(gathered.back());
  }
  trace.phase("forward", [&] {
    trace.stack = {{"/home/user/model.py", "forward", 41}};
    trace.stream = 0;
    trace.drop(trace.allocate(170 * kMiB));
  });
  gathered.pop_back();
  for (const TestTrace::Handle buffer : gathered) trace.done(buffer);
  trace.stack = {{"/home/user/train.py", "prefetch", 30}};
  for (std::int64_t stream = 1; stream <= 10; ++stream) {
    trace.stream = stream;
    trace.drop(trace.allocate(200 * kMiB));
  }
  trace.step(1);
  trace.kept_interval(1, Kept::kAll);
  trace.allocator_peaks(500 * kMiB, 3000 * kMiB);
}

}  // namespace dcmt::testing
