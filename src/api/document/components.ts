/**
 * Names for parts of the OpenAPI document. The framework names only whole bodies. Parts of bodies and shared responses
 * would be repeated at each use, and a generated client would get a type for each of them.
 */
import type { z } from '@hono/zod-openapi'

const marker = 'x-component'

interface Mark {
  readonly room: 'schemas' | 'responses'
  readonly name: string
  /** Description of the component itself; each use may have its own. */
  readonly description?: string
}

type Json = Readonly<Record<string, unknown>>
type Components = Record<string, Record<string, unknown>>

/** A schema that gets a name of its own throughout the document. */
export function component<T extends z.ZodType>(name: string, schema: T, description: string): T {
  const mark: Mark = { room: 'schemas', name, description }
  return schema.describe(description).meta({ [marker]: mark })
}

/** The same for a response. */
export function sharedResponse<T extends object>(name: string, response: T): T {
  const mark: Mark = { room: 'responses', name }
  return { ...response, [marker]: mark }
}

/**
 * Moves all marked parts to the components of a document, and leaves references.
 * @throws when two different parts have one name
 */
export function withComponents<Document extends object>(document: Document): Document {
  const components: Components = {}
  const moved = moveOut(document, components) as Document & { components?: Components }
  const rooms = { ...moved.components }
  for (const [room, those] of Object.entries(components)) rooms[room] = { ...rooms[room], ...those }
  return { ...moved, components: rooms }
}

function moveOut(value: unknown, components: Components): unknown {
  if (Array.isArray(value)) return value.map(each => moveOut(each, components))
  if (typeof value !== 'object' || value === null) return value
  const { [marker]: mark, ...rest } = value as Json & { readonly [marker]?: Mark }
  const moved = Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, moveOut(each, components)]))
  return mark === undefined ? moved : reference(mark, moved, components)
}

function reference({ room, name, description }: Mark, moved: Json, components: Components): object {
  const body = description === undefined ? moved : { ...moved, description }
  const before = components[room]?.[name]
  if (before !== undefined && JSON.stringify(before) !== JSON.stringify(body)) {
    throw new Error(`two different components are called ${name}`)
  }
  components[room] = { ...components[room], [name]: body }
  const isOwn = moved.description === undefined || moved.description === description
  const $ref = `#/components/${room}/${name}`
  return room === 'responses' || isOwn ? { $ref } : { $ref, description: moved.description }
}
