#include "container/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

// The one translation unit that includes spdlog.

namespace roombox::log {
namespace {

spdlog::logger& logger() {
  static const auto made = [] {
    auto logger = spdlog::stderr_logger_st("agent");
    logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l %v");
    return logger;
  }();
  return *made;
}

}  // namespace

void info(const std::string& line) {
  logger().info(line);
}
void warn(const std::string& line) {
  logger().warn(line);
}
void error(const std::string& line) {
  logger().error(line);
}

}  // namespace roombox::log
