#include "collector/torch/hooks/system_call_hooks.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/torch/keys/proof.h"
#include "collector/torch/state/fences.h"

namespace dcmt::torch_provider {
namespace {

using elf::ImportPatch;
using elf::pointer;

enum class Kernel { kReads, kWrites };

void before_call(const void* memory, std::size_t bytes, Kernel does) noexcept {
  if (fences() == 0) return;
  const int error = errno;
  touch_fences(reinterpret_cast<std::uint64_t>(memory), bytes, does == Kernel::kWrites);
  errno = error;
}

void before_call(const iovec* parts, std::size_t count, Kernel does) noexcept {
  for (std::size_t i = 0; i < count && fences() != 0; ++i) before_call(parts[i].iov_base, parts[i].iov_len, does);
}

// These are cancellation points, which are left by unwinding: none is noexcept.
ssize_t on_write(int file, const void* from, std::size_t bytes) {
  before_call(from, bytes, Kernel::kReads);
  return write(file, from, bytes);
}
ssize_t on_writev(int file, const iovec* parts, int count) {
  before_call(parts, static_cast<std::size_t>(count), Kernel::kReads);
  return writev(file, parts, count);
}
ssize_t on_pwrite(int file, const void* from, std::size_t bytes, off64_t at) {
  before_call(from, bytes, Kernel::kReads);
  return pwrite64(file, from, bytes, at);
}
std::size_t on_fwrite(const void* from, std::size_t size, std::size_t count, FILE* file) {
  before_call(from, size * count, Kernel::kReads);
  return fwrite(from, size, count, file);
}
ssize_t on_send(int socket, const void* from, std::size_t bytes, int flags) {
  before_call(from, bytes, Kernel::kReads);
  return send(socket, from, bytes, flags);
}
ssize_t on_sendto(int socket, const void* from, std::size_t bytes, int flags, const sockaddr* to, socklen_t length) {
  before_call(from, bytes, Kernel::kReads);
  return sendto(socket, from, bytes, flags, to, length);
}
ssize_t on_sendmsg(int socket, const msghdr* message, int flags) {
  before_call(message->msg_iov, message->msg_iovlen, Kernel::kReads);
  return sendmsg(socket, message, flags);
}

ssize_t on_read(int file, void* to, std::size_t bytes) {
  before_call(to, bytes, Kernel::kWrites);
  return read(file, to, bytes);
}
ssize_t on_readv(int file, const iovec* parts, int count) {
  before_call(parts, static_cast<std::size_t>(count), Kernel::kWrites);
  return readv(file, parts, count);
}
ssize_t on_pread(int file, void* to, std::size_t bytes, off64_t at) {
  before_call(to, bytes, Kernel::kWrites);
  return pread64(file, to, bytes, at);
}
std::size_t on_fread(void* to, std::size_t size, std::size_t count, FILE* file) {
  before_call(to, size * count, Kernel::kWrites);
  return fread(to, size, count, file);
}
ssize_t on_recv(int socket, void* to, std::size_t bytes, int flags) {
  before_call(to, bytes, Kernel::kWrites);
  return recv(socket, to, bytes, flags);
}
ssize_t on_recvfrom(int socket, void* to, std::size_t bytes, int flags, sockaddr* from, socklen_t* length) {
  before_call(to, bytes, Kernel::kWrites);
  return recvfrom(socket, to, bytes, flags, from, length);
}
ssize_t on_recvmsg(int socket, msghdr* message, int flags) {
  before_call(message->msg_iov, message->msg_iovlen, Kernel::kWrites);
  return recvmsg(socket, message, flags);
}

const ImportPatch kWrite[] = {{"write", pointer(on_write), nullptr}, {"writev", pointer(on_writev), nullptr}};
const ImportPatch kRead[] = {{"read", pointer(on_read), nullptr},
                             {"readv", pointer(on_readv), nullptr},
                             {"recv", pointer(on_recv), nullptr},
                             {"recvfrom", pointer(on_recvfrom), nullptr},
                             {"recvmsg", pointer(on_recvmsg), nullptr}};
// off_t has 64 bits here.
const ImportPatch kPwrite[] = {{"pwrite", pointer(on_pwrite), nullptr}, {"pwrite64", pointer(on_pwrite), nullptr}};
const ImportPatch kPread[] = {{"pread", pointer(on_pread), nullptr}, {"pread64", pointer(on_pread), nullptr}};
const ImportPatch kFwrite[] = {{"fwrite", pointer(on_fwrite), nullptr}};
const ImportPatch kFread[] = {{"fread", pointer(on_fread), nullptr}};
const ImportPatch kSend[] = {{"send", pointer(on_send), nullptr},
                             {"sendto", pointer(on_sendto), nullptr},
                             {"sendmsg", pointer(on_sendmsg), nullptr}};
const std::span<const ImportPatch> kGroups[kSystemCallGroups] = {kWrite,  kRead,  kPwrite, kPread,
                                                                 kFwrite, kFread, kSend};

}  // namespace

std::span<const std::span<const ImportPatch>> system_call_imports() noexcept {
  static constexpr std::span<const ImportPatch> kNone[kSystemCallGroups] = {};
  return proving() && prove_by() == ProveBy::kFence ? kGroups : kNone;
}

}  // namespace dcmt::torch_provider
