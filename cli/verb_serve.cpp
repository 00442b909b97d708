#include <iostream>
#include <memory>
#include <string>

#include "cli/server_configuration.h"
#include "cli/verbs.h"
#include "service/serve.h"

namespace metafuse::cli {
namespace {

struct ServeArguments {
  std::string config;
  std::string listen;
};

Result<void> serve(const ServeArguments& arguments) {
  const auto read = [arguments] { return read_server_configuration(arguments.config, arguments.listen); };
  TRY(auto config, read());
  service::ServeOptions options;
  options.config = std::move(config);
  options.load_engines = engine_loader();
  options.reread = read;
  options.on_ready = [](const std::string& address) { std::cout << address << std::endl; };
  options.on_warning = [](const std::string& text) { std::cerr << "metafuse: warning: " << text << '\n'; };
  return service::serve(options);
}

}  // namespace

void add_serve(CLI::App& app, Result<void>& outcome) {
  CLI::App* verb = app.add_subcommand("serve", "answer searches over HTTP");
  auto arguments = std::make_shared<ServeArguments>();
  verb->add_option("--config", arguments->config, "server configuration (YAML)")->required();
  verb->add_option("--listen", arguments->listen,
                   "HOST:PORT instead of the configuration's; port 0 takes a free one");
  verb->footer(
      "The address is printed on standard output when the server is ready; the log goes to standard error, a "
      "JSON\n"
      "object a line. SIGHUP reloads configuration, templates, engines and models; SIGTERM answers what is "
      "under\n"
      "way and ends. METAFUSE_LISTEN, METAFUSE_STORE, METAFUSE_MODELS and METAFUSE_REDIS stand over the "
      "file.\n"
      "Examples:\n"
      "  metafuse serve --config config/metafuse.yaml\n"
      "  metafuse serve --config config/metafuse.yaml --listen 127.0.0.1:0");
  verb->callback([arguments, &outcome] { outcome = serve(*arguments); });
}

}  // namespace metafuse::cli
