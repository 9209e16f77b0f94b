/** One run of Arvados' chaos: a cloud that fails, machines that are broken, and replicas that are killed. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import type { Replica } from '../../../../dev/stack/replicas.ts'
import type { Trial } from '../../../kit/attack/attack.ts'
import type { OwnCloud } from '../../../kit/cloud/cloud.ts'
import { DispatchFleet } from '../../../kit/dispatch/fleet.ts'
import { type CloudSite, cloudSite } from '../../../kit/dispatch/on-ec2.ts'
import { type Found, Witness } from '../../../kit/dispatch/witness.ts'

const killEveryMs = 5_000
/**
 * A kill stops the machines of a replica until another one has their leases: at three seconds that were most of the time between
 * two kills.
 */
const engine = { leaseTtlMs: 2_000, scanIntervalMs: 300 }
const patience = { timeout: 400_000, interval: 100 }
const endedStates = new Set(['Complete', 'Cancelled'])

/** The cheapest is never to be had, so each container needs the one that is a little dearer. */
const types = {
  dry: { ProviderType: 'm4.large', VCPUs: 1, RAM: '4GiB', Price: 0.09 },
  small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 },
} as const

/** Of each seven machines one never boots, one lets nobody in, and one has no runner. */
const initCommandOf = ({ audit, image }: CloudSite) => `
n=$(flock ${audit}/boots sh -c 'n=$(($(cat ${audit}/boots) + 1)); echo $n >${audit}/boots; echo $n')
mkdir -p /opt/skylab
[ $((n % 7)) = 1 ] && touch /run/broken && echo "$n boot" >>${audit}/broken
[ $((n % 7)) = 3 ] && touch /root/.ssh && echo "$n login" >>${audit}/broken
if [ $((n % 7)) = 5 ]; then echo "$n runner" >>${audit}/broken; else ln -s ${image}/skylab /opt/skylab/skylab; fi
`

function makeTrouble({ faults }: OwnCloud): void {
  const failures = [{ error: 'InternalError', status: 500 }, { cut: 'before' }, { cut: 'after' }] as const
  faults.addRandom(0.1, ['RunInstances', 'TerminateInstances'], failures)
  faults.rate = { perSecond: 4, burst: 4, actions: ['RunInstances', 'TerminateInstances'] }
  faults.limits = { instances: 10, capacity: { 'm4.large': 0 } }
}

export interface ChaosOptions {
  /** How long each container runs. */
  readonly seconds: readonly number[]
  readonly kills: boolean
}

/** @returns seconds from the first submission to the last end */
export async function runChaos(trial: Trial, { seconds, kills }: ChaosOptions): Promise<number> {
  const site = await cloudSite({ seed: trial.seed })
  trial.context.onTestFinished(site.close, 120_000)
  writeFileSync(join(site.audit, 'boots'), '0')
  makeTrouble(site.cloud)
  const fleet = await DispatchFleet.start({
    ...{ replicas: 3, types, engine },
    cloud: {
      ...site.block,
      ...{ DeployRunnerDirectory: '/opt/skylab', InstanceInitCommand: initCommandOf(site) },
      ...{ BootProbeCommand: 'test -e /run/boot.complete && ! test -e /run/broken', TimeoutBooting: '12s' },
    },
  })
  trial.context.onTestFinished(() => fleet.stop(), 120_000)
  const run = new Chaos(trial, site, fleet, kills ? 'kills' : 'calm')
  const killing = new AbortController()
  const killer = kills ? run.killUntil(killing.signal) : undefined
  try {
    return await run.all(seconds)
  } finally {
    killing.abort()
    await killer
    await run.judge()
  }
}

class Chaos {
  readonly #trial: Trial
  readonly #site: CloudSite
  readonly #fleet: DispatchFleet
  readonly #name: string
  readonly #witness: Witness
  readonly #uuids: string[] = []
  #taken = 0

  constructor(trial: Trial, site: CloudSite, fleet: DispatchFleet, name: string) {
    this.#trial = trial
    this.#site = site
    this.#fleet = fleet
    this.#name = name
    this.#witness = new Witness(site.audit)
  }

