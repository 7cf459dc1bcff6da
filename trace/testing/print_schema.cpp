// Prints the SQL of a schema version, for tests that write traces by hand; or writes the tables of docs/schema.md anew.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>

#include "trace/sql/schema.h"
#include "trace/testing/schema_page.h"

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "sql" && argc <= 3) {
    std::fputs(dcmt::create_sql(argc == 3 ? std::atoi(argv[2]) : dcmt::kSchemaVersion).c_str(), stdout);
    return 0;
  }
  if (what == "page" && argc == 3) {
    std::ostringstream page;
    page << std::ifstream(argv[2]).rdbuf();
    std::ofstream(argv[2]) << dcmt::testing::with_declared_tables(page.str());
    return 0;
  }
  std::fputs("usage: dcmt_schema sql [VERSION] | dcmt_schema page docs/schema.md\n", stderr);
  return 2;
}
