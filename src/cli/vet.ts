/** `skylab vet`: compares what a cluster gives to users of tenants with what was vetted, or records it. */
import { writeFile } from 'node:fs/promises'
import packageJson from '../../package.json' with { type: 'json' }
import { systemClock } from '../base/clock.ts'
import { RetryLater } from '../base/errors.ts'
import { ConfigError } from '../config/problems.ts'
import { KubeClient, KubeError } from '../kube/client.ts'
import { readState } from '../run/tenants/vetting.ts'
import type { Settings } from '../settings/load.ts'
import { readText } from '../settings/source.ts'
import { stateIn } from '../settings/vetted.ts'
import { silentLogger } from '../telemetry/log.ts'
import { compareStates, type Difference, neverAllowed } from '../tenants/vetting/compare.ts'
import type { VettedState } from '../tenants/vetting/state.ts'
import { vettedFor } from '../tenants/vetting/vetted.ts'
import { codes, escaped, jsonOf, type Output } from './output.ts'

export interface VetOptions {
  /** A state to compare with. Default: that of the cluster's version. */
  readonly against?: string | undefined
  /** Where to record what was found. */
  readonly write?: string | undefined
  readonly json: boolean
}

/**
 * @returns the exit code: 0 only without a difference, or when all is recorded
 * @throws {ConfigError} when the file to compare with cannot be used
 */
export async function vet(settings: Settings, options: VetOptions, output: Output): Promise<number> {
  const against = options.against === undefined ? undefined : await readAgainst(options.against)
  const common = { clock: systemClock, log: silentLogger(), version: packageJson.version, replica: 'vet' }
  const kube = new KubeClient({ ...common, kubernetes: settings.config.kubernetes })
  try {
    const found = await readState(kube)
    const never = neverAllowed(found)
    if (options.write !== undefined) return await record(options.write, found, never, output)
    const vetted = against ?? vettedFor(settings.vetted)(found.kubernetes)
    return tell(vetted, found, never, options, output)
  } catch (error) {
    if (!(error instanceof KubeError || error instanceof RetryLater)) throw error
    output.err(`the cluster cannot be read: ${shown(error.message)}\n`)
    return codes.failed
  } finally {
    await kube.close()
  }
}

async function readAgainst(file: string): Promise<VettedState> {
  const text = await readText(file)
  const state = stateIn(text)
  if (typeof state === 'string') throw new ConfigError(file, [state])
  return state
}

async function record(file: string, found: VettedState, never: readonly Difference[], { out, err }: Output) {
  if (never.length > 0) {
    out(linesOf(never))
    err(`nothing was written: users of tenants would leave their namespaces by ${never.length} of these rights\n`)
    return codes.failed
  }
  await writeFile(file, `${JSON.stringify(found, null, 2)}\n`).catch(error => {
    throw new ConfigError(file, [`cannot be written (${error.code})`])
  })
  out(`Recorded: Kubernetes ${found.kubernetes}, ${sizeOf(found)}.\n`)
  return codes.ok
}

function tell(
  vetted: VettedState | undefined,
  found: VettedState,
  never: readonly Difference[],
  { json }: VetOptions,
  { out, err }: Output,
): number {
  const differences = [...(vetted ? compareStates(vetted, found) : []), ...never]
  const isVetted = vetted !== undefined && differences.length === 0
  const kubernetes = { kubernetes: found.kubernetes, vetted: vetted?.kubernetes ?? null }
  if (json) out(jsonOf({ ...kubernetes, differences }, 2))
  else out(linesOf(differences))
  if (isVetted) {
    if (!json) out(`Kubernetes ${found.kubernetes} is as it was vetted: ${sizeOf(found)}.\n`)
    return codes.ok
  }
  const count = `${differences.length} difference${differences.length === 1 ? '' : 's'}`
  err(vetted ? `${count} to what was vetted\n` : `Kubernetes ${found.kubernetes} was never vetted\n`)
  return codes.failed
}

const sizeOf = ({ resources, roles }: VettedState): string =>
  `${Object.keys(resources).length} kinds, ${Object.keys(roles.admin?.rights ?? {}).length} rights of admin`

/** `+`: new, `-`: gone, `~`: another. */
const linesOf = (differences: readonly Difference[]): string =>
  differences.map(each => `${shown(lineOf(each))}\n`).join('')

function lineOf({ what, of, vetted, found }: Difference): string {
  if (vetted === undefined) return `+ ${what}: ${of} (${found})`
  if (found === undefined) return `- ${what}: ${of} (${vetted})`
  return `~ ${what}: ${of} (${vetted} -> ${found})`
}

/** Names and rules of roles are anybody's text. */
const shown = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, escaped)
