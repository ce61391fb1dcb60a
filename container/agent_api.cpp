#include "container/agent_api.h"

#include <algorithm>
#include <array>

#include "container/caller.h"
#include "container/event_stream.h"
#include "container/metrics.h"
#include "container/port_relay.h"
#include "container/sys/parse.h"
#include "wasm/protocol/agent_api.h"
#include "wasm/protocol/field_report.h"
#include "wasm/protocol/json_writer.h"
#include "wasm/protocol/kill_request.h"
#include "wasm/protocol/messages.h"
#include "wasm/protocol/record.h"

namespace roombox {
namespace {

HttpResponse to_response(unsigned status, const Execution& execution, const Caller& caller) {
  if (const auto& error = execution.error()) return to_response(*error, caller.dialect);
  return {status, kJson, render(execution.view(), caller.sandbox, caller.dialect)};
}

/// The answer to a call that started a detached one.
HttpResponse to_started(const Execution& execution, const Caller& caller) {
  return {caller.dialect == Dialect::Sdk ? 201u : 202u, kJson,
          render_started(execution.view(), caller.sandbox, caller.dialect)};
}

/// The answer to a call that did something to an execution.
HttpResponse to_done(const Execution& execution, const Caller& caller) {
  if (caller.dialect == Dialect::Sdk) return {204, kJson, ""};
  return to_response(200, execution, caller);
}

/// Tells that the request became an execution, whatever became of that.
HttpResponse of(const Execution& execution, HttpResponse response) {
  response.headers.emplace_back(agent_api::kExecutionHeader, execution.id());
  return response;
}

/// Takes the time that the longer text takes, whatever it is compared with.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned char difference = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i] ^ b[b.empty() ? 0 : i % b.size()]);
  return difference == 0;
}

std::uint64_t last_event_id(const HttpRequest& request) {
  return sys::parse<std::uint64_t>(request.header(agent_api::kLastEventIdHeader)).value_or(0);
}

HttpServer::Verdict::Body body_of(const HttpRequest& request) {
  return is_port_call(request) ? HttpServer::Verdict::Body::Relayed : FileCalls::body_of(request);
}

/// Whether somebody would notice that the call is not answered: the records' reader comes again.
bool is_activity(const HttpRequest& request) {
  static constexpr std::array kOthers = {agent_api::kActivity, agent_api::kHealth,
                                         agent_api::kVersion,  agent_api::kMetrics,
                                         agent_api::kRecords,  agent_api::kRecordsStored};
  const auto path = split_query(request.target).first;
  return std::find(kOthers.begin(), kOthers.end(), path) == kOthers.end();
}

}  // namespace

AgentApi::AgentApi(Engine& engine, FileThread& files, std::string token)
    : engine_(engine), file_calls_(files), token_(std::move(token)) {}

HttpServer::Verdict AgentApi::judge(const HttpRequest& request) const {
  using Known = HttpServer::Verdict::Caller;
  if (is_authorized(request.header(agent_api::kTokenHeader)))
    return {Known::Known, std::nullopt, body_of(request), is_activity(request) ? being_answered_ : nullptr};
  if (request.target == agent_api::kHealth || request.target == agent_api::kVersion)
    return {Known::Unknown, std::nullopt};
  return {Known::Unknown,
          to_response(error(ErrorCode::Unauthorized, messages::kUnauthorized), Dialect::Rooms)};
}

