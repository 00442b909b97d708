#include <algorithm>
#include <iterator>
#include <utility>

#include "core/contract.h"
#include "core/json_members.h"
#include "core/text.h"
#include "service/access/gate.h"
#include "service/api/handlers.h"
#include "service/base/process.h"
#include "service/pages/handlers.h"
#include "service/pages/page.h"
#include "service/router.h"

// /openapi.json and /docs: the OpenAPI 3.1 description of the API, made from the table of routes and from
// service/api/openapi.json, which has the operations' parameters, schemas and examples. Operations are named
// by method and path, so that a name stays the same when routes are added.

namespace metafuse::service {
namespace {

constexpr std::string_view kReference = "#/components/schemas/";

/// The OpenAPI tag of a dialect's operations, and what a failure of one answers with.
struct ApiTag {
  Dialect dialect;
  std::string_view name;
  std::string_view description;
  std::string_view failure_type;
  std::string_view failure_schema;  ///< "" for text
};
constexpr ApiTag kApiTags[] = {
    {Dialect::native, "Native",
     "Searching, fusing, feedback, templates and models in this server's own dialect",
     "application/problem+json", "Problem"},
    {Dialect::searxng, "SearXNG", "What SearXNG's clients use", "application/json", "SearxngError"},
    {Dialect::tavily, "Tavily", "What Tavily's clients use", "application/json", "TavilyError"},
    {Dialect::mcp, "Agents", "The Model Context Protocol", "application/json", "RpcResponse"},
    {Dialect::openwebui, "Open WebUI", "External web search and web loader", "application/json",
     "OpenWebuiError"},
    {Dialect::dify, "Dify", "External knowledge", "application/json", "DifyError"},
    {Dialect::perplexity, "Perplexity", "What clients of Perplexity's search use", "application/json",
     "PerplexityError"},
    {Dialect::rerank, "Rerankers", "What clients of Jina's and Cohere's rerankers use", "application/json",
     "RerankError"},
    {Dialect::page, "Pages", "Pages for people, and their forms", "text/html", ""},
    {Dialect::plain, "Service", "Health, metrics, descriptions and files", "text/plain", ""},
};

const ApiTag& tag_of(Dialect dialect) {
  return *std::find_if(std::begin(kApiTags), std::end(kApiTags),
                       [&](const ApiTag& tag) { return tag.dialect == dialect; });
}

JsonObject parsed_source() {
  auto source = parse_json(api_files().front().content, "openapi.json");
  require(source.has_value() && source->is_object(), "the description's source is JSON");
  return std::move(source->as_object());
}

/// The id of a route's operation, such as "post_v1_templates_domain_preview".
std::string operation_id(const Route& route) {
  std::string out = ascii_lower(route.method);
  for (const char c : route.pattern) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_word)
      out += c;
    else if (out.back() != '_')
      out += '_';
  }
  while (out.back() == '_') out.pop_back();
  return out;
}

/// Makes the operations from the routes and from their entries in openapi.json.
class Describer {
 public:
  explicit Describer(const JsonObject& source) : source_(source) {}

  JsonObject operation_of(const Route& route) const {
    const std::string id = operation_id(route);
    const Json* found = source_.at("operations").as_object().if_contains(id);
    static const JsonObject kNothing;
    const JsonObject& own = found == nullptr ? kNothing : found->as_object();
    JsonObject out{{"operationId", id}, {"summary", route.summary}};
    out["tags"] = JsonArray{tag_of(route.rules.dialect).name};
    JsonArray parameters = path_parameters(route.pattern);
    if (const Json* more = own.if_contains("parameters"))
      parameters.insert(parameters.end(), more->as_array().begin(), more->as_array().end());
    if (!parameters.empty()) out["parameters"] = std::move(parameters);
    if (const Json* request = own.if_contains("request"))
      out["requestBody"] = JsonObject{{"required", route.rules.body != BodyType::optional_json},
                                      {"content", content_of(request->as_object())}};
    out["responses"] = responses_of(own, route.rules.dialect);
    out["security"] = security_of(route.rules.access);
    if (!may_be_open(route.rules.access)) out["x-role"] = role_name(route.rules.access);
    return out;
  }

 private:
  JsonArray path_parameters(std::string_view pattern) const {
    JsonArray out;
    for (std::size_t at = pattern.find('{'); at != std::string_view::npos; at = pattern.find('{', at + 1)) {
      const std::string_view name = pattern.substr(at + 1, pattern.find('}', at) - at - 1);
      JsonObject parameter{{"name", name}, {"in", "path"}, {"required", true}};
      const Json* said = source_.at("path_parameters").as_object().if_contains(name);
      require(said != nullptr, "openapi.json describes every name in a path");
      for (const auto& [key, value] : said->as_object()) parameter[key] = value;
      out.push_back(std::move(parameter));
    }
    return out;
  }

