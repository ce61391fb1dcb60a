#pragma once

#include <string>

#include "container/counters.h"
#include "container/engine.h"

namespace roombox {

/// The agent in numbers, in the text format 0.0.4 of Prometheus: those of its parts, and of its process as
/// client libraries name them (process_…). To make it costs a walk over what runs and over the agent's
/// descriptors.
std::string render_metrics(const Engine& engine, const HttpCounters& http);

}  // namespace roombox
