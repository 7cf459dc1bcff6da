#pragma once

/// What providers may use of the agent.
#define DCMT_AGENT_API __attribute__((visibility("default")))
