/** Joins the webhooks of LNamespaces: a port of their own, with a certificate of its own. Loaded only if they are wanted. */
import { TotalLimit } from '../../api/bounds/held.ts'
import { type BoundServer, boundServer } from '../../api/connections/http-server.ts'
import { createWebhooks } from '../../api/tenants/webhooks.ts'
import { asObject } from '../../base/json.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { ApiTls } from '../../settings/load.ts'
import { createWebhookMetrics } from '../../telemetry/webhook-metrics.ts'
import type { TenantSettings } from '../../tenants/spec.ts'
import { tenantGroup } from '../../tenants/words.ts'
import { Certificates } from '../../tls/certificates.ts'
import type { Basics } from '../basics.ts'
import type { Part } from '../part.ts'

/** Questions at once: strangers who reach the port shall not take the slots of revocations. */
const mostQuestions = 4
/** Less than `timeoutSeconds` of the component's webhooks, so that the answer has words. */
const askMs = 4_000
const graceMs = 5_000

export interface Webhooks extends Part {
  /** Rejects when the port is not available. */
  listen(): Promise<void>
}

export function joinWebhooks(
  { config, clock, log, metrics }: Basics,
  kube: Pick<KubeClient, 'request'>,
  settings: TenantSettings,
  { port, tls }: { readonly port: number; readonly tls: ApiTls },
): Webhooks {
  const certificates = new Certificates({ ...tls, clock, log })
  const { answers } = createWebhookMetrics(metrics.registry)
  const questions = new TotalLimit(mostQuestions, 'questions')
  const app = createWebhooks({
    settings,
    mayOverride: async (name, userInfo) => {
      const leave = questions.enter()
      return mayOverride(kube, name, userInfo).finally(leave)
    },
    onAnswer: (webhook, result) => answers.inc({ webhook, result }),
  })
  const server: BoundServer = boundServer(config.api.limits, clock, (request: Request) => app.fetch(request), {
    certificates,
    requireClientCertificate: false,
  })
  return {
    listen: async () => {
      certificates.start()
      log.info({ port: await server.listen(config.api.host, port) }, 'webhooks are served')
    },
    close: async () => {
      await server.close(graceMs)
      await certificates.close()
    },
  }
}

/** Asked of the API server, which alone knows who may do what. */
async function mayOverride(kube: Pick<KubeClient, 'request'>, name: string, userInfo: unknown): Promise<boolean> {
  const { username: user, uid, groups, extra } = asObject(userInfo)
  const resourceAttributes = { group: tenantGroup, resource: 'lnamespaces', name, verb: 'override' }
  const review = {
    ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
    spec: { user, uid, groups, extra, resourceAttributes },
  }
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
  const options = { signal: AbortSignal.timeout(askMs), agent: 'webhook' }
  return asObject(asObject(await kube.request('POST', path, review, options)).status).allowed === true
}
