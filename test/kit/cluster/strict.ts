/** Objects as the API server accepts them from the controller, without dropped or rewritten fields. */
import { expect } from 'vitest'
import type { KubeObject } from '../../../src/base/domain.ts'
import { creationPath } from '../../../src/kube/kinds.ts'
import type { AdminKube, KubeAnswer } from './kube.ts'

/** Creates an object. A field that the API server does not know is refused, and not dropped. */
export function createStrictly(kube: AdminKube, object: KubeObject): Promise<KubeAnswer> {
  return send(kube, object, 'fieldValidation=Strict')
}

/** As `createStrictly`, with all of admission and validation, but as a dry run. */
export function tryStrictly(kube: AdminKube, object: KubeObject): Promise<KubeAnswer> {
  return send(kube, object, 'dryRun=All&fieldValidation=Strict')
}

function send(kube: AdminKube, object: KubeObject, how: string): Promise<KubeAnswer> {
  const { apiVersion, kind, metadata } = object
  return kube.request('POST', `${creationPath(apiVersion, kind, metadata.namespace)}?${how}`, object)
}

/** Fields that the API server does not return as sent, besides those that it adds: texts of Secrets, tolerations. */
export function asTaken({ spec, stringData, data, ...rest }: KubeObject): object {
  const { tolerations, ...other } = (spec ?? {}) as { tolerations?: readonly object[] }
  const encoded = Object.entries((stringData ?? {}) as Record<string, string>).map(([name, text]) => [
    name,
    Buffer.from(text).toString('base64'),
  ])
  const content = { ...(data as object | undefined), ...Object.fromEntries(encoded) }
  return {
    ...rest,
    ...(spec !== undefined && {
      spec: { ...other, ...(tolerations && { tolerations: expect.arrayContaining([...tolerations]) }) },
    }),
    ...(Object.keys(content).length > 0 && { data: content }),
  }
}
