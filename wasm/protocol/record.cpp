#include "wasm/protocol/record.h"

#include <algorithm>
#include <array>

#include "wasm/protocol/decimal.h"
#include "wasm/protocol/fields.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/timestamp.h"

namespace roombox {
namespace {

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

std::optional<int> parse_exit_code(std::string_view text) {
  constexpr std::uint64_t kLargest = 255;
  const auto value = parse_decimal(text);
  if (!value || *value > kLargest) return std::nullopt;
  return static_cast<int>(*value);
}

std::optional<std::size_t> parse_count(std::string_view text) {
  const auto value = parse_decimal(text);
  return value ? std::optional(static_cast<std::size_t>(*value)) : std::nullopt;
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text != "0" && text != "1") return std::nullopt;
  return text == "1";
}

/// Puts a value that could be read in its place; says whether it could.
template <typename Place, typename Value>
bool assign(Place& place, const std::optional<Value>& value) {
  if (value) place = *value;
  return value.has_value();
}

}  // namespace

void Runs::add(Stream stream, std::size_t bytes) {
  if (bytes == 0 || too_many_) return;
  if (stream != stream_) {
    append_varint(closed_, current_);
    stream_ = stream;
    current_ = 0;
  }
  current_ += bytes;
  constexpr std::size_t kLongestVarint = 10;
  too_many_ = closed_.size() + kLongestVarint > limits::kRuns;
  if (too_many_) closed_ = {};
}

std::string Runs::encoded() const {
  std::string out = closed_;
  if (!too_many_ && current_ > 0) append_varint(out, current_);
  return out;
}

std::optional<RunReader::Run> RunReader::next() {
  constexpr unsigned kBits = 64;
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < kBits && !rest_.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) {
      const Run run{stream_, value};
      stream_ = stream_ == Stream::Stdout ? Stream::Stderr : Stream::Stdout;
      return run;
    }
  }
  rest_ = {};
  return std::nullopt;
}

void append_seed(std::string& out, const ExecutionView& execution) {
  FieldWriter fields(out);
  fields.text("mode", name(execution.mode));
  fields.text("command", execution.command);
  if (!execution.arguments.empty()) fields.text("arguments", execution.arguments);
  fields.text("encoding", name(execution.encoding));
  if (!execution.shell.empty()) fields.text("shell", execution.shell);
}

void append_head(std::string& out, const ExecutionView& execution) {
  FieldWriter fields(out);
  fields.text("id", execution.id);
  append_seed(out, execution);
  fields.text("status", name(execution.status));
  if (execution.exit_code) fields.number("exit_code", *execution.exit_code);
  if (execution.signal) fields.text("signal", *execution.signal);
  if (execution.shell_exited) fields.text("shell_exited", "1");
  if (execution.oom) fields.text("oom", "1");
  if (execution.truncated) fields.text("truncated", "1");
  fields.number("started_ms", unix_ms(execution.started_at));
  if (execution.finished_at) fields.number("finished_ms", unix_ms(*execution.finished_at));
  if (execution.duration) fields.number("duration_ms", execution.duration->count());
  if (execution.attached > 0) fields.number("attached", static_cast<std::int64_t>(execution.attached));
  fields.number("total", static_cast<std::int64_t>(execution.total));
  if (execution.error == nullptr) return;
  fields.text("error_code", name(execution.error->code));
  fields.text("error_message", execution.error->message);
  for (const FieldError& detail : execution.error->details) {
    fields.text("error_detail", detail.field + '\0' + detail.message);
  }
}

void append_output(std::string& out, const ExecutionView& execution) {
  FieldWriter fields(out);
  fields.text("stdout", execution.out);
  fields.text("stderr", execution.err);
  if (!execution.runs.empty()) fields.text("runs", execution.runs);
}

namespace {

/// How a frame begins.
std::string frame_line(const ExecutionView& execution, std::size_t head, std::size_t output) {
  std::string line(execution.id);
  line.append(" ").append(name(execution.status)).append(" ").append(std::to_string(head));
  return line.append(" ").append(std::to_string(output)).append("\n");
}

/// Bytes that append_output appends.
std::size_t output_size(const ExecutionView& execution) {
  const std::size_t runs = execution.runs.empty() ? 0 : field_size("runs", execution.runs);
  return field_size("stdout", execution.out) + field_size("stderr", execution.err) + runs;
}

}  // namespace

void append_head_frame(std::string& out, const ExecutionView& execution) {
  std::string head;
  append_head(head, execution);
  out.append(frame_line(execution, head.size(), 0)).append(head);
}

