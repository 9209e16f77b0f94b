/**
 * Objects as lists and watches show them. A watch's line is read beyond its head only when somebody needs the rest: for most
 * replicas most states of an object are over before that. Pure.
 */
import type { KubeObject } from '../base/domain.ts'

/** An object that is perhaps not read yet. */
export interface SeenObject {
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string
  readonly resourceVersion: string
  /** The object, if it was read. */
  readonly whole?: KubeObject
  /**
   * Copies what is not read yet, and returns a function that reads it.
   * @throws {Error} (the function) when the rest is no JSON, or contradicts the head
   */
  keep(): () => KubeObject
}

/** One line of a watch. `seen` is undefined when the event has no object with a resource version. */
export interface SeenEvent {
  readonly type: string
  readonly seen: SeenObject | undefined
  /** The whole event, if it was read. */
  readonly whole?: { readonly object?: unknown }
}

/** A string of ASCII without escapes: its bytes are its value. */
const text = '"([ !#-\\[\\]-~]*)"'
/**
 * The beginning of an event as API servers encode it: the fields of Go's structures, in their order, each once. Texts of
 * tenants come later, or inside of strings that cannot end the pattern early. So a match has the values of JSON.parse. Lines
 * without a match are parsed, such as bookmarks.
 */
const head = new RegExp(
  [
    `^\\{"type":"(ADDED|MODIFIED|DELETED)","object":\\{`,
    `(?:"kind":"Namespace","apiVersion":"v1","metadata":\\{"name":${text}|`,
    `"kind":${text},"apiVersion":${text},"metadata":\\{"name":${text},(?:"generateName":${text},)?"namespace":${text})`,
    `,"uid":${text},"resourceVersion":${text}[,}]`,
  ].join(''),
)
/** Longer than any head: names have 253 bytes, namespaces 63. */
const headBytes = 1024

/** @throws {SyntaxError} when a line without the usual head is no JSON */
export function readEvent(line: Buffer): SeenEvent {
  const match = head.exec(line.toString('latin1', 0, Math.min(headBytes, line.length)))
  if (!match) return wholeEvent(JSON.parse(line.toString()))
  const [, type, ofNamespace, , , name, , namespace, uid, resourceVersion] = match
  const identity = { name: (ofNamespace ?? name)!, namespace, uid: copyOf(uid!), resourceVersion: resourceVersion! }
  return { type: type!, seen: { ...identity, keep: () => later(line.toString(), identity) } }
}

/** A part of a string keeps the whole string in memory; UIDs are kept as long as their objects. */
const copyOf = (part: string): string => Buffer.from(part, 'latin1').toString('latin1')

/** An object that was read already. */
export function seenObject(object: KubeObject): SeenObject {
  const { name, namespace, uid = '', resourceVersion = '' } = object.metadata
  const identity = { name, namespace, uid, resourceVersion: String(resourceVersion) }
  return { ...identity, whole: object, keep: () => () => object }
}

function wholeEvent(event: { type: string; object?: KubeObject }): SeenEvent {
  const isVersioned = typeof event.object?.metadata?.resourceVersion === 'string'
  return { type: event.type, seen: isVersioned ? seenObject(event.object!) : undefined, whole: event }
}

function later(json: string, { uid, resourceVersion }: Pick<SeenObject, 'uid' | 'resourceVersion'>) {
  return () => {
    const { object } = JSON.parse(json) as { object: KubeObject }
    const { metadata } = object
    if (metadata.uid !== uid || metadata.resourceVersion !== resourceVersion) {
      throw new Error('the end of a line contradicts its beginning')
    }
    return object
  }
}
