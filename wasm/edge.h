#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// The edge core: what the Worker does with a request, decided from its bytes alone.
namespace roombox::edge {

/// A request as the host hands it over; everything is borrowed for the length of the call.
struct Request {
  std::string_view method;
  std::string_view url;           ///< As received, still percent-encoded: absolute, or from its path on.
  std::string_view content_type;  ///< Header values; empty where the header is absent.
  std::string_view content_length;
  std::string_view content_encoding;
  std::optional<std::string_view> body;  ///< Absent until a decision asked for it.
};

using Headers = std::vector<std::pair<std::string, std::string>>;

/// Answer this; nothing else is touched.
struct Answer {
  int status;
  Headers headers;
  std::string body;
};

/// Read the body, at most `limit` bytes of it and one more to see that there are more, then ask again with
/// it.
struct ReadBody {
  std::size_t limit;
};

/// Send the caller's own body to the agent of a sandbox and pass its reply through.
struct Forward {
  std::string sandbox;
  std::string method;
  std::string path;
  Headers headers;
};

/// End a sandbox: its container, its files and what its object stores.
struct Destroy {
  std::string sandbox;
};

using Decision = std::variant<Answer, ReadBody, Forward, Destroy>;

/// Decides on a request. Pure: the same request gets the same decision.
Decision decide(const Request& request);

/// The name of the sandbox that a request's path is about; empty if it is about none.
std::string sandbox_of(const Request& request);

/// What became of a decision that the host carried out; outcome.cpp has the table of names and answers.
///
/// Words the answer for a request of which the host reports an outcome: `deleted` and `absent` for a Destroy,
/// `start_failed`, `start_timeout`, `at_capacity`, `lost`, `gone` for a Forward, `crashed` for a fault of the
/// edge itself (an unknown name counts as that).
Answer answer_outcome(const Request& request, std::string_view outcome);

}  // namespace roombox::edge
