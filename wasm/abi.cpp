/// The seam between the edge core and its host, and the only file with state. Three functions, called one
/// after another on one thread:
///
///   edge_input(size) -> address
///       A buffer of `size` bytes for the next call's input, to be filled by the host. 0 if the size is more
///       than a request can have (kInputMax) or memory is out.
///   edge_decide(head_size, body_size) -> result
///       Decides on the request in the buffer. A body_size of -1 says that no body has been read yet.
///   edge_outcome(head_size, outcome_size) -> result
///       Words the answer for what became of a decision. In the buffer, the outcome is where the body would
///       be: its name, or its name, `\n` and fields (outcome.cpp).
///
/// Input: the head, directly followed by the body. The head is UTF-8 text of lines that end in `\n`:
///
///   METHOD URL                        the URL absolute or from its path on
///   name:value                        one line for each header, its name in lower case; of those that are
///   ...                               needed here the first counts, others are skipped
///
/// The headers that count are content-type, content-length, content-encoding, idempotency-key,
/// last-event-id, upgrade, range, if-range, if-match, if-none-match, origin, access-control-request-method
/// and access-control-request-headers; and the host's own words, which it must let no client say:
/// roombox-caller, roombox-origins, roombox-header-bytes and roombox-max-rooms (Request::caller to max_rooms
/// of edge.h). It says them first.
///
/// Result: the address of eight 32-bit words: action, status or limit, head address and size, body address
/// and size, note address and size.
///
///   0 Answer    status; head: `Name:value` lines; body: the answer's
///   1 ReadBody  limit in bytes: read so much and at most one byte more, then decide again on head and body
///   2 Forward   head: sandbox name, then `METHOD path`, then `Name:value` lines; the body to send is the
///               caller's own. Body: the seed of a new execution's record (protocol/record.h), empty for
///               calls on an existing one. The headers are for the object; protocol/agent_api.h has them.
///               Status or limit: 1 where they are added to the caller's own and replace those of the same
///               names, else 0: the caller's stay behind. After an empty line, if there is one, `Name:value`
///               lines that the reply gets
///   3 Ask       head: operation, then sandbox name (an empty line if there is none), then `name:value` lines
///               of its arguments; edge.h has the operations. Body: its fields (protocol/fields.h). What
///               comes of it goes to edge_outcome
///   4 Page      head: the name of a static file that is the answer
///
/// The note is for the host's log: the pattern of the route, the id of the room, that of the execution and
/// the code of the error that is answered, each a line, empty where there is none. edge_outcome, whose host
/// has the others by then, tells the last alone. It is ASCII, and directly before the head, so that a host
/// can decode both at once.
///
/// Every line ends in `\n`. A result, with all that it points to, is valid until the next call of any of the
/// three. As memory may grow in every call, views of it must be made anew after each. The buffer is consumed
/// by the call. Where a size does not fit what is in the buffer, the result is the answer for a fault of the
/// edge itself.
///
/// Memory that Wasm has grown to is never given back, so a host that cares drops an instance that a large
/// body has made large. After a trap it must: the instance's state is then undefined.

#include "wasm/abi.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "wasm/edge.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/protocol/text.h"

#ifdef __wasm__
#define ROOMBOX_EXPORT(name) __attribute__((export_name(#name)))
#else
#define ROOMBOX_EXPORT(name)
#endif

namespace roombox::edge {
namespace {

/// Room for a head: platforms take 16 to 128 KiB of headers and URL, and a host may ask for three bytes for
/// each of its UTF-16 units.
constexpr std::size_t kHeadMax = 1u << 20;
constexpr std::size_t kInputMax = kHeadMax + limits::kBody + 1;

/// A buffer of up to so many bytes is kept from call to call.
constexpr std::size_t kInputKept = 64u << 10;

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

/// The bytes of the next call's input.
class Input {
 public:
  /// Null where memory is out.
  char* resize(std::size_t size) {
    if (size > capacity_ || !bytes_) {
      release();
      const std::size_t wanted = size > kInputKept ? size : kInputKept;
      bytes_.reset(static_cast<char*>(std::malloc(wanted)));  // new would trap when memory is out
      capacity_ = bytes_ ? wanted : 0;
    }
    size_ = bytes_ ? size : 0;
    return bytes_.get();
  }

  std::string_view view() const { return {bytes_.get(), size_}; }

  /// Ends the input's life; gives large memory back.
  void consume() {
    size_ = 0;
    if (capacity_ > kInputKept) release();
  }

 private:
  void release() {
    bytes_.reset();
    capacity_ = size_ = 0;
  }