  /** Waits until no machine is left either. @returns seconds from the first submission to the last end */
  async all(seconds: readonly number[]): Promise<number> {
    const begunMs = performance.now()
    const tookSeconds = () => Number(((performance.now() - begunMs) / 1000).toFixed(1))
    for (const each of seconds)
      this.#uuids.push(await this.#fleet.submit({ command: this.#witness.command(each), mostRuns: 10 }))
    const left = new Set(this.#uuids)
    await vi.waitFor(async () => {
      for (const uuid of left) if (endedStates.has((await this.#fleet.find(uuid)).state)) left.delete(uuid)
      expect([...left]).toEqual([])
    }, patience)
    const took = tookSeconds()
    this.#figure('seconds', took)
    await vi.waitFor(
      async () => expect([...(await this.#fleet.list()), ...this.#site.cloud.live()]).toEqual([]),
      patience,
    )
    this.#figure('emptySeconds', tookSeconds())
    return took
  }

  /** Kills one replica after another, every five seconds. The test restarts it two seconds later, as a node would. */
  async killUntil(signal: AbortSignal): Promise<void> {
    const { replicas } = this.#fleet
    for (let next = 0; !signal.aborted; next++) {
      await sleep(killEveryMs, undefined, { signal }).catch(() => {})
      if (signal.aborted) return
      const replica = replicas[next % replicas.length]!
      // One that has not begun yet would be no blow.
      await replica.ready(signal).catch(() => {})
      if (!signal.aborted) await this.#kill(replica, await ownedBy(replica))
    }
  }

  async #kill(replica: Replica, owned: number): Promise<void> {
    this.#trial.injected()
    const { ended } = replica
    replica.kill()
    if ((await ended) === 'SIGKILL') this.#trial.landed()
    this.#taken += owned
  }

  async judge(): Promise<void> {
    const { cloud, audit } = this.#site
    const found = new Map<string, Found>()
    for (const uuid of this.#uuids) found.set(uuid, await this.#fleet.find(uuid))
    const expected = this.#uuids.map(uuid => ({ uuid }))
    const broken = [
      ...this.#witness.judge(expected, found),
      ...cloud.live().map(id => `V3 leaked: ${id}`),
      ...cloud.machines!.running.map(({ id }) => `V3 runs on: ${id}`),
      ...(await this.#fleet.broken()).map(words => `a rule of the keys: ${words}`),
    ]
    for (const words of broken) this.#trial.violation(`${this.#name}: ${words}`)
    const outcomes = (action: string, outcome: RegExp) =>
      cloud.journal.of(action).filter(entry => outcome.test(entry.outcome)).length
    this.#figure('begins', this.#witness.lines().filter(({ kind }) => kind === 'begin').length)
    this.#figure('machines', cloud.journal.of('RunInstances').filter(({ carriedOut }) => carriedOut).length)
    this.#figure('broken', linesOf(join(audit, 'broken')).length)
    this.#figure('failed', outcomes('RunInstances', /cut|Internal/) + outcomes('TerminateInstances', /cut|Internal/))
    this.#figure('limited', outcomes('RunInstances', /Request/) + outcomes('TerminateInstances', /Request/))
    this.#figure('atQuota', outcomes('RunInstances', /InstanceLimit/))
    this.#figure('dry', outcomes('RunInstances', /Insufficient/))
    if (this.#name === 'kills') this.#figure('takenOver', this.#taken)
  }

  #figure(name: string, value: unknown): void {
    this.#trial.figure(`${this.#name}.${name}`, value)
  }
}

/** Machines that a replica keeps; 0 while it does not answer. */
async function ownedBy({ monitoringUrl }: Replica): Promise<number> {
  const text = await fetch(`${monitoringUrl}/metrics`).then(
    answer => answer.text(),
    () => '',
  )
  return Number(/^skylab_dispatch_owned(?:{[^}]*})? (\d+)/m.exec(text)?.[1] ?? 0)
}

const linesOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [])
