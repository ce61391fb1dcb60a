#pragma once

#include <string>

/// The agent's log: lines on standard error, which the platform collects. No command, output or credential
/// goes into it.
namespace roombox::log {

void info(const std::string& line);
void warn(const std::string& line);
void error(const std::string& line);

}  // namespace roombox::log
