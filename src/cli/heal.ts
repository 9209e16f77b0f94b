/** `skylab heal`: shows and removes the effects of a counter that ran ahead of the clock. */
import { Registry } from 'prom-client'
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { inFull } from '../base/reasons.ts'
import { labKind } from '../base/subject.ts'
import { KubeClient, KubeError } from '../kube/client.ts'
import { labels } from '../kube/labels.ts'
import { projectNamespace } from '../kube/pods/project.ts'
import { Trust } from '../ops/trust.ts'
import {
  applyTo,
  type Diagnosis,
  diagnose,
  type Finding,
  type Healed,
  type Healers,
  leftOf,
  type Stranger,
} from '../ops/upkeep/heal.ts'
import { type Listing, listedPod, readListing } from '../ops/upkeep/listing.ts'
import { kindNames } from '../run/kinds.ts'
import type { Settings } from '../settings/load.ts'
import { Connection } from '../store/connection.ts'
import { containerKind, machineKind } from '../store/dispatch-keys.ts'
import { HealStore } from '../store/heal.ts'
import { Keys } from '../store/keys.ts'
import { Sealer } from '../store/sealing.ts'
import { type AuditAction, AuditLog, type AuditObject } from '../telemetry/audit.ts'
import { sinkOf, sinksOf } from '../telemetry/audit-sinks.ts'
import { silentLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { codes, jsonOf, type Output } from './output.ts'

export interface HealOptions {
  /** Whether anything is changed. */
  readonly apply: boolean
  /** Whether namespaces with a right MAC may be deleted. */
  readonly withLabs: boolean
  readonly json: boolean
}

interface Parts {
  /** Undefined where dispatch runs, which asks nothing of Kubernetes. */
  readonly kube: Pick<KubeClient, 'list' | 'delete' | 'clockMs'> | undefined
  readonly store: HealStore
  readonly onHealed: NonNullable<Healers['onHealed']>
  readonly wallMs: () => number
}

/** Limit for the first answer of Redis. */
const connectMs = 5_000

/** @returns the exit code */
export async function heal(settings: Settings, options: HealOptions, output: Output): Promise<number> {
  const { config } = settings
  const common = { clock: systemClock, log: silentLogger(), version: packageJson.version, replica: 'heal' }
  const connection = new Connection({ config: config.redis, login: settings.redisLogin, clock: systemClock })
  const kube = isDispatch(settings) ? undefined : new KubeClient({ ...common, kubernetes: config.kubernetes })
  connection.open()
  try {
    await connected(connection)
    const store = storeOf(settings, connection)
    const onHealed = auditTo(settings, output)
    return await healBy(settings, options, output, { kube, store, onHealed, wallMs: () => systemClock.wallMs() })
  } catch (error) {
    if (!(error instanceof KubeError || error instanceof RetryLater)) throw error
    output.err(`nothing more was changed: ${error.message}\n`)
    return codes.failed
  } finally {
    connection.close()
    await kube?.close()
  }
}

const isDispatch = ({ config }: Settings) => config.run.includes('dispatch')

function storeOf(settings: Settings, connection: Connection): HealStore {
  const keys = new Keys(settings.config.redis.keyPrefix)
  if (!isDispatch(settings)) return new HealStore(connection, keys, kindNames())
  return new HealStore(connection, keys, [machineKind, containerKind], keys.dispatch)
}

/** Standard output is for the table, so audit lines go to the configured file, or else to standard error. */
function auditTo({ config, replica }: Settings, { err }: Output): NonNullable<Healers['onHealed']> {
  const { enabled, file } = config.audit
  if (!enabled) return () => {}
  const audit = new AuditLog({
    ...{ replica, installation: config.installation, clock: systemClock, log: silentLogger() },
    sinks: sinksOf(file, sinkOf('stderr', err)),
    metrics: createMetrics(new Registry()),
  })
  const actor = { kind: 'operator' } as const
  return (healed, result) => {
    audit.write({ ...{ action: actions[healed.kind], result, actor }, object: objectOf(healed) })
  }
}

const actions: Readonly<Record<Healed['kind'], AuditAction>> = {
  namespace: 'lab.delete',
  records: 'heal.record',
  counter: 'heal.counter',
}

function objectOf(healed: Healed): AuditObject {
  if (healed.kind === 'counter') return { kind: 'counter', op: healed.op }
  if (healed.kind === 'namespace') return { kind: 'lab', name: healed.name, op: healed.op }
  const { kind, name } = healed.subject
  return kind === labKind ? { kind, user: name } : { kind, name }
}

async function connected(connection: Connection): Promise<void> {
  const untilMs = systemClock.monotonicMs() + connectMs
  while (!connection.connected()) {
    const trouble = connection.trouble()
    if (systemClock.monotonicMs() > untilMs) {
      throw new RetryLater(`Redis does not answer${trouble ? `: ${inFull(trouble)}` : ''}`)
    }
    await systemClock.sleep(50)
  }
}

async function healBy(
  settings: Settings,
  { apply, withLabs, json }: HealOptions,
  { out, err }: Output,
  parts: Parts,
): Promise<number> {
  const diagnosis = await look(settings, withLabs, parts)
  const { findings, kept, strangers, refusal } = diagnosis
  const isApplied = apply && refusal === undefined && findings.length > 0
  if (isApplied) await applyTo(diagnosis, parts)
  const left = isApplied ? leftOf(diagnosis, await look(settings, withLabs, parts)) : []
  const applied = { applied: isApplied, ...(isApplied && { left }) }
  out(json ? jsonOf({ ...diagnosis, ...applied }, 2) : tableOf(diagnosis, isApplied))
  if (refusal !== undefined && findings.length + kept.length + strangers.length > 0) {
    err(`${apply ? 'nothing was changed' : 'nothing would be changed'}: ${refusal}\n`)
    return codes.failed
  }
  if (left.length === 0) return codes.ok
  const names = left.map(finding => `${finding.kind} ${nameOf(finding)}`.trimEnd())
  err(`not done, so run it again for: ${names.join(', ')}\n`)
  return codes.failed
}

async function look(settings: Settings, withLabs: boolean, { kube, store, wallMs }: Parts): Promise<Diagnosis> {
  const survey = await store.survey()
  const apiServerMs = await kube?.clockMs('heal')
  const clocks = { wallMs: wallMs(), apiServerMs }
  const listing = kube ? await listingOf(settings, kube, survey.nowMs) : nothing
  return diagnose(survey, listing, clocks, withLabs)
}

/** Of the cluster, where it has nothing of ours. */
const nothing: Listing = {
  ...{ found: new Map(), highestOp: 0, distrusted: [] },
  ...{ vouched: { labs: 0, ahead: 0 }, unvouched: { labs: 0, ahead: 0 } },
}

async function listingOf(
  { config, sealingKeys }: Settings,
  kube: NonNullable<Parts['kube']>,
  nowMs: number,
): Promise<Listing> {
  const { installation, lab } = config
  const { namespacePrefix } = lab
  const trust = new Trust({ installation, namespacePrefix, sealer: new Sealer(sealingKeys) })
  const scope = { labelSelector: `${labels.installation}=${installation}`, agent: 'heal' }
  const namespaces = await kube.list('v1', 'Namespace', projectNamespace, scope)
  const pods = await kube.list('v1', 'Pod', listedPod, scope)
  return readListing({ trust, namespacePrefix }, { namespaces, pods }, nowMs)
}

const wouldBe = (finding: Finding): string => {
  if (finding.kind === 'counter' || finding.kind === 'epoch-counter') return `set to ${finding.to}`
  return finding.kind === 'namespace' ? `deleted by its UID ${finding.uid}` : 'removed'
}

const nameOf = (finding: Finding): string => {
  if (finding.kind === 'counter') return ''
  if (finding.kind === 'epoch-counter') return finding.of
  if (finding.kind === 'namespace') return finding.name
  return 'user' in finding ? finding.user : finding.subject
}

function keptWords(finding: Finding): string {
  if (finding.kind === 'run') return 'left untouched: cancel the container where it waits, and queue it again'
  const isOfDispatch = 'subject' in finding && /^(instance|container):/.test(finding.subject)
  if (isOfDispatch) return 'left untouched: it works, and ends as others do'
  return 'left untouched: nothing would find its objects again'
}

const untouched: Readonly<Record<Stranger['why'], string>> = {
  ahead: 'left untouched: it is not ours',
  mac: 'left untouched: its record is not ours',
  relabelled: 'left untouched: a lab of ours, relabelled by somebody else',
  lab: 'left untouched: a lab of ours, which --with-labs deletes',
}

function tableOf({ findings, kept, strangers, refusal }: Diagnosis, applied: boolean): string {
  if (findings.length + kept.length + strangers.length === 0) return 'no number is beyond the clock of Redis\n'
  const rows = [
    ['WHAT', 'NAME', 'NUMBER', applied ? 'WAS' : 'WOULD BE'],
    ...findings.map(finding => [finding.kind, nameOf(finding), String(finding.op), wouldBe(finding)]),
    ...kept.map(finding => [finding.kind, nameOf(finding), String(finding.op), keptWords(finding)]),
    ...strangers.map(stranger => {
      const { kind, name, namespace, op, why } = stranger
      return [kind.toLowerCase(), namespace ? `${namespace}/${name}` : name, String(op ?? '-'), untouched[why]]
    }),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(cells => cells[i]!.length)))
  const lines = rows.map(cells =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
  const last =
    applied || refusal !== undefined || findings.length === 0 ? '' : 'Nothing was changed: --apply does it.\n'
  return `${lines.join('\n')}\n${last}`
}
