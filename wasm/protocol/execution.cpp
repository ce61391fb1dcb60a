#include "wasm/protocol/execution.h"

#include <array>

#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/limits.h"
#include "wasm/protocol/utf8.h"

namespace roombox {
namespace {

constexpr std::array<std::string_view, 5> kStatusNames = {"running", "completed", "timeout", "cancelled",
                                                          "failed"};

void append_padded(std::string& out, unsigned value, std::size_t digits) {
  std::array<char, 10> text;
  for (std::size_t at = digits; at-- > 0; value /= 10) text[at] = static_cast<char>('0' + value % 10);
  out.append(text.data(), digits);
}

/// ISO 8601 in UTC with milliseconds, as JavaScript's Date prints it: 2026-11-29T15:39:01.250Z.
std::string iso_8601(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(floor<milliseconds>(time - day));
  std::string out;
  append_padded(out, static_cast<unsigned>(static_cast<int>(date.year())), 4);
  append_padded(out += '-', static_cast<unsigned>(date.month()), 2);
  append_padded(out += '-', static_cast<unsigned>(date.day()), 2);
  append_padded(out += 'T', static_cast<unsigned>(clock.hours().count()), 2);
  append_padded(out += ':', static_cast<unsigned>(clock.minutes().count()), 2);
  append_padded(out += ':', static_cast<unsigned>(clock.seconds().count()), 2);
  append_padded(out += '.', static_cast<unsigned>(clock.subseconds().count()), 3);
  return out += 'Z';
}

/// The stored bytes as they are shown: of a stream that was cut in the middle of a character, without its
/// beginning.
std::string_view shown(std::string_view bytes, const ExecutionView& execution) {
  const bool cut = execution.truncated && bytes.size() == limits::kStoredOutput;
  if (cut) bytes.remove_suffix(utf8::incomplete_tail(bytes));
  return bytes;
}

void write_result(JsonWriter& json, const ExecutionView& execution) {
  json.begin_object();
  json.key("id").string(execution.id);
  json.key("status").string(name(execution.status));
  json.key("exitCode");
  execution.exit_code ? json.integer(*execution.exit_code) : json.null();
  json.key("signal");
  execution.signal ? json.string(*execution.signal) : json.null();
  json.key("success").boolean(execution.status == Status::Completed && execution.exit_code == 0);
  json.key("stdout").string(shown(execution.out, execution));
  json.key("stderr").string(shown(execution.err, execution));
  json.key("truncated").boolean(execution.truncated);
  json.key("oom").boolean(execution.oom);
  json.key("command").string(execution.command);
  json.key("duration").integer(execution.duration.count());
  json.key("timestamp").string(iso_8601(execution.started_at));
  json.end_object();
}

std::string render_rooms(const ExecutionView& execution, std::string_view sandbox_name) {
  // Names, numbers and punctuation take less than kFrame; an eighth more of the text leaves room for the
  // escapes of ordinary output, whose lines end in one. Output that needs more grows the string.
  constexpr std::size_t kFrame = 320;
  const std::size_t text = execution.out.size() + execution.err.size() + execution.command.size();
  std::string body;
  body.reserve(text + text / 8 + kFrame + execution.id.size() + sandbox_name.size());
  JsonWriter json(body);
  json.begin_object().key("result");
  write_result(json, execution);
  json.key("sandboxName").string(sandbox_name).end_object();
  return body;
}

}  // namespace

std::string_view name(Status status) {
  return kStatusNames[static_cast<std::size_t>(status)];
}

std::string render(const ExecutionView& execution, std::string_view sandbox_name, Dialect dialect) {
  switch (dialect) {
    case Dialect::Rooms:
      return render_rooms(execution, sandbox_name);
  }
  return {};
}

}  // namespace roombox
