/** `skylab cloudtest`: makes one machine in the cloud of a configuration, runs a command there, and ends it; each step timed. */
import { randomBytes, randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { systemClock } from '../base/clock.ts'
import { cloudtest as test } from '../cloudtest/cloudtest.ts'
import type { StepReport } from '../cloudtest/steps.ts'
import type { DispatchConfig } from '../config/dispatch.ts'
import { ConfigError } from '../config/problems.ts'
import { type OfferedType, typesOf } from '../dispatch/configured.ts'
import type { RunSpec } from '../dispatch/protocol.ts'
import { cloudtestSetIdOf } from '../dispatch/tags.ts'
import { warrantOf } from '../dispatch/warrant.ts'
import { Cloud } from '../machines/cloud.ts'
import { driverOf, groupingOf, lagMs } from '../run/dispatch/cloud.ts'
import { reachOf } from '../run/dispatch/reach.ts'
import { type CloudSettings, loadCloudSettings } from '../settings/load-cloud.ts'
import { printable } from './columns.ts'
import { codes, jsonOf, type Output } from './output.ts'

const options = {
  config: { type: 'string' },
  'instance-type': { type: 'string' },
  'image-id': { type: 'string' },
  'container-image': { type: 'string', default: 'busybox' },
  command: { type: 'string', default: 'echo it runs; uname -srm' },
  'destroy-existing': { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const

/** Between two listings. */
const listMs = 1_000
/** With the pull of an image. */
const runMs = 600_000
/** Until the end of a machine is given up: so often is it asked for. */
const mostAsks = 30

/**
 * @param args what follows `skylab cloudtest`
 * @param stops fire when the test, and then when the end of its machine is to be given up. Default: SIGINT and SIGTERM
 * @returns the exit code
 * @throws {ConfigError} when the command line or the configuration is wrong
 */
export async function cloudtest(args: readonly string[], output: Output, stops?: Signals): Promise<number> {
  const { config, json, ...values } = parsed(args)
  const settings = withImage(await loadCloudSettings(config), values['image-id'])
  const { dispatch, files } = settings
  for (const warning of settings.warnings) output.err(`warning: ${warning}\n`)
  const types = typesOf(dispatch, groupingOf(dispatch))
  const type = typeOf(config, types, values['instance-type'])
  const set = cloudtestSetIdOf(files.token)
  const clock = systemClock
  const driver = await driverOf(dispatch, [set], clock)
  const own = stops ? undefined : listenForSignals()
  try {
    const reach = reachOf({ dispatch, files, types, set, clock })
    const secret = randomBytes(20).toString('hex')
    const name = `cloudtest-${randomBytes(8).toString('hex')}`
    const wanted = { name, type: type.name, providerType: type.providerType, idleBehavior: 'run' } as const
    output.err(`its machines have the tag ${dispatch.CloudVMs.TagKeyPrefix}InstanceSetID=${set}\n`)
    const report = await test(
      {
        ...{ reach, clock, secret, intent: reach.intent(wanted, secret), destroyExisting: values['destroy-existing'] },
        cloud: new Cloud({ driver, clock, listMs, reserve: async () => 0, onCall: () => {} }),
        warrant: warrantFor(settings, values),
        times: timesOf(dispatch),
        ...tellers(output, json),
      },
      stops ?? own!.signals,
    )
    return conclude({ set, type: type.name, ...report }, json, output)
  } finally {
    own?.stop()
    await driver.close()
  }
}

interface Signals {
  readonly stop: AbortSignal
  readonly force: AbortSignal
}

function parsed(args: readonly string[]) {
  const wrong = (problem: string) => new ConfigError('skylab cloudtest', [problem])
  let values: ReturnType<typeof parseArgs<{ options: typeof options }>>['values']
  try {
    values = parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw wrong((error as Error).message)
  }
  const { config } = values
  if (!config) throw wrong('--config is missing')
  return { ...values, config }
}

/** The image of a test, before the configuration names it. */
function withImage(settings: CloudSettings, image: string | undefined): CloudSettings {
  const { dispatch } = settings
  if (image === undefined) return settings
  return { ...settings, dispatch: { ...dispatch, CloudVMs: { ...dispatch.CloudVMs, ImageID: image } } }
}

/** The cheapest, as Arvados has it. */
function typeOf(config: string, types: ReadonlyMap<string, OfferedType>, name: string | undefined): OfferedType {
  const [cheapest] = [...types.values()].sort((a, b) => a.price - b.price)
  const type = name === undefined ? cheapest : types.get(name)
  if (!type) throw new ConfigError(config, [`dispatch.InstanceTypes: has no ${name}`])
  return type
}

const timesOf = ({ CloudVMs }: DispatchConfig) => ({
  ...{ bootingMs: CloudVMs.TimeoutBooting, runMs, lagMs: lagMs[CloudVMs.Driver] },
  ...{ shutdownMs: CloudVMs.TimeoutShutdown, endMs: mostAsks * CloudVMs.TimeoutShutdown },
})

const digits = '0123456789abcdefghijklmnopqrstuvwxyz'

function warrantFor(
  { dispatch, files }: CloudSettings,
  { command, 'container-image': image }: { readonly command: string; readonly 'container-image': string },
) {
  const random = Array.from({ length: 15 }, () => digits[randomInt(digits.length)]).join('')
  const spec: RunSpec = {
    ...{ command: ['sh', '-c', command], image, environment: {}, cwd: '/', mounts: {} },
    ...{ vcpus: 1, ramBytes: 2 ** 27, maxRunSeconds: runMs / 1000 },
  }
  const unsealed = { uuid: `${dispatch.clusterId}-dz642-${random}`, run: 1, owner: 'cloudtest', spec }
  return warrantOf(files.token, unsealed, { view: {}, shape: {}, priority: 0 } as never)
}

/** What it does now goes to standard error; what is done is the result. */
function tellers({ out, err }: Output, json: boolean) {
  const to = json ? err : out
  return {
    onBegin: (step: string) => err(`${step} …\n`),
    onNews: (step: string, words: string) => err(`${step} … ${printable(words)}\n`),
    onEnd: ({ step, ok, ms, words }: StepReport) =>
      to(
        `${ok ? 'ok    ' : 'FAILED'}  ${step.padEnd(9)}  ${(ms / 1000).toFixed(2).padStart(7)} s  ${printable(words)}\n`,
      ),
  }
}

type Report = Awaited<ReturnType<typeof test>> & { readonly set: string; readonly type: string }

function conclude(report: Report, json: boolean, { out, err }: Output): number {
  const { ok, left, steps } = report
  if (json) out(jsonOf(report, 2))
  else out(`${ok ? 'ok' : 'failed'} after ${(steps.reduce((all, { ms }) => all + ms, 0) / 1000).toFixed(2)} s\n`)
  const names = Object.keys(left)
  if (names.length > 0)
    err(`left in the cloud, and costs money: ${names.join(', ')}. End it there, or by --destroy-existing\n`)
  return ok ? codes.ok : codes.failed
}

/** The first signal ends the test, and then its machine; the second one ends even that. */
function listenForSignals() {
  const [stop, force] = [new AbortController(), new AbortController()]
  const heard = (name: string) => {
    const reason = new Error(`it was interrupted (${name})`)
    if (stop.signal.aborted) force.abort(reason)
    else stop.abort(reason)
  }
  const names = ['SIGINT', 'SIGTERM'] as const
  for (const name of names) process.on(name, heard)
  return {
    signals: { stop: stop.signal, force: force.signal },
    stop: () => {
      for (const name of names) process.off(name, heard)
    },
  }
}
