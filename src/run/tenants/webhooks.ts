/** Joins the webhooks of LNamespaces: a port of their own, with a certificate of its own. Loaded only if they are wanted. */
import { TotalLimit } from '../../api/bounds/held.ts'
import { boundServer } from '../../api/connections/http-server.ts'
import { createWebhooks } from '../../api/tenants/webhooks.ts'
import { asObject } from '../../base/json.ts'
import { Loop } from '../../base/loop.ts'
import type { KubeClient } from '../../kube/client.ts'
import { Rarely } from '../../telemetry/rarely.ts'
import { createWebhookMetrics } from '../../telemetry/webhook-metrics.ts'
import type { TenantSettings } from '../../tenants/spec.ts'
import { tenantGroup } from '../../tenants/words.ts'
import { Certificates } from '../../tls/certificates.ts'
import { readPair, type TlsFiles } from '../../tls/files.ts'
import type { Basics } from '../basics.ts'
import type { Part } from '../part.ts'

/** Questions at once: strangers who reach the port shall not take the slots of revocations. */
const mostQuestions = 4
/** Less than `timeoutSeconds` of the component's webhooks, so that the answer has words. */
const askMs = 4_000
const graceMs = 5_000
/** Between looks for a certificate, or for the port. */
const againMs = 5_000
/** There is nothing more to do once it is open. */
const restMs = 86_400_000

/** Bounds of a server that strangers can reach, and that only API servers need. */
const bounds = { maxConnections: 512, requestTimeoutSeconds: 5, headersTimeoutSeconds: 5, keepAliveTimeoutSeconds: 90 }

/** Waits until the certificate can be used, and serves until it is closed. */
export function joinWebhooks(
  { config, clock, log, metrics }: Basics,
  kube: Pick<KubeClient, 'request'>,
  settings: TenantSettings,
  { port, files }: { readonly port: number; readonly files: TlsFiles },
): Part {
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
  const limits = { ...config.api.limits, ...bounds }
  const unserved = new Rarely({ clock, log, trouble: 'webhooks are not served', over: 'webhooks are served' })
  const open = async () => {
    const first = await readPair(files)
    const certificates = new Certificates({ files, first, clock, log })
    const tls = { certificates, requireClientCertificate: false }
    const server = boundServer(limits, clock, (request: Request) => app.fetch(request), { tls })
    const served = await server.listen(config.api.host, port)
    certificates.start()
    unserved.worked()
    log.info({ port: served }, 'webhooks are served')
    return { server, certificates }
  }
  let opened: Awaited<ReturnType<typeof open>> | undefined
  const loop = new Loop({
    clock,
    round: async () => {
      opened ??= await open()
      return { ms: restMs }
    },
    failed: error => {
      unserved.failed((error as Error).message)
      return { ms: againMs }
    },
  })
  return {
    start: () => loop.start(),
    close: async () => {
      await loop.stop()
      await opened?.server.close(graceMs)
      await opened?.certificates.close()
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
