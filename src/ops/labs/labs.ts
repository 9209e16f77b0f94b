/** The operations of SQR-066 on labs, which any replica accepts and reads. */
import { createHash, randomUUID } from 'node:crypto'
import type { CreateRequest, Identity, LabOptions, LabState, LabStatus, ResolvedImage } from '../../base/domain.ts'
import { ApiError, invalid, RetryLater, unavailable } from '../../base/errors.ts'
import { failpoint } from '../../base/failpoint.ts'
import { labKind, labOf } from '../../base/subject.ts'
import type { Config } from '../../config/schema.ts'
import { chooseLab } from '../../labs/choose.ts'
import { requireFit } from '../../labs/fit.ts'
import { labNames } from '../../labs/names.ts'
import { type IdleLabs, renderLab } from '../../labs/render.ts'
import type { LabSources } from '../../labs/sources.ts'
import { labAddress, servicePrefixOf } from '../../labs/view.ts'
import type { Superseded } from '../../store/acceptance.ts'
import type { LabStore } from '../../store/labs.ts'
import type { Sealer } from '../../store/sealing.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { type Origin, originFields, type Span, type Tracing, within } from '../../telemetry/tracing.ts'
import type { Acceptance } from '../acceptance.ts'
import { type Auditor, byUnknown } from '../audit.ts'
import type { PolicyWatch } from '../upkeep/policy.ts'
import type { Feeds } from './feeds.ts'
import type { EventFeed, LabService } from './service.ts'
import type { Sources } from './sources.ts'

export interface LabsOptions {
  readonly config: Config
  readonly store: LabStore
  readonly feeds: Feeds
  readonly sealer: Sealer
  readonly images: { resolve(options: LabOptions, caller: Identity): Promise<ResolvedImage> }
  readonly sources: Pick<Sources, 'read'>
  readonly policy: Pick<PolicyWatch, 'require'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly acceptance: Pick<Acceptance, 'announce' | 'during' | 'pause'>
  readonly audit: Auditor
  /** Only of an installation that stops idle labs. */
  readonly idle?: IdleLabs | undefined
  /** Called when this replica has accepted an operation. */
  readonly onAccepted: () => void
}

export class Labs implements LabService {
  readonly #options: LabsOptions

  constructor(options: LabsOptions) {
    this.#options = options
  }

  announce(): void {
    this.#options.acceptance.announce()
  }

  create(
    caller: Identity,
    request: CreateRequest,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<'repeated' | undefined> {
    return this.#options.acceptance.during(() => this.#create(caller, request, origin, idempotencyKey))
  }

  remembers(username: string, idempotencyKey: string): Promise<boolean> {
    return available(() => this.#options.store.remembers(username, idempotencyKey))
  }

  async #create(
    caller: Identity,
    request: CreateRequest,
    origin: Origin,
    idempotencyKey?: string,
  ): Promise<'repeated' | undefined> {
    const { config, store, idle } = this.#options
    const { requestId, span, onAccepted } = origin
    const { username } = caller
    const bodyHash = hashOf(request)
    if (idempotencyKey !== undefined) {
      const before = await available(() => store.repeated(username, idempotencyKey, bodyHash))
      if (before === 'same') {
        onAccepted?.(undefined, 'repeated')
        return 'repeated'
      }
      if (before === 'other') throw mismatch()
    }
    this.#options.policy.require()
    const choice = chooseLab(config.lab, caller, request.options)
    requireFit(config, caller)
    const image = await within(span, 'resolve image', {}, () => this.#options.images.resolve(request.options, caller))
    const sources = await this.#sourcesOf(username, span)
    const { plan, view } = renderLab({ config, identity: caller, request, choice, image, sources, idle })
    const nonce = randomUUID()
    const planText = JSON.stringify(plan)
    const accepted = await accepting(span, 'accept-create', () =>
      store.acceptCreate({
        name: username,
        nonce,
        requestId,
        traceparent: span.traceparent,
        by: origin.by?.(),
        timeoutMs: config.times.spawnTimeoutSeconds * 1000,
        sealPlan: (keyId, name) => this.#options.sealer.seal(planText, name, nonce, keyId),
        view,
        provisions: config.lab.provisioning !== undefined && !sources.provisioned,
        events: [
          ['info', `lab creation initiated for ${username}`],
          ['progress', '1'],
        ],
        idempotency: idempotencyKey === undefined ? undefined : { key: idempotencyKey, bodyHash },
      }),
    )
    if (accepted.answer === 'mismatch') throw mismatch()
    if (accepted.answer === 'sealed') throw this.#lacksKey()
    if (accepted.answer === 'exists') throw exists(username, accepted.status)
    await this.#accepted('create', username, 'op' in accepted ? accepted.op : 0, origin)
    return undefined
  }

  async #sourcesOf(user: string, span: Span): Promise<LabSources> {
    const { config, store, sources } = this.#options
    const [copies, provisioned] = await Promise.all([
      available(() => sources.read(span)),
      config.lab.provisioning ? available(() => store.provisioned(user)) : false,
    ])
    return { ...copies, provisioned }
  }

  delete(username: string, origin: Origin): Promise<boolean> {
    return this.#options.acceptance.during(() => this.#delete(username, origin))
  }

  async #delete(username: string, origin: Origin): Promise<boolean> {
    const { config, store } = this.#options
    const { requestId, span } = origin
    const accepted = await accepting(span, 'accept-delete', () =>
      store.acceptDelete({
        name: username,
        nonce: randomUUID(),
        requestId,
        traceparent: span.traceparent,
        by: origin.by?.(),
        timeoutMs: config.times.deleteTimeoutSeconds * 1000,
        events: [
          ['info', `lab deletion initiated for ${username}`],
          ['progress', '1'],
        ],
        superseded: [['failed', 'superseded: the lab is being deleted']],
      }),
    )
    if (accepted?.superseded) this.#superseded(username, accepted.superseded)
    if (accepted?.answer === 'joined') origin.onAccepted?.(accepted.op, 'joined')
    if (accepted?.answer === 'accepted') await this.#accepted('delete', username, accepted.op, origin)
    return accepted !== null
  }

