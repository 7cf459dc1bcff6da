#include "collector/agent/providers.h"

#include <stdio.h>

#include "collector/agent/provider.h"
#include "collector/agent/spool_writer.h"

namespace dcmt::agent {

namespace {

constinit const PythonProvider* g_python = nullptr;
constinit const CudaProvider* g_cuda = nullptr;
constinit const NativeProvider* g_native = nullptr;
constinit bool g_refused = false;
constinit char g_why_refused[sizeof(spool::Header::message)] = {};

}  // namespace

void register_python_provider(const PythonProvider* provider) noexcept { g_python = provider; }
const PythonProvider* python_provider() noexcept { return g_python; }

void register_cuda_provider(const CudaProvider* provider) noexcept { g_cuda = provider; }
const CudaProvider* cuda_provider() noexcept { return g_cuda; }

void register_native_provider(const NativeProvider* provider) noexcept { g_native = provider; }
const NativeProvider* native_provider() noexcept { return g_native; }

void refuse(const char* why) noexcept {
  g_refused = true;
  snprintf(g_why_refused, sizeof g_why_refused, "%s", why);
  auto* header = spool_header();
  snprintf(header->message, sizeof header->message, "%s", why);
  header->state.store(static_cast<std::uint32_t>(spool::AgentState::kRefused), std::memory_order_release);
}

bool refused() noexcept { return g_refused; }

const char* withdraw_refusal() noexcept {
  g_refused = false;
  return g_why_refused;
}

}  // namespace dcmt::agent
