/** Apps and templates as GraphQL shows them, by the names of PrimeHub. Pure. */

import type { Part } from '../../appcontrol/selection.ts'
import type { TemplateDetail } from '../../appcontrol/templates.ts'
import type { AppDetail, PodView } from '../../appcontrol/view.ts'
import type { AppsConfig } from '../../config/apps.ts'

export interface ViewParts {
  readonly instanceTypes: AppsConfig['instanceTypes']
  readonly defaultInstanceType: string
  /** Where the log of a pod is. */
  readonly logEndpoint: (pod: string) => string
  /** Of an app; asked only where a query wants them. */
  readonly podsOf: (id: string) => readonly PodView[]
}

export type AppNode = ReturnType<typeof appNode>

export function appNode(app: AppDetail, parts: ViewParts) {
  const { id, template, httpPort, serviceName, namespace } = app
  const internal = `http://${serviceName}.${namespace}:${httpPort}/console/apps/${id}`
  return {
    ...{ id, displayName: app.displayName, groupName: app.group, scope: app.scope, stop: app.stop },
    ...{ appName: template?.id, appVersion: template?.version, appIcon: template?.icon },
    ...{ appDefaultEnv: template?.defaultEnvs ?? [], appTemplate: template },
    ...{ instanceType: app.instanceType, instanceTypeSpec: typeNode(app.instanceType, parts) },
    ...{ appUrl: app.url, svcEndpoints: app.endpoints, env: app.env, rewrite: app.rewrite },
    internalAppUrl: serviceName === undefined || httpPort === undefined ? undefined : internal,
    ...{ status: app.phase, message: app.message },
    pods: () => parts.podsOf(id).map(({ name }) => ({ name, logEndpoint: parts.logEndpoint(name) })),
  }
}

const gibibyte = 1_024 ** 3

function typeNode(chosen: string, { instanceTypes, defaultInstanceType }: ViewParts) {
  const id = chosen || defaultInstanceType
  if (!Object.hasOwn(instanceTypes, id)) return undefined
  const { limits, resources } = instanceTypes[id]!
  const gpus = Object.entries(resources).filter(([name]) => /(^|[/.])gpu$/.test(name))
  return {
    ...{ id, name: id, displayName: id, cpuLimit: limits.cpu, memoryLimit: limits.memory / gibibyte },
    gpuLimit: gpus.reduce((sum, [, count]) => sum + count, 0),
  }
}

export function connectionNode({ entries, hasNext, hasPrevious }: Part<AppDetail>, parts: ViewParts) {
  const edges = entries.map(app => ({ cursor: app.id, node: appNode(app, parts) }))
  return {
    pageInfo: {
      ...{ hasNextPage: hasNext, hasPreviousPage: hasPrevious },
      ...{ startCursor: edges[0]?.cursor, endCursor: edges.at(-1)?.cursor },
    },
    edges,
  }
}

export const templateNode = ({ createdAt: _, ...shown }: TemplateDetail) => shown