  /// The description of a body of one media type.
  ///
  /// in: value - the name of a schema, a schema, or "" for text
  JsonObject media(std::string_view type, const Json& value) const {
    JsonObject out;
    const Json* schema = &value;
    if (value.is_string() && value.as_string().empty()) {
      out["schema"] = JsonObject{{"type", "string"}};
      if (const Json* example = source_.at("text_examples").as_object().if_contains(type))
        out["example"] = *example;
      return out;
    }
    if (value.is_string()) {
      out["schema"] = JsonObject{{"$ref", std::string(kReference) + std::string(value.as_string())}};
      schema = &source_.at("schemas").at(value.as_string());
    } else {
      out["schema"] = value;
    }
    if (const Json* examples = schema->as_object().if_contains("examples")) out["example"] = examples->at(0);
    return out;
  }

  JsonObject content_of(const JsonObject& types) const {
    JsonObject out;
    for (const auto& [type, value] : types) out[type] = media(type, value);
    return out;
  }

  /// What a failure answers with: as the operation says, or as all of its dialect.
  JsonObject failure_content(const JsonObject& own, Dialect dialect) const {
    if (const Json* said = own.if_contains("failure")) return content_of(said->as_object());
    const ApiTag& tag = tag_of(dialect);
    return JsonObject{{tag.failure_type, media(tag.failure_type, Json(tag.failure_schema))}};
  }

  JsonObject responses_of(const JsonObject& own, Dialect dialect) const {
    JsonObject out;
    if (const Json* said = own.if_contains("responses")) {
      for (const auto& [status, value] : said->as_object())
        out[status] = value.is_string()
                          ? JsonObject{{"description", value}}
                          : JsonObject{{"description", "Done."}, {"content", content_of(value.as_object())}};
    } else {
      const std::string_view type = dialect == Dialect::page ? "text/html" : "text/plain";
      out["200"] = JsonObject{{"description", "Done."}, {"content", JsonObject{{type, media(type, "")}}}};
    }
    for (const char* status : {"4XX", "5XX"})
      out[status] = JsonObject{{"description", status[0] == '4' ? "What is wrong with the request."
                                                                : "What the server cannot do now."},
                               {"content", failure_content(own, dialect)}};
    return out;
  }

  static JsonArray security_of(Access access) {
    JsonArray out;
    if (access == Access::open) return out;
    out.push_back(JsonObject{{"bearer", JsonArray{}}});
    out.push_back(JsonObject{{"header", JsonArray{}}});
    if (may_be_open(access)) out.push_back(JsonObject{});  // the configuration decides
    return out;
  }

  const JsonObject& source_;
};

