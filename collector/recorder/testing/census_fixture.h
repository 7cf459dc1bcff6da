// Streams with censuses: the holders of a storage, and the code of these holders.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "collector/recorder/testing/assembler_fixture.h"

namespace dcmt::recorder::testing {

class CensusFixture : public AssemblerFixture {
 public:
  static std::string from_hex(const std::string& hex) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return bytes;
  }

  /// Publishes one of the code objects of the bytecode tests.
  /// @param before_last  called between the two pieces of the body's last part
  static void body(
      TestStream& s, std::uint64_t code, const std::string& function,
      const std::function<void()>& before_last = [] {}) {
    std::ifstream file(std::string(DCMT_SOURCE_DIR) + "/collector/recorder/testdata/bytecode_3.11.json");
    for (const auto& fixture : nlohmann::json::parse(file)) {
      if (fixture["name"] != function) continue;
      s.body(code, wire::CodeBodyPart::kLineTable, from_hex(fixture["line_table"]));
      s.body(code, wire::CodeBodyPart::kExceptionTable, from_hex(fixture["exception_table"]));
      std::string names;
      for (const std::string name : fixture["local_names"]) names += name + '\0';
      s.body(code, wire::CodeBodyPart::kLocalNames, names);
      const std::string instructions = from_hex(fixture["instructions"]);
      const std::size_t half = instructions.size() / 2;
      s.body_piece(code, wire::CodeBodyPart::kInstructions, instructions, 0, half);
      before_last();
      s.body_piece(code, wire::CodeBodyPart::kInstructions, instructions, half, instructions.size());
    }
  }

  /// buf is assigned in line 2 and deleted in line 5, alias is assigned in line 3 and never deleted, the return is in
  /// line 6; the frame is at offset 52.
  static void straight_body(TestStream& s, std::uint64_t code) { body(s, code, "straight"); }

  enum class Body { kBefore, kAround, kAfter };  ///< relative to the census's end

  std::string write_source() const {
    const std::string file = path("generated.py");
    std::ofstream(file)
        << "def call():\n    buf = gather()\n    alias = buf\n    use(alias)\n    del buf\n    return 1\n";
    return file;
  }

  /// A storage with two tensors, which was released before; two locals refer to one of the tensors.
  static void census(TestStream& s, const std::string& file, Body comes) {
    using wire::RecordType;
    s.named_thread(100, "python");
    s.birth(0xA0, 0xB0, 0, 4096);
    const auto view = s.birth(0xA1, 0xB0, 0, 4096);
    static_cast<void>(view);
    s.key(RecordType::kReleaseBegin, 3, 0xB0, 4096);
    s.key(RecordType::kRelease, 3, 0xB0, 4096, wire::kKeyFinal);
    s.key(RecordType::kReleaseSettled, 3, 0xB0, 4096);
    s.code(0xC0, file, "Runner.call");
    s.source_line(file, 1,
                  " File \"/home/u/model.py\", line 41, in forward\n    x = F.linear(x, self.weight)\n"
                  " File \"/v/site-packages/torch/nn/functional.py\", line 5, in linear\n    return f()\n");
    s.census(RecordType::kCensusBegin, 1, 0xB0, 2, 1, 0, 3);
    s.census_tensor(1, 0xA0, 1, 0x90, 3);
    s.census_tensor(1, 0xA1, 2, 0, 0);
    s.census_local(1, 0x90, 0xC0, 0, 52, 4, "buf");
    s.census_local(1, 0x90, 0xC0, 1, 52, 4, "alias");
    s.census_local(1, 0x90, 0xC0, 1, 52, 4, "alias");  // recorded twice, one slot
    s.census_local(1, 0x90, 0xC0, 0, 52, 4, "", wire::LocalKind::kEvalStack);
    const auto end = [&s] { s.census(RecordType::kCensusEnd, 1, 0xB0, 2, wire::kCensusOtherThreads, 0, 3); };
    if (comes == Body::kAround) return body(s, 0xC0, "straight", end);
    if (comes == Body::kBefore) straight_body(s, 0xC0);
    end();
    if (comes == Body::kAfter) straight_body(s, 0xC0);
  }
};

}  // namespace dcmt::recorder::testing