void AgentApi::handle(ExchangePtr exchange) {
  struct Call {
    std::string_view method, path;
    void (AgentApi::*handle)(ExchangePtr);
  };
  static constexpr std::array<Call, 8> kCalls = {{
      {"POST", agent_api::kExecutions, &AgentApi::execute},
      {"GET", agent_api::kExecutions, &AgentApi::list},
      {"POST", agent_api::kTerminals, &AgentApi::open_terminal},
      {"GET", agent_api::kRecords, &AgentApi::feed_records},
      {"POST", agent_api::kRecordsStored, &AgentApi::forget_records},
      {"GET", agent_api::kVersion, &AgentApi::version},
      {"GET", agent_api::kActivity, &AgentApi::activity},
      {"GET", agent_api::kMetrics, &AgentApi::metrics},
  }};
  struct ExecutionCall {
    std::string_view method, verb;
    void (AgentApi::*handle)(ExchangePtr, ExecutionPtr);
  };
  static constexpr std::array<ExecutionCall, 7> kExecutionCalls = {{
      {"GET", "", &AgentApi::show},
      {"GET", agent_api::kEvents, &AgentApi::stream_events},
      {"GET", agent_api::kAttach, &AgentApi::attach},
      {"GET", agent_api::kTerminal, &AgentApi::attach_terminal},
      {"POST", agent_api::kResize, &AgentApi::resize},
      {"POST", agent_api::kStdin, &AgentApi::write_input},
      {"POST", agent_api::kKill, &AgentApi::kill},
  }};

  const HttpRequest& request = exchange->request();
  const auto path = split_query(request.target).first;
  if (path == agent_api::kHealth) return health(std::move(exchange));
  for (const auto& call : kCalls) {
    if (call.path == path && call.method == request.method) return (this->*call.handle)(std::move(exchange));
  }
  if (is_port_call(request)) return relay_to_port(std::move(exchange));
  if (FileCalls::is_one(path)) return file_calls_.handle(std::move(exchange));
  const std::string prefix = std::string(agent_api::kExecutions) + "/";
  const auto rest = path.starts_with(prefix) ? path.substr(prefix.size()) : std::string_view();
  const auto id = rest.substr(0, rest.find('/'));
  for (const auto& call : kExecutionCalls) {
    if (rest.empty() || call.verb != rest.substr(id.size()) || call.method != request.method) continue;
    auto execution = engine_.find(std::string(id));
    if (execution) return (this->*call.handle)(std::move(exchange), std::move(execution));
    const auto message = messages::fill(messages::kNoExecution, {FieldReport::quoted(id)});
    return exchange->respond(to_response(error(ErrorCode::NotFound, message), caller_of(request).dialect));
  }
  exchange->respond(to_response(error(ErrorCode::NotFound, messages::kNoAgentCall), Dialect::Rooms));
}

void AgentApi::health(ExchangePtr exchange) {
  exchange->respond({200, "text/plain", "ok", {{std::string(agent_api::kBootHeader), engine_.boot_id()}}});
}

void AgentApi::activity(ExchangePtr exchange) {
  const auto calls = static_cast<std::size_t>(being_answered_.use_count()) - 1;
  exchange->respond({200, "text/plain", std::to_string(engine_.running() + calls)});
}

void AgentApi::metrics(ExchangePtr exchange) {
  exchange->respond(
      {200, std::string(agent_api::kMetricsType), render_metrics(engine_, exchange->counters())});
}

void AgentApi::version(ExchangePtr exchange) {
  std::string body;
  JsonWriter(body)
      .begin_object()
      .key("version")
      .string(ROOMBOX_VERSION)
      .key("bootId")
      .string(engine_.boot_id())
      .end_object();
  exchange->respond({200, kJson, std::move(body)});
}

void AgentApi::execute(ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  const Caller caller = caller_of(request);
  const auto mode = mode_named(request.header(agent_api::kModeHeader)).value_or(Mode::Plain);
  auto parsed = parse_exec_request(request.body, caller.dialect, mode);
  if (!parsed)
    return exchange->respond(to_response(invalid_request(std::move(parsed.error())), caller.dialect));
  start(std::move(exchange), *std::move(parsed));
}

void AgentApi::open_terminal(ExchangePtr exchange) {
  const HttpRequest& request = exchange->request();
  auto size = parse_terminal_size(request.body);
  if (!size)
    return exchange->respond(
        to_response(invalid_request(std::move(size.error())), caller_of(request).dialect));
  ExecRequest terminal;
  terminal.cmd = agent_api::kTerminalCommand;
  terminal.mode = Mode::Detach;
  terminal.timeout.reset();
  terminal.terminal = *size;
  start(std::move(exchange), std::move(terminal));
}

