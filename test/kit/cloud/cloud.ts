/** A test cloud for one file of tests, and the driver that speaks to it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cloud, type CloudOptions, startCloud } from '../../../dev/cloud/start.ts'
import { findProgram } from '../../../dev/process/command.ts'
import { whyNoNamespaces } from '../../../dev/process/machine.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { CloudCall, Driver, Intent } from '../../../src/clouds/driver.ts'
import { createEc2Driver } from '../../../src/clouds/ec2/driver.ts'
import { ec2Parameters } from '../../../src/config/dispatch-ec2.ts'

/** Of a hook that starts one: moto takes two seconds, and its packages half a minute where the cache lacks them. */
export const startLimitMs = 180_000

/** The reason why this machine has no virtual machines; null when it can have them. */
export function whyNoVms(): string | null {
  const missing = ['sshd', 'catatonit', 'ip', 'unshare', 'setpriv', 'ssh-keygen'].filter(name => !findProgram(name))
  return whyNoNamespaces() ?? (missing.length > 0 ? `these programs are missing: ${missing.join(', ')}` : null)
}

export interface OwnCloud extends Cloud {
  /** For files of the test. */
  readonly stateDir: string
}

/** With a folder of its own. */
export async function ownCloud(options: Omit<CloudOptions, 'stateDir'> = {}): Promise<OwnCloud> {
  const stateDir = mkdtempSync(join(tmpdir(), 'skylab-cloud-'))
  const cloud = await startCloud({ ...options, stateDir })
  const close = async () => {
    await cloud.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
  return { ...cloud, stateDir, close }
}

/** A driver as an installation with this set has it. */
export function driverOf(
  { parameters }: Pick<Cloud, 'parameters'>,
  set: string,
  over: object = {},
  tag = 'InstanceSetID',
): Driver {
  const parsed = ec2Parameters.parse({ ...parameters, ...over })
  return createEc2Driver({ parameters: parsed, sets: { tag, values: [set] }, clock: systemClock })
}

/** Nobody has the other half of it. */
const somePublicKey = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGtleWtleWtleWtleWtleWtleWtleWtleWtleWtl'

export const intentOf = (over: Pick<Intent, 'token' | 'tags'> & Partial<Intent>): Intent => ({
  providerType: 'm5.large',
  image: 'ami-12345678',
  initCommand: 'true',
  publicKey: somePublicKey,
  addedScratchBytes: 0,
  preemptible: false,
  ...over,
})

export const someCall: CloudCall = { signal: new AbortController().signal, agent: 'replica-1/1/1' }
