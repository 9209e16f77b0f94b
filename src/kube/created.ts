/** The answer of the API server to a creation, parsed as late as possible. */
import type { KubeObject } from '../base/domain.ts'

/** A created object. Its metadata is parsed when it is used: of six objects in eight it never is. */
export type CreatedObject = Pick<KubeObject, 'apiVersion' | 'kind' | 'metadata'>

/**
 * The object that the server made. API servers write its kind first; an answer that begins otherwise is read at once.
 * @throws {Error} when the answer is no object of this kind
 */
export function createdObject({ apiVersion, kind }: KubeObject, json: Buffer): CreatedObject {
  const head = `{"kind":${JSON.stringify(kind)}`
  const isUsual = json.toString('latin1', 0, head.length) === head
  let metadata = isUsual ? undefined : metadataOf(kind, json)
  return {
    apiVersion,
    kind,
    get metadata() {
      metadata ??= metadataOf(kind, json)
      return metadata
    },
  }
}

function metadataOf(kind: string, json: Buffer): KubeObject['metadata'] {
  const made = JSON.parse(json.toString()) as KubeObject | null
  if (made?.kind !== kind) throw new Error(`the answer to a creation is no ${kind}`)
  return made.metadata
}
