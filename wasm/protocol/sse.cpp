#include "wasm/protocol/sse.h"

#include <algorithm>

#include "wasm/protocol/base64.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/sandbox_name.h"
#include "wasm/protocol/utf8.h"

namespace roombox::sse {
namespace {

constexpr std::string_view kEnd = "\n\n";
constexpr std::string_view kOutputEnd = "\"}\n\n";

/// Everything of an event before its data.
void append_intro(std::string& out, std::uint64_t id, std::string_view event) {
  out.append("id: ").append(std::to_string(id)).append("\nevent: ").append(event).append("\ndata: ");
}

void append_output_intro(std::string& out, std::uint64_t id, Stream stream) {
  append_intro(out, id, name(stream));
  out.append("{\"data\":\"");
}

}  // namespace

void append_start(std::string& out, std::string_view execution_id, std::string_view sandbox_name,
                  Dialect dialect) {
  append_intro(out, kStartId, "start");
  JsonWriter json(out);
  json.begin_object().key("id").string(execution_id);
  switch (dialect) {
    case Dialect::Rooms:
    case Dialect::Sdk:  // which has no streams of events
      json.key("sandboxName").string(sandbox_name);
      break;
    case Dialect::V1:
      json.key("sandbox_id").string(room_of(sandbox_name));
      break;
  }
  json.end_object();
  out.append(kEnd);
}

void append_exit(std::string& out, std::uint64_t id, const ExecutionView& execution,
                 std::string_view sandbox_name, Dialect dialect) {
  append_intro(out, id, "exit");
  append_rendered(out, execution, sandbox_name, dialect);
  out.append(kEnd);
}

void append_error(std::string& out, std::uint64_t id, const Error& error, Dialect dialect) {
  append_intro(out, id, "error");
  out.append(render(error, dialect)).append(kEnd);
}

void OutputEvents::prime(Stream stream, std::string_view bytes_before) {
  const std::size_t size = encoding_ == Encoding::Utf8 ? utf8::incomplete_tail(bytes_before) : 0;
  held(stream).set(bytes_before.substr(bytes_before.size() - size));
}

void OutputEvents::append(std::string& out, Stream stream, std::string_view bytes, std::uint64_t units) {
  if (bytes.empty()) return;
  const std::size_t begin = out.size();
  append_output_intro(out, units, stream);
  if (encoding_ == Encoding::Base64) {
    append_base64(out, bytes);
    out.append(kOutputEnd);
    return;
  }
  const std::size_t data = out.size();
  bytes = complete(out, held(stream), bytes);
  if (const std::size_t tail = utf8::incomplete_tail(bytes); tail > 0) {
    held(stream).set(bytes.substr(bytes.size() - tail));
    bytes.remove_suffix(tail);
  }
  JsonWriter::append_escaped(out, bytes);
  out.size() == data ? out.resize(begin) : static_cast<void>(out.append(kOutputEnd));
}

/// Appends the character that begins with what is held back, or U+FFFD in its place; returns the bytes after
/// it. If its end is not there yet, holds all of it back.
std::string_view OutputEvents::complete(std::string& out, Held& held, std::string_view bytes) {
  if (held.size == 0) return bytes;
  std::array<char, 6> joined;
  const std::size_t before = held.view().copy(joined.data(), joined.size());
  const std::size_t size = before + bytes.copy(joined.data() + before, joined.size() - before);
  const auto sequence = utf8::first_sequence({joined.data(), size});
  if (sequence.kind == utf8::Sequence::Kind::Incomplete) {
    held.set({joined.data(), size});
    return {};
  }
  JsonWriter::append_escaped(out, {joined.data(), sequence.length});
  held.set({});
  return bytes.substr(sequence.length - before);
}

std::uint64_t OutputEvents::finish(std::string& out, std::uint64_t total, std::uint64_t after) {
  std::uint64_t id = total + 1;
  for (const Stream stream : {Stream::Stdout, Stream::Stderr}) {
    Held& rest = held(stream);
    if (rest.size == 0) continue;
    if (++id > after) {
      append_output_intro(out, id, stream);
      JsonWriter::append_escaped(out, rest.view());
      out.append(kOutputEnd);
    }
    rest.set({});
  }
  return id + 1;
}

}  // namespace roombox::sse