/// The description without `servers`.
JsonObject api_description() {
  JsonObject source = parsed_source();
  const Describer describer(source);
  JsonObject paths;
  for (const Route& route : routes()) {
    Json& path = paths[route.pattern];
    if (!path.is_object()) path = JsonObject();
    path.as_object()[ascii_lower(route.method)] = describer.operation_of(route);
  }
  JsonArray tags;
  for (const ApiTag& tag : kApiTags)
    tags.push_back(JsonObject{{"name", tag.name}, {"description", tag.description}});
  JsonObject schemes;
  schemes["bearer"] = JsonObject{{"type", "http"}, {"scheme", "bearer"}};
  schemes["header"] = JsonObject{{"type", "apiKey"}, {"in", "header"}, {"name", "X-API-Key"}};
  JsonObject out;
  out["openapi"] = "3.1.0";
  out["info"] = JsonObject{{"title", "metafuse"},
                           {"version", version()},
                           {"description", "Meta-search whose fusion is learned from judged queries."},
                           {"license", JsonObject{{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}};
  out["tags"] = std::move(tags);
  out["paths"] = std::move(paths);
  out["components"] = JsonObject{{"parameters", source.at("parameters")},
                                 {"schemas", source.at("schemas")},
                                 {"securitySchemes", std::move(schemes)}};
  return out;
}

/// The description, made once, because the table of routes never changes.
const JsonObject& described_api() {
  static const JsonObject description = api_description();
  return description;
}

const JsonObject& resolved(const JsonObject& description, const Json& value) {
  const Json* reference = value.as_object().if_contains("$ref");
  if (reference == nullptr) return value.as_object();
  const std::string_view path = reference->as_string();
  const Json* at = &description.at("components");
  for (const char* kind : {"schemas", "parameters"})
    if (const std::string prefix = "#/components/" + std::string(kind) + "/"; path.starts_with(prefix))
      return at->at(kind).at(path.substr(prefix.size())).as_object();
  return value.as_object();
}

/// A value's type as text: "integer, 1 to 200, default 30".
std::string type_text(const JsonObject& description, const Json& value) {
  const JsonObject& schema = resolved(description, value);
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  const auto plain = [](const Json& item) {
    return item.is_string() ? std::string(item.as_string()) : to_text(item);
  };
  if (const Json* type = schema.if_contains("type")) {
    if (type->is_array())
      for (const Json& one : type->as_array()) out += (out.empty() ? "" : " or ") + plain(one);
    else
      add(plain(*type));
  } else if (schema.contains("anyOf")) {
    for (const Json& one : schema.at("anyOf").as_array())
      out += (out.empty() ? "" : " or ") + type_text(description, one);
  }
  if (const Json* items = schema.if_contains("items")) out += " of " + type_text(description, *items);
  if (const Json* values = schema.if_contains("enum")) {
    std::string names;
    for (const Json& one : values->as_array()) names += (names.empty() ? "" : " | ") + plain(one);
    add(names);
  }
  const Json* low = schema.if_contains("minimum");
  const Json* high = schema.if_contains("maximum");
  if (low != nullptr && high != nullptr)
    add(plain(*low) + " to " + plain(*high));
  else if (low != nullptr)
    add("from " + plain(*low));
  if (const Json* otherwise = schema.if_contains("default")) add("default " + plain(*otherwise));
  return out;
}

void add_parameters(const JsonObject& description, const JsonObject& operation, View& view) {
  const Json* parameters = operation.if_contains("parameters");
  if (parameters == nullptr) return;
  View& table = view.add("PARAMETERS");
  for (const Json& item : parameters->as_array()) {
    const JsonObject& parameter = resolved(description, item);
    table.add("PARAMETER")
        .set("NAME", JsonMembers(parameter).text_or_empty("name"))
        .set("PLACE", JsonMembers(parameter).text_or_empty("in"))
        .set("TYPE", type_text(description, parameter.at("schema")))
        .set("TEXT", JsonMembers(parameter).text_or_empty("description"));
  }
}

/// The members of an object, or of all objects of which a body may be one.
JsonObject members_of(const JsonObject& description, const Json& value) {
  const JsonObject& schema = resolved(description, value);
  JsonObject out;
  if (const Json* members = schema.if_contains("properties")) out = members->as_object();
  if (const Json* several = schema.if_contains("anyOf"))
    for (const Json& one : several->as_array())
      for (const auto& [name, member] : members_of(description, one)) out.emplace(name, member);
  return out;
}

/// Adds a body's members, with their meanings if the description explains any of them.
void add_members(const JsonObject& description, const JsonObject& members, View& table) {
  const auto meaning_of = [&](const Json& member) {
    return JsonMembers(resolved(description, member)).text_or_empty("description");
  };
  const bool is_explained = std::any_of(members.begin(), members.end(), [&](const auto& member) {
    return !meaning_of(member.value()).empty();
  });
  if (is_explained) table.add("EXPLAINED");
  for (const auto& [name, member] : members) {
    View& row = table.add("MEMBER").set("NAME", name).set("TYPE", type_text(description, member));
    if (is_explained) row.add("MEANING").set("TEXT", meaning_of(member));
  }
}

/// Adds a body's members and an example of it.
void add_content(const JsonObject& description, std::string_view part, const std::string& title,
                 const JsonObject& content, View& view) {
  for (const auto& [type, media] : content) {
    View& block = view.add(part);
    block.set("TITLE", title).set("TYPE", type);
    if (const Json* example = media.as_object().if_contains("example"))
      block.add("EXAMPLE").set(
          "TEXT", example->is_string() ? std::string(example->as_string()) : to_pretty_text(*example));
    const JsonObject members = members_of(description, media.at("schema"));
    if (!members.empty()) add_members(description, members, block.add("MEMBERS"));
  }
}

/// The description as an HTML page: each operation with its parameters, members and examples.
std::string api_page(const Exchange& exchange, const JsonObject& description) {
  View view = page_view(&exchange, "The HTTP API", "", "");
  for (const Json& tag : description.at("tags").as_array()) {
    View& group = view.add("GROUP");
    group.set("NAME", JsonMembers(tag.as_object()).text_or_empty("name"));
    group.set("TEXT", JsonMembers(tag.as_object()).text_or_empty("description"));
    for (const auto& [path, methods] : description.at("paths").as_object())
      for (const auto& [method, value] : methods.as_object()) {
        const JsonObject& operation = value.as_object();
        if (operation.at("tags").at(0) != tag.at("name")) continue;
        View& part = group.add("OPERATION");
        std::string verb(method);
        for (char& c : verb) c = static_cast<char>(c - 32);
        part.set("ID", JsonMembers(operation).text_or_empty("operationId"))
            .set("METHOD", verb)
            .set("PATH", path);
        part.set("SUMMARY", JsonMembers(operation).text_or_empty("summary"));
        if (const std::string role = JsonMembers(operation).text_or_empty("x-role"); !role.empty())
          part.add("KEYED").set("ROLE", role);
        add_parameters(description, operation, part);
        if (const Json* body = operation.if_contains("requestBody"))
          add_content(description, "CONTENT", "Request", body->at("content").as_object(), part);
        for (const auto& [status, answer] : operation.at("responses").as_object())
          if (const Json* content = answer.as_object().if_contains("content");
              content != nullptr && status[0] == '2')
            add_content(description, "CONTENT", "Answer " + std::string(status), content->as_object(), part);
      }
  }
  return render_page("docs", view);
}

}  // namespace

HttpResponse handle_openapi(const Exchange& exchange) {
  JsonObject out = described_api();
  out["servers"] = JsonArray{JsonObject{{"url", exchange.origin()}, {"description", "This server"}}};
  return json_response(out);
}

HttpResponse handle_docs(const Exchange& exchange) {
  return html_response(api_page(exchange, described_api()));
}

}  // namespace metafuse::service
