/** Outcomes of an attempt at a request: what they show of the request and the API server, and whether another one may succeed. */
import { NeedsSomeone } from '../base/errors.ts'
import { type Reason, reasonOf } from '../base/reasons.ts'
import { KubeError, kubeError } from './errors.ts'
import type { Exchange, Head } from './exchange.ts'

const trustBy = 'certificate-authority-data of the kubeconfig, or ca.crt of the ServiceAccount'

/** Undefined for an answer that concerns this request only; `busy` if it says nothing about other requests. */
export function troubleOf(error: unknown): Reason | 'busy' | undefined {
  if (error instanceof NeedsSomeone) return { words: 'its credentials cannot be read', detail: error.message }
  if (!(error instanceof KubeError)) return reasonOf(error, { trustBy })
  const { status, reason, message } = error
  if (status === 401) return { words: 'it refuses the credentials', detail: '401 Unauthorized' }
  if (status === 429 || status >= 500) return 'busy'
  if (reason !== '') return undefined
  return { words: 'another server answers at its address', detail: message }
}

/** The error of an answer that is no success. */
export async function refusal({ status, headers }: Head, exchange: Exchange): Promise<KubeError> {
  const text = (await exchange.body).toString()
  const retryAfter = headers['retry-after']
  return kubeError(status, parsed(text), Array.isArray(retryAfter) ? retryAfter[0] : retryAfter)
}

export function isJson(headers: Head['headers']): boolean {
  const type = headers['content-type']
  return typeof type === 'string' && type.startsWith('application/json')
}

export const parse = (json: Buffer): unknown => JSON.parse(json.toString())

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Whether another attempt may succeed: false for a plain refusal, and without any credentials. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof KubeError)) return !(error instanceof NeedsSomeone)
  return error.status === 401 || error.status === 429 || error.status >= 500
}

/** Either side does not trust a certificate: the CA may have been replaced. */
export function isTrustFailure(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' && /CERT|^ERR_(TLS|SSL)|^UNABLE_TO/.test(code)
}