  async status(username: string): Promise<LabState | null> {
    const lab = await available(() => this.#options.store.find(username))
    if (!lab) return null
    const { status, podPresent, view } = lab.record
    // Computed here too: a former release may have rebuilt the record with the whole address from the cluster.
    const names = labNames(this.#options.config.lab.namespacePrefix, username)
    const internalUrl = labAddress(names, servicePrefixOf(view.internalUrl))
    return { status, podPresent, view: { ...view, internalUrl }, events: lab.events }
  }

  running(): Promise<string[]> {
    return available(() => this.#options.store.running())
  }

  /** Reads after the requests that are being accepted: a follower has its answer already, and they have none. */
  async events(username: string, lastEventId?: string, signal?: AbortSignal): Promise<EventFeed | 'ended' | null> {
    await this.#options.acceptance.pause()
    return available(() => this.#options.feeds.open(username, lastEventId, signal))
  }

  /** Reports the end of a creation that the accepted deletion has replaced: its owner, if any, can only stop. */
  #superseded(user: string, { op, acceptedAtMs, requestId, traceparent, by }: Superseded): void {
    const { tracing, log, audit } = this.#options
    audit.operation(op, 'create', 'superseded', by ?? byUnknown(audit, user))
    log.info({ user, op, kind: 'create', ...originFields(requestId, traceparent) }, 'operation superseded')
    tracing
      .operation({ subject: labOf(user), op, kind: 'create', acceptedAtMs, traceparent })
      .end({ attributes: { 'skylab.result': 'superseded' } })
  }

  #lacksKey(): ApiError {
    this.#options.log.error('a creation was put off: the replicas seal with a key that is not in sealing.keyFiles here')
    return unavailable('this replica lacks the key that plans are sealed with')
  }

  async #accepted(kind: 'create' | 'delete', user: string, op: number, origin: Origin): Promise<void> {
    const { requestId, span } = origin
    origin.onAccepted?.(op, 'accepted')
    this.#options.metrics.operationsAccepted.inc({ kind, subject_kind: labKind })
    this.#options.log.info({ user, op, kind, ...originFields(requestId, span.traceparent) }, 'operation accepted')
    this.#options.onAccepted()
    await failpoint(`lab.${kind}.accepted`, user)
  }
}

/** Turns a RetryLater of Redis into a 503, so that the client asks again. */
async function available<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof RetryLater) throw unavailable(error.message)
    throw error
  }
}

const redisCall = { kind: 'client', attributes: { 'db.system.name': 'redis' } } as const

/** As `available`, in a span named after the script. */
const accepting = <T>(span: Span, script: string, ask: () => Promise<T>): Promise<T> =>
  within(span, script, redisCall, () => available(ask))

/** A client can wait for the end of a deletion, but not for that of a running lab: each has its own type. */
function exists(username: string, status: LabStatus): ApiError {
  if (status !== 'terminating') return new ApiError(409, { msg: `A lab for ${username} exists`, type: 'lab_exists' })
  return new ApiError(409, { msg: `A lab for ${username} exists; it is being deleted`, type: 'lab_terminating' })
}

const mismatch = () => invalid('The Idempotency-Key was used with another body', 'header', 'idempotency-key')

/** A hash that is the same for equal bodies with keys in any order. */
function hashOf({ options, env }: CreateRequest): string {
  const sorted = (fields: object) => Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify([sorted(options), sorted(env)]))
    .digest('hex')
}
