#include "analyzer/load/stream_history.h"

#include <algorithm>
#include <string_view>

#include "analyzer/load/table_reader.h"

namespace dcmt::analyzer {
namespace {

StreamCallKind stream_call_named(std::string_view text) {
  if (text == "record") return StreamCallKind::kRecord;
  if (text == "wait") return StreamCallKind::kWait;
  if (text == "event done") return StreamCallKind::kEventDone;
  if (text == "stream done") return StreamCallKind::kStreamDone;
  if (text == "all done") return StreamCallKind::kAllDone;
  if (text == "capture begins") return StreamCallKind::kCaptureBegins;
  if (text == "capture ends") return StreamCallKind::kCaptureEnds;
  return StreamCallKind::kWork;
}

}  // namespace

std::span<const StreamUse> StreamHistory::uses_of(Sequence call) const {
  const auto found = std::ranges::equal_range(uses, call, {}, &StreamUse::call);
  return {found.begin(), found.end()};
}

Expected<StreamHistory> StreamHistory::load(Database& database) {
  StreamHistory history;
  DCMT_RETURN_IF_ERROR(read_rows<StreamCall>(
      database, "ORDER BY id", [&](const StreamCall& call) { history.calls.push_back(call); },
      column<&StreamCallRow::id, &StreamCall::seq>(), column<&StreamCallRow::ns, &StreamCall::ns>(),
      column<&StreamCallRow::kind>([](StreamCall& call, std::string_view kind) {
        call.kind = stream_call_named(kind);
        call.may_not_use = kind == "kernel";
      }),
      column<&StreamCallRow::stream, &StreamCall::stream>(), column<&StreamCallRow::blocks, &StreamCall::blocks>(),
      column<&StreamCallRow::event>([](StreamCall& call, Any event) { call.event = event.value; }),
      column<&StreamCallRow::name, &StreamCall::name>(), column<&StreamCallRow::where, &StreamCall::by>()));
  DCMT_RETURN_IF_ERROR(read_rows<StreamUse>(
      database, "ORDER BY call, block", [&](const StreamUse& use) { history.uses.push_back(use); },
      column<&StreamUseRow::call, &StreamUse::call>(), column<&StreamUseRow::block, &StreamUse::block>()));
  if (history.uses.empty()) return history;
  DCMT_RETURN_IF_ERROR(read_rows<UsedBlock>(
      database, "WHERE id IN (SELECT block FROM stream_use) ORDER BY id",
      [&](const UsedBlock& block) { history.blocks.push_back(block); }, column<&BlockRow::id, &UsedBlock::id>(),
      column<&BlockRow::gpu, &UsedBlock::gpu>(), column<&BlockRow::address, &UsedBlock::address>()));
  return history;
}

}  // namespace dcmt::analyzer