  std::unique_ptr<char, Free> bytes_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

/// What lives from one call to the next.
struct State {
  Input input;
  std::string text;  ///< The note, and behind it the head.
  std::string body;
  EdgeResult result{};
};

State& state() {
  static State instance;
  return instance;
}

struct HeaderField {
  std::string_view name;
  std::optional<std::string_view> Request::*value;
};

constexpr std::array<HeaderField, 17> kHeaderFields = {{
    {"roombox-caller", &Request::caller},
    {"roombox-origins", &Request::allowed_origins},
    {"roombox-header-bytes", &Request::header_bytes},
    {"roombox-max-rooms", &Request::max_rooms},
    {"origin", &Request::origin},
    {"access-control-request-method", &Request::preflight_method},
    {"access-control-request-headers", &Request::preflight_headers},
    {"content-type", &Request::content_type},
    {"content-length", &Request::content_length},
    {"content-encoding", &Request::content_encoding},
    {"idempotency-key", &Request::idempotency_key},
    {"last-event-id", &Request::last_event_id},
    {"upgrade", &Request::upgrade},
    {"range", &Request::range},
    {"if-range", &Request::if_range},
    {"if-match", &Request::if_match},
    {"if-none-match", &Request::if_none_match},
}};

void read_header(std::string_view line, Request& request) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  for (const HeaderField& field : kHeaderFields) {
    std::optional<std::string_view>& value = request.*field.value;
    if (line.substr(0, colon) == field.name && !value) value = line.substr(colon + 1);
  }
}

Request read_head(std::string_view head) {
  Request request{};
  const std::string_view first = take_until(head, '\n');
  const std::size_t space = first.find(' ');
  request.method = first.substr(0, space);
  if (space != std::string_view::npos) request.url = first.substr(space + 1);
  while (!head.empty()) read_header(take_until(head, '\n'), request);
  return request;
}

void append_lines(std::string& head, const Headers& headers) {
  for (const auto& [name, value] : headers) head.append(name).append(":").append(value).append("\n");
}

/// Writes a decision into the state.
class Writer {
 public:
  /// The text of the state is the note.
  explicit Writer(State& state) : state_(state), note_size_(state.text.size()) { state.body = {}; }

  void operator()(Answer&& answer) {
    append_lines(state_.text, answer.headers);
    state_.body = std::move(answer.body);
    finish(kEdgeAnswer, static_cast<std::size_t>(answer.status));
  }
  void operator()(ReadBody&& read) { finish(kEdgeReadBody, read.limit); }
  void operator()(Forward&& forward) {
    state_.text.append(forward.sandbox).append("\n");
    state_.text.append(forward.method).append(" ").append(forward.path).append("\n");
    append_lines(state_.text, forward.headers);
    if (!forward.reply_headers.empty()) state_.text += "\n";
    append_lines(state_.text, forward.reply_headers);
    state_.body = std::move(forward.seed);
    finish(kEdgeForward, forward.base == Forward::Base::Callers ? 1 : 0);
  }
  void operator()(Ask&& ask) {
    state_.text.append(ask.operation).append("\n").append(ask.sandbox).append("\n");
    append_lines(state_.text, ask.arguments);
    state_.body = std::move(ask.fields);
    finish(kEdgeAsk, 0);
  }
  void operator()(Page&& page) {
    state_.text.append(page.file).append("\n");
    finish(kEdgePage, 0);
  }

 private:
  void finish(EdgeAction action, std::size_t status_or_limit) {
    const std::string& text = state_.text;
    state_.result = {action,
                     status_or_limit,
                     text.data() + note_size_,
                     text.size() - note_size_,
                     state_.body.data(),
                     state_.body.size(),
                     text.data(),
                     note_size_};
  }

  State& state_;
  std::size_t note_size_;
};

/// The two parts of an input; none if it is shorter than they.
std::optional<std::pair<std::string_view, std::string_view>> split(std::string_view input,
                                                                   std::size_t head_size,
                                                                   std::size_t rest_size) {
  if (head_size > input.size() || rest_size > input.size() - head_size) return std::nullopt;
  return std::pair(input.substr(0, head_size), input.substr(head_size, rest_size));
}

void write_note(std::string& note, const Subject& subject, const Decision& decision) {
  const auto* const answer = std::get_if<Answer>(&decision);
  note.assign(subject.pattern).append("\n");
  note.append(subject.sandbox.empty() ? std::string_view() : room_of(subject.sandbox)).append("\n");
  note.append(subject.execution).append("\n");
  note.append(answer == nullptr ? std::string_view() : answer->code).append("\n");
}

/// The request was read out of the input, which is given back now that the decision is made.
const EdgeResult* publish(Decision&& decision, const Subject& subject) {
  write_note(state().text, subject, decision);
  std::visit(Writer(state()), std::move(decision));
  state().input.consume();
  return &state().result;
}

const EdgeResult* publish_fault() {
  return publish(answer_outcome({}, "crashed"), {});
}

}  // namespace
}  // namespace roombox::edge

using namespace roombox::edge;

ROOMBOX_EXPORT(edge_input) char* edge_input(std::size_t size) {
  state().input.consume();  // in case a host asks twice
  state().body = {};        // the last result's, which may be large: there is not memory for two of that kind
  return size > kInputMax ? nullptr : state().input.resize(size);
}

ROOMBOX_EXPORT(edge_decide) const EdgeResult* edge_decide(std::size_t head_size, std::int32_t body_size) {
  const bool has_body = body_size >= 0;
  const auto parts =
      split(state().input.view(), head_size, has_body ? static_cast<std::size_t>(body_size) : 0);
  if (!parts) return publish_fault();
  Request request = read_head(parts->first);
  if (has_body) request.body = parts->second;
  Subject subject;
  Decision decision = decide(request, subject);
  return publish(std::move(decision), subject);
}

ROOMBOX_EXPORT(edge_outcome) const EdgeResult* edge_outcome(std::size_t head_size, std::size_t outcome_size) {
  const auto parts = split(state().input.view(), head_size, outcome_size);
  if (!parts) return publish_fault();
  return publish(answer_outcome(read_head(parts->first), parts->second), {});
}
