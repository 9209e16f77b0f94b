/** Removes secrets from the fields of log lines. Pure. */

const secretHeaders = ['authorization', 'Authorization', 'x-auth-request-token', 'x-skylab-ingress-secret']
const secretNames = new Set(['token', ...secretHeaders, 'env', 'plan', 'password'])

/** Secrets are looked for at this many levels. */
const maxLevels = 3
const censored = '***'

type Fields = Readonly<Record<string, unknown>>

/**
 * The fields as JSON has them, without the values of fields that hold secrets, at the first three levels. A line has few
 * fields and seldom an object, so most fields are not looked into, and nothing is copied.
 * @param levels how many levels are left
 */
export function withoutSecrets(fields: object, levels = maxLevels): object {
  let clean: Record<string, unknown> | undefined
  for (const [name, value] of Object.entries(fields)) {
    const hidden = hiddenValue(name, value, levels)
    if (hidden === value) continue
    clean ??= (Array.isArray(fields) ? [...fields] : { ...fields }) as Record<string, unknown>
    clean[name] = hidden
  }
  return clean ?? fields
}

function hiddenValue(name: string, value: unknown, levels: number): unknown {
  if (value === undefined) return value
  if (secretNames.has(name)) return censored
  if (levels === 1 || typeof value !== 'object' || value === null) return value
  const { toJSON } = value as { toJSON?: unknown }
  const shown: unknown = typeof toJSON === 'function' ? toJSON.call(value, name) : value
  return typeof shown === 'object' && shown !== null ? withoutSecrets(shown as Fields, levels - 1) : shown
}
