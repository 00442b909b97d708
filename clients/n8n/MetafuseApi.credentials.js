"use strict";

/** The address of a metafuse server, and a key if it needs one. */
class MetafuseApi {
  constructor() {
    this.name = "metafuseApi";
    this.displayName = "metafuse API";
    this.properties = [
      { displayName: "URL", name: "url", type: "string", default: "http://127.0.0.1:8080", required: true },
      { displayName: "API Key", name: "key", type: "string", typeOptions: { password: true }, default: "" },
    ];
    this.authenticate = {
      type: "generic",
      properties: { headers: { Authorization: '={{$credentials.key ? "Bearer " + $credentials.key : ""}}' } },
    };
    this.test = { request: { baseURL: "={{$credentials.url}}", url: "/config" } };
  }
}

module.exports = { MetafuseApi };
