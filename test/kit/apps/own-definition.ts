/** A definition of k8s/components/apps at a real API server, in an API group of its own, so that no other test sees it. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import type { KubeObject } from '../../../src/base/domain.ts'
import { asObject, type JsonObject } from '../../../src/base/json.ts'
import { AdminKube, type KubeAnswer } from '../cluster/kube.ts'
import { eventually } from '../cluster/world.ts'
import { testBed } from '../testbed.ts'

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'

/** @param file without its ending */
export function readDefinition(file: 'definition' | 'template-definition'): KubeObject {
  const path = new URL(`../../../k8s/components/apps/${file}.yaml`, import.meta.url)
  return parse(readFileSync(path, 'utf8'), { merge: true })
}

export class OwnDefinition {
  readonly kube = new AdminKube(testBed().kubeconfig)
  readonly #group = `t${randomBytes(4).toString('hex')}.primehub.test`
  readonly #plural: string

  private constructor(plural: string) {
    this.#plural = plural
  }

  /** @throws when the API server refuses it */
  static async start(definition: KubeObject): Promise<OwnDefinition> {
    const spec = asObject(definition.spec)
    const names: JsonObject = { ...asObject(spec.names), shortNames: [] }
    const own = new OwnDefinition(String(names.plural))
    const object = { ...definition, metadata: { name: own.#name }, spec: { ...spec, group: own.#group, names } }
    const { status, body } = await own.kube.request('POST', crds, object)
    if (status !== 201) throw new Error(`${status} ${body.message}`)
    await eventually('its objects are served', async () => (await own.kube.request('GET', own.path)).status === 200)
    return own
  }

  get #name(): string {
    return `${this.#plural}.${this.#group}`
  }

  /** Of its objects in the namespace `default`. */
  get path(): string {
    return `/apis/${this.#group}/v1alpha1/namespaces/default/${this.#plural}`
  }

  /** The same object of this group. */
  here(object: JsonObject): JsonObject {
    const metadata = { ...asObject(object.metadata), namespace: 'default' }
    return { ...object, apiVersion: `${this.#group}/v1alpha1`, metadata }
  }

  post(object: JsonObject, query = '?dryRun=All'): Promise<KubeAnswer> {
    return this.kube.request('POST', this.path + query, this.here(object))
  }

  async stop(): Promise<void> {
    await this.kube.request('DELETE', `${crds}/${this.#name}`)
    this.kube.close()
  }
}

/** The fields of a definition that have no words. */
export function fieldsWithoutWords(definition: KubeObject): readonly string[] {
  const without: string[] = []
  const walk = (schema: JsonObject, path: string): void => {
    for (const [field, inner] of Object.entries(asObject(schema.properties))) {
      const at = `${path}.${field}`
      if (field !== 'metadata' && asObject(inner).description === undefined) without.push(at)
      walk(asObject(inner), at)
    }
    if (schema.items) walk(asObject(schema.items), `${path}[]`)
  }
  walk(schemaOf(definition), '')
  return without
}

/** The schema of its first version. */
export function schemaOf(definition: KubeObject): JsonObject {
  const [version] = asObject(definition.spec).versions as readonly JsonObject[]
  return asObject(asObject(version!.schema).openAPIV3Schema)
}
