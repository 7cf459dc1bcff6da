#include "render/load/block_addresses.h"

#include "trace/sql/trace_file.h"

namespace dcmt::load {

Status read_addresses(const std::string& path, const ReceiveAddress& receive, const analyzer::Watch& watch) {
  constexpr std::size_t kOften = 65536;  // rows between checks of `watch`
  DCMT_ASSIGN_OR_RETURN(Database database, open_trace(path));
  DCMT_ASSIGN_OR_RETURN(Statement query,
                        database.prepare("SELECT id, address FROM block WHERE address != 0 ORDER BY id"));
  for (std::size_t rows = 1;; ++rows) {
    DCMT_ASSIGN_OR_RETURN(const bool row, query.step());
    if (!row) return {};
    // Addresses of the upper half are stored as negative numbers.
    receive(BlockId(query.integer(0)), static_cast<std::uint64_t>(query.integer(1)));
    if (rows % kOften == 0) DCMT_RETURN_IF_ERROR(watch.check());
  }
}

}  // namespace dcmt::load
