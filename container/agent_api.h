#pragma once

#include "container/attachment.h"
#include "container/engine.h"
#include "container/file_calls.h"
#include "container/http_server.h"

namespace roombox {

/// The agent's HTTP interface over its engine: wasm/protocol/agent_api.h.
class AgentApi {
 public:
  /// @param token what callers must present; empty where nobody needs to. It keeps the sandbox's own
  ///              processes, which reach the port too, from starting commands outside the tree that they
  ///              belong to.
  AgentApi(Engine& engine, FileThread& files, std::string token);

  /// Lets in who knows the token, and anyone to what tells nothing.
  HttpServer::Verdict judge(const HttpRequest& request) const;

  void handle(std::shared_ptr<Exchange> exchange);

  /// The answer to a request that the server could not read.
  static HttpResponse refusal(unsigned status);

 private:
  using ExchangePtr = std::shared_ptr<Exchange>;
  using ExecutionPtr = std::shared_ptr<Execution>;

  void health(ExchangePtr exchange);
  void activity(ExchangePtr exchange);
  void version(ExchangePtr exchange);
  void metrics(ExchangePtr exchange);
  void execute(ExchangePtr exchange);
  void open_terminal(ExchangePtr exchange);
  void list(ExchangePtr exchange);
  void feed_records(ExchangePtr exchange);
  void forget_records(ExchangePtr exchange);
  void show(ExchangePtr exchange, ExecutionPtr execution);
  void stream_events(ExchangePtr exchange, ExecutionPtr execution);
  void attach(ExchangePtr exchange, ExecutionPtr execution);
  void attach_terminal(ExchangePtr exchange, ExecutionPtr execution);
  void resize(ExchangePtr exchange, ExecutionPtr execution);
  void write_input(ExchangePtr exchange, ExecutionPtr execution);
  void kill(ExchangePtr exchange, ExecutionPtr execution);

  void start(ExchangePtr exchange, ExecRequest request);
  void stream(ExchangePtr exchange, ExecutionPtr execution, std::uint64_t after, LogReader::Pace pace);
  void attach(ExchangePtr exchange, ExecutionPtr execution, Attachment::Framing framing);
  bool is_authorized(std::string_view token) const;

  Engine& engine_;
  FileCalls file_calls_;
  const std::string token_;
  /// Shared by each request that is being answered and counts as activity.
  const std::shared_ptr<const char> being_answered_ = std::make_shared<const char>();
};

}  // namespace roombox
