/** Reads JSON of others, without trust: a missing value or one of another type becomes an empty one. Pure. */

export type JsonObject = Readonly<Record<string, unknown>>

export function asObject(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}

export function asObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(asObject) : []
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function asOptionalText(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function asNumber(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

/** @returns milliseconds since the epoch; 0 if the value is not a time */
export function asTimeMs(value: unknown): number {
  return Date.parse(asText(value)) || 0
}

/** @returns undefined for what is no JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
