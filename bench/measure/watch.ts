/** Follows the objects of a collection by a watch, as a client would. */
import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { createInterface } from 'node:readline'
import { KubeConfig } from '@kubernetes/client-node'
import type { KubeObject } from '../../src/base/domain.ts'

export interface Expected<T extends KubeObject> {
  readonly kubeconfig: string
  /** Of the collection, such as `/apis/apps/v1/namespaces/crowd/deployments`. */
  readonly path: string
  readonly count: number
  readonly isDone: (object: T) => boolean
  /** Called once for each name that is done. @param done their number so far */
  readonly onDone: (object: T, done: number) => void
  readonly signal: AbortSignal
}

/**
 * Does this work while a watch is open. Resolves when it is done and so are all objects.
 * @throws the first error of the work, and the signal's reason when that comes first
 */
export async function untilDone<T extends KubeObject>(
  { kubeconfig, path, count, isDone, onDone, signal }: Expected<T>,
  work: () => Promise<void>,
): Promise<void> {
  const done = new Set<string>()
  const all = Promise.withResolvers<void>()
  const end = await watchAll<T>(kubeconfig, path, object => {
    const { name } = object.metadata
    if (done.has(name) || !isDone(object)) return
    done.add(name)
    onDone(object, done.size)
    if (done.size === count) all.resolve()
  })
  const ended = () => all.reject(signal.reason)
  signal.addEventListener('abort', ended)
  try {
    await Promise.all([work(), all.promise])
  } finally {
    end()
    signal.removeEventListener('abort', ended)
  }
}

/**
 * Calls back for each object that there is, and for each change. The API server ends watches of a resource whose definition
 * it has just learnt; a new one begins with all that there is.
 * @returns a function that ends it
 */
async function watchAll<T extends KubeObject>(
  kubeconfig: string,
  path: string,
  onEvent: (object: T) => void,
): Promise<() => void> {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const options: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {}
  await config.applyToHTTPSOptions(options)
  const url = `${config.getCurrentCluster()!.server}${path}?watch=true`
  let current: IncomingMessage
  let isOver = false
  const follow = async () => {
    current = await opened(url, options)
    const lines = createInterface({ input: current })
    lines.on('line', line => onEvent((JSON.parse(line) as { object: T }).object))
    current.once('close', () => {
      // A rejection ends the bench.
      if (!isOver) void follow()
    })
  }
  await follow()
  return () => {
    isOver = true
    current.destroy()
  }
}

const opened = (url: string, options: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    request(url, options, resolve).once('error', reject).end()
  })
