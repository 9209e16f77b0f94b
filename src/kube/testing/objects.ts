/** Pods in lists and watches of a scripted API server. */

import { type Answer, json, type Received, stream } from '../../../test/kit/kube/server.ts'
import type { KubeObject } from '../../base/domain.ts'

export function pod(name: string, resourceVersion: number, uid = `uid-${name}`): KubeObject {
  const metadata = { name, namespace: 'ns', uid, resourceVersion: String(resourceVersion) }
  return { apiVersion: 'v1', kind: 'Pod', metadata }
}

export function list(resourceVersion: number, ...items: KubeObject[]): Answer {
  return json({ kind: 'PodList', metadata: { resourceVersion: String(resourceVersion) }, items })
}

export function line(type: string, object: unknown): string {
  return `${JSON.stringify({ type, object })}\n`
}

export function bookmark(resourceVersion: number): string {
  return line('BOOKMARK', { kind: 'Pod', metadata: { resourceVersion: String(resourceVersion) } })
}

export const expired = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' }

/** A watch that sends these lines and stays open. */
export function says(...chunks: string[]): Answer {
  return stream(response => {
    for (const chunk of chunks) response.write(chunk)
  })
}

/** A watch that sends these lines and ends. */
export function saysAndEnds(...chunks: string[]): Answer {
  return stream(response => response.end(chunks.join('')))
}

export function watchesOf(requests: readonly Received[]): Received[] {
  return requests.filter(request => request.query.has('watch'))
}

export function listsOf(requests: readonly Received[]): Received[] {
  return requests.filter(request => !request.query.has('watch'))
}

/** The resource version at which a watch began. */
export function startOf(request: Received | undefined): string | null | undefined {
  return request?.query.get('resourceVersion')
}
