/** The webhooks of LNamespaces, which the API server asks. Nothing else is served on their port. */
import { Hono } from 'hono'
import { asObject, asText } from '../../base/json.ts'
import { BadReview, type Creation, creationIn, type JsonPatch, patchesFor, refusalOf } from '../../tenants/admission.ts'
import { billingGroups } from '../../tenants/settings.ts'
import type { TenantSettings } from '../../tenants/spec.ts'
import { TotalLimit } from '../bounds/held.ts'

/** Of the answers of one process. */
export interface WebhooksParts {
  readonly settings: TenantSettings
  /**
   * Whether somebody has the verb `override` on an LNamespace.
   * @param userInfo as the API server sent it
   * @throws {Error} when the API server does not answer
   */
  readonly mayOverride: (name: string, userInfo: unknown) => Promise<boolean>
  readonly onAnswer: (webhook: 'mutate' | 'validate', result: 'allowed' | 'refused' | 'failed' | 'malformed') => void
}

/** An object of etcd has 1.5 MiB at most. */
const maxBytes = 3 * 1024 * 1024
/** Of all at once, by what they declare: a body that never comes takes as little as it says. */
const maxBytesInFlight = 16 * maxBytes

interface Answer {
  readonly allowed: boolean
  readonly patches?: readonly JsonPatch[]
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string }
}

type Judge = (creation: Creation) => Promise<Answer>

export function createWebhooks({ settings, mayOverride, onAnswer }: WebhooksParts): Hono {
  const inFlight = new TotalLimit(maxBytesInFlight, 'reviews')
  const app = new Hono()
  // Before anything is read. An API server says how long a review is.
  app.use('/webhooks/*', async (c, next) => {
    const length = Number(c.req.header('content-length') ?? Number.NaN)
    if (!Number.isSafeInteger(length) || c.req.header('transfer-encoding') !== undefined)
      return c.text('a Content-Length is needed', 411)
    if (length > maxBytes) return c.text('the review is too large', 413)
    const leave = inFlight.enter(length)
    try {
      return await next()
    } finally {
      leave()
    }
  })
  const serve = (webhook: 'mutate' | 'validate', judge: Judge) =>
    app.post(`/webhooks/lnamespace/${webhook}`, async c => {
      try {
        const review: unknown = await c.req.json().catch(() => undefined)
        const { uid, creation } = creationIn(review)
        const answer = creation ? await judge(creation) : { allowed: true }
        onAnswer(webhook, resultOf(answer))
        return c.json({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: responseOf(uid, answer) })
      } catch (error) {
        if (!(error instanceof BadReview)) throw error
        onAnswer(webhook, 'malformed')
        return c.text(error.message, 400)
      }
    })
  serve('mutate', async creation => ({ allowed: true, patches: patchesFor(creation, billingGroups(settings.tenants)) }))
  serve('validate', async creation => {
    const name = asText(asObject(creation.object.metadata).name)
    try {
      const refusal = await refusalOf(creation, settings, () => mayOverride(name, creation.userInfo))
      if (refusal === undefined) return { allowed: true }
      return { allowed: false, status: { code: 403, reason: 'Forbidden', message: refusal } }
    } catch {
      const message = 'who asks cannot be judged now, since the API server does not answer: try again'
      return { allowed: false, status: { code: 503, reason: 'ServiceUnavailable', message } }
    }
  })
  app.notFound(c => c.text('this port serves /webhooks/lnamespace/mutate and /validate alone', 404))
  app.onError((_, c) => c.text('this replica cannot answer now', 503))
  return app
}

const resultOf = ({ allowed, status }: Answer) => (allowed ? 'allowed' : status?.code === 503 ? 'failed' : 'refused')

function responseOf(uid: string, { allowed, patches = [], status }: Answer): object {
  const patch = patches.length > 0 && {
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(patches)).toString('base64'),
  }
  return { uid, allowed, ...patch, ...(status && { status }) }
}