void append_frame(std::string& out, const ExecutionView& execution) {
  std::string head;
  append_head(head, execution);
  const std::size_t output = output_size(execution);
  const std::string line = frame_line(execution, head.size(), output);
  constexpr std::size_t kAfter = 64;  // for what its carrier puts behind it
  out.reserve(out.size() + line.size() + head.size() + output + kAfter);  // large, so it must not grow
  out.append(line).append(head);
  append_output(out, execution);
}

FrameState take_frame(std::string_view& bytes, Frame& frame) {
  constexpr std::size_t kLongestLine = 160;  // id, status and two sizes of 20 digits at most
  const std::string_view start = bytes.substr(0, kLongestLine);
  const std::size_t end = start.find('\n');
  if (end == std::string_view::npos) {
    return bytes.size() < kLongestLine ? FrameState::Partial : FrameState::Damaged;
  }
  std::string_view line = start.substr(0, end);
  std::array<std::string_view, 4> words;
  for (std::string_view& word : words) {
    word = line.substr(0, line.find(' '));
    line.remove_prefix(std::min(word.size() + 1, line.size()));
  }
  const auto head = parse_decimal(words[2]);
  const auto output = parse_decimal(words[3]);
  if (!line.empty() || !head || !output) return FrameState::Damaged;
  const std::string_view body = bytes.substr(end + 1);
  if (*head > body.size() || *output > body.size() - *head) return FrameState::Partial;
  const auto head_size = static_cast<std::size_t>(*head);
  const auto output_size = static_cast<std::size_t>(*output);
  frame = {words[0], words[1], body.substr(0, head_size), body.substr(head_size, output_size)};
  bytes = body.substr(head_size + output_size);
  return FrameState::Whole;
}

bool Record::read(std::string_view fields) {
  FieldReader reader(fields);
  bool right = true;
  while (const auto field = reader.next()) right &= set(field->name, field->value);
  return right && !reader.damaged();
}

ExecutionView Record::view() const {
  ExecutionView view = view_;
  const bool has_error = error_ && !error_->message.empty();
  view.error = has_error ? &*error_ : nullptr;
  view.truncated |= !outcome_.empty();  // what its agent had of its output died with it
  view.total = std::max<std::uint64_t>(view.total, view.out.size() + view.err.size());
  return view;
}

bool Record::set(std::string_view name, std::string_view value) {
  if (name == "id") return assign(view_.id, std::optional(value));
  if (name == "mode") return assign(view_.mode, mode_named(value));
  if (name == "command") return assign(view_.command, std::optional(value));
  if (name == "arguments") return assign(view_.arguments, std::optional(value));
  if (name == "attached") return assign(view_.attached, parse_count(value));
  if (name == "encoding") return assign(view_.encoding, encoding_named(value));
  if (name == "status") return assign(view_.status, status_named(value));
  if (name == "exit_code") return assign(view_.exit_code, parse_exit_code(value));
  if (name == "signal") return assign(view_.signal, std::optional(value));
  if (name == "shell") return assign(view_.shell, std::optional(value));
  if (name == "shell_exited") return assign(view_.shell_exited, parse_flag(value));
  if (name == "oom") return assign(view_.oom, parse_flag(value));
  if (name == "truncated") return assign(view_.truncated, parse_flag(value));
  if (name == "started_ms") return assign(view_.started_at, parse_unix_ms(value));
  if (name == "finished_ms") return assign(view_.finished_at, parse_unix_ms(value));
  if (name == "duration_ms") return assign(view_.duration, parse_ms(value));
  if (name == "total") return assign(view_.total, parse_decimal(value));
  if (name == "error_code") {
    error_ = Error{error_code_named(value).value_or(ErrorCode::Internal), {}, {}};
    return error_code_named(value).has_value();
  }
  if (name == "error_message") {
    if (!error_) error_ = Error{ErrorCode::ExecutionFailed, {}, {}};
    error_->message = value;
    return true;
  }
  if (name == "error_detail") return add_detail(value);
  if (name == "outcome") return assign(outcome_, std::optional(value));
  if (name == "stdout") return assign(view_.out, std::optional(value));
  if (name == "stderr") return assign(view_.err, std::optional(value));
  if (name == "runs") return assign(view_.runs, std::optional(value));
  return false;
}

bool Record::add_detail(std::string_view value) {
  const std::size_t nul = value.find('\0');
  if (!error_ || nul == std::string_view::npos || error_->details.size() == limits::kFieldErrors) {
    return false;
  }
  error_->details.push_back({std::string(value.substr(0, nul)), std::string(value.substr(nul + 1))});
  return true;
}

}  // namespace roombox
