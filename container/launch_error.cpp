#include "container/launch_error.h"

#include <string.h>

namespace roombox {

Error launch_error(const LaunchFailure& failure, const std::string& directory, const std::string& shell) {
  const std::string reason = ::strerror(failure.number);
  switch (failure.step) {
    case LaunchFailure::Step::Directory:
      return invalid_request({{"cwd", "Cannot enter " + directory + ": " + reason}});
    case LaunchFailure::Step::Shell:
      return {ErrorCode::ExecutionFailed, "sandbox execution failed: cannot run " + shell + ": " + reason};
    case LaunchFailure::Step::Setup:
      break;
  }
  return {ErrorCode::ExecutionFailed, "sandbox execution failed: cannot set the command up: " + reason};
}

}  // namespace roombox
