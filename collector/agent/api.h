#pragma once

/// Marks the functions of the agent that providers may use.
#define DCMT_AGENT_API __attribute__((visibility("default")))
