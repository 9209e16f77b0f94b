/** The requests of one look at a workload, and how their answers are read. Pure. */
import { isIP, isIPv6 } from 'node:net'
import type { SourceName } from '../../config/idle.ts'
import type { AnswerText } from './answers.ts'
import { type CounterEvidence, FailedLook } from './evidence.ts'
import { type JsonSelector, readJsonValue } from './json-pointer.ts'
import { readKernels } from './kernels.ts'
import { type MetricSelector, readMetric } from './prometheus-text.ts'
import { readServerStatus } from './server-status.ts'
import { readTerminals } from './terminals.ts'

/** Where a workload is. */
export interface ProbeTarget {
  /** The IP address of the pod. A name is refused. */
  readonly address: string
  readonly port: number
  /** Path of its Jupyter server: begins and ends with `/`. */
  readonly prefix: string
  /** Token of its Jupyter server. It is sent to this address and port alone. */
  readonly credential: string | undefined
}

export type JupyterSource = 'kernels' | 'terminals' | 'server'

/** Another server of the same pod. No credential is sent to it. */
export interface SidecarPlace {
  readonly port: number
  /** Path, and query if it has one. */
  readonly path: string
}

export interface Sources {
  readonly sources: readonly JupyterSource[]
  readonly metric?: (MetricSelector & SidecarPlace) | undefined
  readonly json?: (JsonSelector & SidecarPlace) | undefined
  /** The readings of the previous look. */
  readonly readings?: Readonly<Record<string, number>> | undefined
}

export interface Question {
  readonly source: SourceName
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** The key of its reading, when it may be a counter. */
  readonly key?: string
  /** Whether 404 means that there is none of it. */
  readonly optional?: boolean
  /** @throws {MalformedAnswer} for an answer that shows nothing reliable */
  readonly read: (answer: AnswerText) => CounterEvidence
}

/** In the order of questions: busy kernels spare the others. */
const jupyter = [
  { source: 'kernels', path: 'api/kernels', read: readKernels },
  { source: 'terminals', path: 'api/terminals', read: readTerminals, optional: true },
  { source: 'server', path: 'api/status', read: readServerStatus },
] as const satisfies readonly (Pick<Question, 'source' | 'read' | 'optional'> & { readonly path: string })[]

/**
 * The questions to one workload, in their order.
 * @throws {FailedLook} for a target that must not be asked
 */
export function questionsFor(target: ProbeTarget, options: Sources): readonly Question[] {
  const { sources, metric, json, readings = {} } = options
  const questions: Question[] = jupyter
    .filter(({ source }) => sources.includes(source))
    .map(({ path, ...rest }) => ({
      ...rest,
      // Without this query a request with a token counts as activity itself.
      url: urlOf(target.address, target.port, `${prefixOf(target)}${path}?no_track_activity=1`),
      headers: { Accept: 'application/json', ...authorization(target) },
    }))
  if (metric) {
    const key = `metric:${metric.name}`
    const read = (answer: AnswerText) => readMetric(answer, metric, readings[key])
    questions.push({ source: 'metric', key, read, ...sidecarRequest(target, metric, 'text/plain') })
  }
  if (json) {
    const key = `json:${json.pointer}`
    const read = (answer: AnswerText) => readJsonValue(answer, json, readings[key])
    questions.push({ source: 'json', key, read, ...sidecarRequest(target, json, 'application/json') })
  }
  return questions
}

function sidecarRequest(
  { address }: ProbeTarget,
  { port, path }: SidecarPlace,
  accept: string,
): Pick<Question, 'url' | 'headers'> {
  return { url: urlOf(address, port, path), headers: { Accept: accept } }
}

/** Whether the credential can be in a header: visible ASCII, of bounded length. */
export const isCredential = (text: string): boolean => /^[\x21-\x7e]{1,4096}$/.test(text)

function authorization({ credential }: ProbeTarget): Readonly<Record<string, string>> {
  return credential !== undefined && isCredential(credential) ? { Authorization: `token ${credential}` } : {}
}

const pathForm = /^\/(?:[\w.~!$&'()*+,;=:@%-]+\/)*[\w.~!$&'()*+,;=:@%-]*(?:\?[\w.~!$&'()*+,;=:@%/?-]*)?$/

function prefixOf({ prefix }: ProbeTarget): string {
  if (!prefix.endsWith('/') || prefix.includes('?')) throw new FailedLook('unreachable', 'its prefix is not a path')
  return prefix
}

/** The address begins the URL, and the path with `/`: nothing in them leads to another server. */
function urlOf(address: string, port: number, path: string): URL {
  if (isIP(address) === 0 || address.includes('%'))
    throw new FailedLook('unreachable', 'its address is not an IP address')
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new FailedLook('unreachable', 'its port is not between 1 and 65535')
  }
  if (!pathForm.test(path)) throw new FailedLook('unreachable', 'its path is not one of a URL')
  return new URL(`http://${isIPv6(address) ? `[${address}]` : address}:${port}${path}`)
}