void AgentApi::start(ExchangePtr exchange, ExecRequest exec) {
  const HttpRequest& request = exchange->request();
  const Caller caller = caller_of(request);
  std::string id(request.header(agent_api::kExecutionHeader));
  if (!id.empty() && engine_.find(id))
    return exchange->respond(to_response(error(ErrorCode::Conflict, messages::kSameId), caller.dialect));
  if (engine_.records().is_full())
    return exchange->respond(
        to_response(error(ErrorCode::Unavailable, messages::kRecordsFull), caller.dialect));

  const Mode mode = exec.mode;
  const ExecutionPtr execution = engine_.start(std::move(exec), std::move(id));
  if (request.header(agent_api::kNextHeader) == agent_api::kAttachesNext) execution->await_client();
  // Each of the two ways to an answer drops the exchange of the other.
  const auto unanswered = std::make_shared<ExchangePtr>(exchange);
  if (mode != Mode::Plain) {
    execution->when_started([this, unanswered, mode, caller](const Execution& started) {
      const auto waiting = std::exchange(*unanswered, nullptr);
      if (!waiting) return;
      if (mode == Mode::Detach) return waiting->respond(of(started, to_started(started, caller)));
      stream(waiting, engine_.find(started.id()), 0, LogReader::Pace::Reader);
    });
  }
  execution->when_ended([unanswered, caller](const Execution& ended) {
    if (const auto waiting = std::exchange(*unanswered, nullptr))
      waiting->respond(of(ended, to_response(200, ended, caller)));
  });
  if (mode == Mode::Detach) return;
  exchange->on_abandoned([weak = std::weak_ptr(execution)] {
    if (const auto running = weak.lock()) running->cancel();
  });
}

void AgentApi::stream(ExchangePtr exchange, ExecutionPtr execution, std::uint64_t after,
                      LogReader::Pace pace) {
  Caller caller = caller_of(exchange->request());
  auto head = of(*execution, {200, std::string(sse::kHeaders[0].second), {}});
  head.headers.insert(head.headers.end(), sse::kHeaders.begin() + 1, sse::kHeaders.end());
  const auto events = std::make_shared<EventStream>(
      engine_.io(), std::move(execution),
      EventStream::Client{exchange, std::move(caller.sandbox), caller.dialect}, after, pace);
  events->start();
  exchange->stream(std::move(head), events);
}

void AgentApi::stream_events(ExchangePtr exchange, ExecutionPtr execution) {
  const HttpRequest& request = exchange->request();
  const auto after = last_event_id(request);
  switch (EventStream::rest_after(*execution, after)) {
    case EventStream::Rest::Kept:
      return stream(std::move(exchange), std::move(execution), after, LogReader::Pace::Writer);
    case EventStream::Rest::Lost:
      return exchange->respond(
          to_response(error(ErrorCode::Gone, messages::kPositionLost), caller_of(request).dialect));
    case EventStream::Rest::None:
      return exchange->respond({204, kJson, ""});
  }
}

void AgentApi::attach(ExchangePtr exchange, ExecutionPtr execution) {
  attach(std::move(exchange), std::move(execution), Attachment::Framing::Channels);
}

void AgentApi::attach_terminal(ExchangePtr exchange, ExecutionPtr execution) {
  attach(std::move(exchange), std::move(execution), Attachment::Framing::Raw);
}

void AgentApi::attach(ExchangePtr exchange, ExecutionPtr execution, Attachment::Framing framing) {
  const HttpRequest& request = exchange->request();
  Caller caller = caller_of(request);
  const auto after = last_event_id(request);
  if (EventStream::rest_after(*execution, after) == EventStream::Rest::Lost)
    return exchange->respond(to_response(error(ErrorCode::Gone, messages::kPositionLost), caller.dialect));
  const auto at = EventStream::position_after(execution->log(), after);
  const auto attachment = std::make_shared<Attachment>(
      engine_.io(), execution, Attachment::Client{std::move(caller.sandbox), caller.dialect}, at, framing);
  attachment->speak_on(exchange->upgrade(attachment));
}

