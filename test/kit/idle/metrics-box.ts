/** A cluster of its own with an API of metrics: while that is away, no namespace of a cluster can be removed. */
import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments, stringify } from 'yaml'
import { waitUntil } from '../../../dev/process/api-client.ts'
import { accountName, cpuRole } from '../../../src/labs/rights.ts'
import { AdminKube } from '../cluster/kube.ts'
import { boxNamespace as namespace, startOwnBox } from '../cluster/own-box.ts'
import { makeCertificate } from '../kube/server.ts'
import { FakeMetrics } from './fake-metrics.ts'

export interface MetricsBox {
  readonly metrics: FakeMetrics
  /** Of the controller's ServiceAccount, which has no right at first. */
  readonly kubeconfig: string
  readonly auditLog: string | null
  /** Grants what `skylab rights` grants where a rule goes by what pods use. */
  grant(): Promise<void>
  close(): Promise<void>
}

export function startMetricsBox(): Promise<MetricsBox> {
  return startOwnBox(
    async ({ run, cluster }) => {
      const metrics = await FakeMetrics.start(makeCertificate(mkdtempSync(join(run.stateDir, 'metrics-')), 'metrics'))
      const admin = new AdminKube(cluster.kubeconfig)
      const apply = (...objects: object[]) => cluster.apply(objects.map(each => stringify(each)).join('---\n'))
      await apply(
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: accountName, namespace } },
        {
          ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'metrics', namespace } },
          spec: { type: 'ExternalName', externalName: '127.0.0.1' },
        },
        {
          ...{ apiVersion: 'apiregistration.k8s.io/v1', kind: 'APIService' },
          metadata: { name: 'v1beta1.metrics.k8s.io' },
          spec: {
            ...{ group: 'metrics.k8s.io', version: 'v1beta1', groupPriorityMinimum: 100, versionPriority: 100 },
            ...{ service: { name: 'metrics', namespace, port: metrics.port }, insecureSkipTLSVerify: true },
          },
        },
      )
      const list = async () => (await admin.request('GET', '/apis/metrics.k8s.io/v1beta1/pods')).status === 200
      await waitUntil(list, { what: 'the API of metrics', limitMs: 60_000 })
      return {
        metrics,
        kubeconfig: await cluster.tokenKubeconfig(namespace, accountName),
        auditLog: cluster.auditLog,
        grant: () => apply(roleOfFile(), binding),
        close: async () => {
          admin.close()
          await metrics.stop()
          await run.close()
        },
      }
    },
    { audit: true },
  )
}

const rbac = 'rbac.authorization.k8s.io'

const binding = {
  ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRoleBinding', metadata: { name: cpuRole } },
  roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: cpuRole },
  subjects: [{ kind: 'ServiceAccount', name: accountName, namespace }],
}

function roleOfFile(): object {
  const text = readFileSync(new URL('../../../k8s/base/rbac.yaml', import.meta.url), 'utf8')
  return parseAllDocuments(text)
    .map(each => each.toJS())
    .find(({ metadata }) => metadata.name === cpuRole)
}
