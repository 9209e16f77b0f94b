/** Logs for tests. */
import type { Log } from '../../src/base/log.ts'

/** Logs nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Keeps messages by level. */
export function keepingLog(): Log & { readonly messages: string[] } {
  const messages: string[] = []
  const keep = (level: string) => (_fields: object, message: string) => void messages.push(`${level}: ${message}`)
  return { messages, debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') }
}