void AgentApi::resize(ExchangePtr exchange, ExecutionPtr execution) {
  const HttpRequest& request = exchange->request();
  Caller caller = caller_of(request);
  auto size = parse_terminal_size(request.body);
  if (!size) return exchange->respond(to_response(invalid_request(std::move(size.error())), caller.dialect));
  if (!execution->resize(*size)) {
    const auto why = execution->has_ended() ? messages::kEnded : messages::kNoTerminal;
    return exchange->respond(to_response(error(ErrorCode::Conflict, why), caller.dialect));
  }
  exchange->respond(to_done(*execution, caller));
}

void AgentApi::list(ExchangePtr exchange) {
  std::string frames;
  engine_.for_each_running([&](const Execution& execution) { append_head_frame(frames, execution.view()); });
  exchange->respond({200, std::string(agent_api::kRecordsType), std::move(frames)});
}

void AgentApi::show(ExchangePtr exchange, ExecutionPtr execution) {
  std::string frame;
  append_frame(frame, execution->view());
  exchange->respond({200, std::string(agent_api::kRecordsType), std::move(frame)});
}

void AgentApi::feed_records(ExchangePtr exchange) {
  exchange->stream({200, std::string(agent_api::kRecordsType), {}}, engine_.records().open_feed(exchange));
}

void AgentApi::forget_records(ExchangePtr exchange) {
  engine_.records().forget(exchange->request().body);
  exchange->respond({200, "text/plain", "ok"});
}

void AgentApi::write_input(ExchangePtr exchange, ExecutionPtr execution) {
  const HttpRequest& request = exchange->request();
  const Dialect dialect = caller_of(request).dialect;
  StdinWriter* const input = execution->input();
  const auto refuse = [&](ErrorCode code, std::string_view message) {
    exchange->respond(to_response(error(code, message), dialect));
  };
  if (execution->has_ended()) return refuse(ErrorCode::Conflict, messages::kEnded);
  if (!input || input->is_closed()) return refuse(ErrorCode::Conflict, messages::kStdinClosed);

  const std::size_t size = request.body.size();
  const bool ends = split_query(request.target).second == agent_api::kEof;
  const bool taken = input->write(std::string(request.body), [exchange, dialect,
                                                              size](StdinWriter::Outcome outcome) {
    switch (outcome) {
      case StdinWriter::Outcome::Written: {
        std::string body;
        JsonWriter(body).begin_object().key("bytes").integer(static_cast<std::int64_t>(size)).end_object();
        return exchange->respond({200, kJson, std::move(body)});
      }
      case StdinWriter::Outcome::Closed:
        return exchange->respond(to_response(error(ErrorCode::Conflict, messages::kStdinClosed), dialect));
      case StdinWriter::Outcome::Full:
        return exchange->respond(
            to_response(error(ErrorCode::TooManyRequests, messages::kStdinFull), dialect));
    }
  });
  if (taken && ends) execution->end_input();  // who was refused comes again with the same
}

void AgentApi::kill(ExchangePtr exchange, ExecutionPtr execution) {
  const HttpRequest& request = exchange->request();
  Caller caller = caller_of(request);
  auto parsed = parse_kill_request(request.body);
  if (!parsed)
    return exchange->respond(to_response(invalid_request(std::move(parsed.error())), caller.dialect));
  const int signal = parsed->signal;
  if (execution->has_ended())
    return exchange->respond(to_response(error(ErrorCode::Conflict, messages::kEnded), caller.dialect));
  if (signal == kSigkill) {  // answered when nothing of it is left
    execution->when_ended(
        [exchange, caller](const Execution& ended) { exchange->respond(to_done(ended, caller)); });
  }
  execution->signal(signal);
  if (signal != kSigkill) exchange->respond(to_done(*execution, caller));
}

HttpResponse AgentApi::refusal(unsigned status) {
  switch (status) {
    case 413:
      return to_response(error(ErrorCode::PayloadTooLarge, "payload too large"), Dialect::Rooms);
    default: {
      auto response =
          to_response(error(ErrorCode::InvalidRequest, messages::kInvalidRequest), Dialect::Rooms);
      response.status = status;
      return response;
    }
  }
}

bool AgentApi::is_authorized(std::string_view token) const {
  return token_.empty() || equal_in_constant_time(token, token_);
}

}  // namespace roombox
