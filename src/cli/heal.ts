/** `skylab heal`: shows, and removes, what a counter that ran ahead of the clock left behind. */
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../clock.ts'
import type { Settings } from '../config/load.ts'
import { RetryLater } from '../errors.ts'
import { KubeClient, KubeError } from '../kube/client.ts'
import { labels } from '../labs/names.ts'
import { type Diagnosis, diagnose, type Finding, type Stranger } from '../ops/heal.ts'
import { readListing } from '../ops/listing.ts'
import { Trust } from '../ops/trust.ts'
import { Connection } from '../store/connection.ts'
import { HealStore } from '../store/heal.ts'
import { Keys } from '../store/keys.ts'
import { Sealer } from '../store/sealing.ts'
import { silentLogger } from '../telemetry/log.ts'
import { codes, type Output } from './output.ts'

export interface HealOptions {
  /** Whether anything is changed. */
  readonly apply: boolean
  readonly json: boolean
}

interface Parts {
  readonly kube: Pick<KubeClient, 'list' | 'delete'>
  readonly store: HealStore
  readonly wallMs: () => number
}

/** How long Redis may take to answer for the first time. */
const connectMs = 5_000

/** @returns the exit code */
export async function heal(settings: Settings, options: HealOptions, output: Output): Promise<number> {
  const { config } = settings
  const common = { clock: systemClock, log: silentLogger(), version: packageJson.version, replica: 'heal' }
  const connection = new Connection({
    ...{ config: config.redis, password: settings.redisPassword, clock: systemClock },
    onError: () => {},
  })
  const kube = new KubeClient({ ...common, kubernetes: config.kubernetes })
  connection.open()
  try {
    await connected(connection)
    const store = new HealStore(connection, new Keys(config.redis.keyPrefix))
    return await healBy(settings, options, output, { kube, store, wallMs: () => systemClock.wallMs() })
  } catch (error) {
    if (!(error instanceof KubeError || error instanceof RetryLater)) throw error
    output.err(`nothing more was changed: ${error.message}\n`)
    return codes.failed
  } finally {
    connection.close()
    await kube.close()
  }
}

async function connected(connection: Connection): Promise<void> {
  const untilMs = systemClock.monotonicMs() + connectMs
  while (!connection.connected()) {
    if (systemClock.monotonicMs() > untilMs) throw new RetryLater('Redis does not answer')
    await systemClock.sleep(50)
  }
}

async function healBy(
  settings: Settings,
  { apply, json }: HealOptions,
  { out, err }: Output,
  { kube, store, wallMs }: Parts,
): Promise<number> {
  const { installation, lab } = settings.config
  const { namespacePrefix } = lab
  const trust = new Trust({ installation, namespacePrefix, sealer: new Sealer(settings.sealingKeys) })
  const survey = await store.survey()
  const scope = { labelSelector: `${labels.installation}=${installation}`, agent: 'heal' }
  const namespaces = await kube.list('v1', 'Namespace', scope)
  const pods = await kube.list('v1', 'Pod', scope)
  const listing = readListing({ trust, namespacePrefix }, { namespaces, pods }, survey.nowMs)
  const diagnosis = diagnose(survey, listing, wallMs())
  const { findings, refusal } = diagnosis
  const isApplied = apply && refusal === undefined && findings.length > 0
  if (isApplied) await applyTo(diagnosis, kube, store)
  out(json ? `${JSON.stringify({ ...diagnosis, applied: isApplied }, null, 2)}\n` : tableOf(diagnosis, isApplied))
  if (refusal !== undefined && findings.length > 0) {
    err(`${apply ? 'nothing was changed' : 'nothing would be changed'}: ${refusal}\n`)
    return codes.failed
  }
  return codes.ok
}

/** In an order in which whoever is interrupted may begin again: the counter, by which all is found, is last. */
async function applyTo({ findings, trustedOp }: Diagnosis, kube: Parts['kube'], store: HealStore): Promise<void> {
  for (const finding of findings) {
    if (finding.kind !== 'namespace') continue
    const { name, uid } = finding
    await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name, uid }, { agent: 'heal' })
  }
  for (const user of new Set(findings.flatMap(finding => ('user' in finding ? [finding.user] : [])))) {
    await store.healUser(user)
  }
  await store.healCounter(trustedOp)
}

const wouldBe = (finding: Finding): string => {
  if (finding.kind === 'counter') return `set to ${finding.to}`
  return finding.kind === 'namespace' ? `deleted by its UID ${finding.uid}` : 'removed'
}

const nameOf = (finding: Finding): string => {
  if (finding.kind === 'counter') return ''
  return finding.kind === 'namespace' ? finding.name : finding.user
}

const wrong = (stranger: Stranger): string =>
  stranger.why === 'ahead' ? 'left untouched: it is not ours' : 'left untouched: its record is not ours'

function tableOf({ findings, strangers }: Diagnosis, applied: boolean): string {
  if (findings.length + strangers.length === 0) return 'nothing bears a number beyond the clock of Redis\n'
  const rows = [
    ['WHAT', 'NAME', 'NUMBER', applied ? 'WAS' : 'WOULD BE'],
    ...findings.map(finding => [finding.kind, nameOf(finding), String(finding.op), wouldBe(finding)]),
    ...strangers.map(stranger => {
      const { kind, name, namespace, op } = stranger
      return [kind.toLowerCase(), namespace ? `${namespace}/${name}` : name, String(op ?? '-'), wrong(stranger)]
    }),
  ]
  const widths = rows[0]!.map((_, i) => Math.max(...rows.map(cells => cells[i]!.length)))
  const lines = rows.map(cells =>
    cells
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
  const last = applied || findings.length === 0 ? '' : 'Nothing was changed: --apply does it.\n'
  return `${lines.join('\n')}\n${last}`
}
