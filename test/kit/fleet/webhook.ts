/**
 * A validating webhook that holds writes of one installation. It comes after the policy, and nothing checks the
 * namespace after it: a held write is stored when the webhook answers, in the namespace that then has that name.
 */
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { KubeObject } from '../../../src/base/domain.ts'
import { labels } from '../../../src/kube/labels.ts'
import { eventually } from '../cluster/world.ts'
import { makeCertificate } from '../kube/server.ts'
import type { Fleet } from './fleet.ts'

/** The fields of an AdmissionReview that the webhook reads. */
export interface Write {
  readonly namespace: string
  readonly resource: string
  readonly name: string
  readonly op: number
}

interface Review {
  readonly request: {
    readonly uid: string
    readonly resource: { readonly resource: string }
    readonly object: KubeObject
  }
}

/** One held write: the first of the kind that the test wants. */
export interface Hold {
  /** Resolves when the write comes. */
  readonly arrived: Promise<Write>
  /** Lets the write be stored, at the earliest this many ms after it came. */
  release(afterMs?: number): void
}

interface Holding {
  readonly wants: (write: Write) => boolean
  take(write: Write): Promise<void>
}

/** The API server waits at most this long for a webhook. */
const timeoutSeconds = 30
const kind = 'ValidatingWebhookConfiguration'
const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'

export class HoldingWebhook {
  readonly #fleet: Fleet
  readonly #server: Server
  #holdings: Holding[] = []
  #asked = 0

  private constructor(fleet: Fleet, certificate: { readonly cert: string; readonly key: string }) {
    this.#fleet = fleet
    this.#server = createServer(certificate, async (request, response) => {
      const review = (await json(request)) as Review
      this.#asked += 1
      await this.#ask(review)
      const answer = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' }
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ ...answer, response: { uid: review.request.uid, allowed: true } }))
    })
  }

  /** Resolves when the API server asks it. */
  static async start(fleet: Fleet): Promise<HoldingWebhook> {
    const certificate = makeCertificate(fleet.stateDir, 'webhook')
    const webhook = new HoldingWebhook(fleet, certificate)
    await new Promise<void>(resolve => webhook.#server.listen(0, '127.0.0.1', resolve))
    await webhook.#register(certificate.ca)
    return webhook
  }

  /** Holds the first matching write; everything else passes. */
  hold(wants: Holding['wants']): Hold {
    let [arrive, release]: [(write: Write) => void, (afterMs: number) => void] = [() => {}, () => {}]
    const arrived = new Promise<Write>(resolve => {
      arrive = resolve
    })
    const released = new Promise<number>(resolve => {
      release = resolve
    })
    const take = async (write: Write) => {
      const atMs = performance.now()
      arrive(write)
      const leftMs = atMs + (await released) - performance.now()
      await new Promise(resolve => setTimeout(resolve, Math.max(0, leftMs)))
    }
    this.#holdings.push({ wants, take })
    return { arrived, release: (afterMs = 0) => release(afterMs) }
  }

  async close(): Promise<void> {
    await this.#fleet.world.kube.request('DELETE', `${path}/${this.#fleet.name}`)
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }

  async #ask({ request }: Review): Promise<void> {
    const { metadata } = request.object
    const { name, namespace = name } = metadata
    const op = Number(metadata.labels?.[labels.op])
    const write = { namespace, resource: request.resource.resource, name, op }
    const holding = this.#holdings.find(({ wants }) => wants(write))
    this.#holdings = this.#holdings.filter(each => each !== holding)
    await holding?.take(write)
  }

  async #register(ca: string): Promise<void> {
    const { kube } = this.#fleet.world
    const { port } = this.#server.address() as AddressInfo
    const url = `https://127.0.0.1:${port}/`
    const answer = await kube.request('POST', path, {
      ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: this.#fleet.name } },
      webhooks: [
        {
          name: 'hold.skylab.test',
          clientConfig: { url, caBundle: Buffer.from(ca).toString('base64') },
          rules: [{ apiGroups: ['*'], apiVersions: ['*'], operations: ['CREATE'], resources: ['*'] }],
          objectSelector: { matchLabels: { [labels.installation]: this.#fleet.installation } },
          ...{ failurePolicy: 'Ignore', sideEffects: 'None', timeoutSeconds, admissionReviewVersions: ['v1'] },
        },
      ],
    })
    if (answer.status !== 201) throw new Error(`no webhook: ${answer.body?.message}`)
    const metadata = { name: this.#fleet.name, labels: { [labels.installation]: this.#fleet.installation } }
    await eventually('the webhook is asked', async () => {
      const probe = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
      await kube.request('POST', '/api/v1/namespaces/default/configmaps?dryRun=All', probe)
      return this.#asked > 0
    })
  }
}
