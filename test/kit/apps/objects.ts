/** Objects of apps as tests send them. */

import { appParent } from '../../../src/apps/words.ts'
import type { KubeObject } from '../../../src/base/domain.ts'

export interface AppWish {
  readonly image?: string
  readonly stop?: boolean
  readonly scope?: string
  readonly groupName?: string
  readonly instanceType?: string
  readonly httpPort?: number
  readonly metadata?: object
  /** More of the container. */
  readonly container?: object
  /** More of the pod. */
  readonly pod?: object
}

/** A small app with a web interface. */
export function application(namespace: string, name: string, wish: AppWish = {}): KubeObject {
  const { image = 'example.org/app:1', container, pod, metadata, httpPort = 8080, ...spec } = wish
  const ports = [{ name: 'http', containerPort: 8080, protocol: 'TCP' }]
  return {
    ...appParent,
    metadata: { name, namespace, ...metadata },
    spec: {
      ...{ displayName: name, groupName: namespace, ...spec, httpPort },
      podTemplate: { spec: { containers: [{ name: 'main', image, ports, ...container }], ...pod } },
      svcTemplate: { spec: { ports: [{ name: 'http', port: httpPort, protocol: 'TCP', targetPort: 8080 }] } },
    },
  } as KubeObject
}

/** An instance type whose pods run on the nodes of KWOK. */
export const kwokType = {
  limits: { cpu: 0.1, memory: '64Mi' },
  requests: { cpu: 0.1, memory: '64Mi' },
  nodeSelector: { type: 'kwok' },
  tolerations: [{ key: 'kwok.x-k8s.io/node', operator: 'Exists' as const }],
}
