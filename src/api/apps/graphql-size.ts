/**
 * Bounds an answer while its fields are resolved: a short query can ask for much. Where it is too large, no list and no value is
 * taken any more. The part that is there by then is thrown away.
 */
import { defaultFieldResolver, type GraphQLFieldResolver } from 'graphql'

/** A hundred templates whose icons are pictures of 30 KiB fit. */
export const mostAnswerBytes = 4 * 1_048_576

export class AnswerSize {
  readonly #most: number
  #bytes = 0

  constructor(most: number = mostAnswerBytes) {
    this.#most = most
  }

  get isTooLarge(): boolean {
    return this.#bytes > this.#most
  }

  /** For fields of ours: those of introspection have their own resolvers, and `graphql-bounds.ts` bounds them. */
  readonly resolve: GraphQLFieldResolver<unknown, unknown> = (source, given, context, info) => {
    const value = this.isTooLarge ? plainly(source, info.fieldName) : defaultFieldResolver(source, given, context, info)
    if (value instanceof Promise) return value
    this.#bytes += String(info.path.key).length + bytesOf(value, info.returnType.toString())
    // No error: there would be one for each field that is left.
    return this.isTooLarge ? emptied(value) : value
  }
}

/** The value that is there, and nothing that would have to be asked for. */
function plainly(source: unknown, name: string): unknown {
  const value = (source as Record<string, unknown> | undefined)?.[name]
  return typeof value === 'function' ? null : value
}

function bytesOf(value: unknown, type: string): number {
  if (typeof value === 'string') return Buffer.byteLength(JSON.stringify(value))
  // Each of them costs two brackets at least, before its own fields are counted.
  if (Array.isArray(value)) return value.length * 2
  return type === 'JSON' ? Buffer.byteLength(JSON.stringify(value) ?? '') : 1
}

function emptied(value: unknown): unknown {
  if (Array.isArray(value)) return []
  return typeof value === 'string' ? '' : value
}
