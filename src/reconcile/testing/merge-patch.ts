/** RFC 7386, as the API server applies merge patches. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const fields = new Map(Object.entries(isObject ? target : {}))
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) fields.delete(name)
    else if (value !== undefined) fields.set(name, mergePatched(fields.get(name), value))
  }
  return Object.fromEntries(fields)
}
