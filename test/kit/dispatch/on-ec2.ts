/** Fleets on the test cloud: the real driver of EC2, and virtual machines with a real SSH server. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type OwnCloud, ownCloud } from '../cloud/cloud.ts'
import { builtProgram } from '../program/program.ts'
import { testBed } from '../testbed.ts'
import type { DispatchFleetOptions } from './fleet.ts'

export interface CloudSite {
  readonly cloud: OwnCloud
  /** A folder of this host that all machines write too. */
  readonly audit: string
  /** The folder of this host that has the runner, as `skylab`; all machines read it. */
  readonly image: string
  /** The block `CloudVMs` for it, beside short times. */
  readonly block: NonNullable<DispatchFleetOptions['cloud']>
  close(): Promise<void>
}

export const ec2Types = {
  small: { ProviderType: 'm5.large', VCPUs: 1, RAM: '4GiB', Price: 0.1 },
} as const

/** Waits until user data have run, as systemd would tell. */
const probe = 'test -e /run/boot.complete'

export interface CloudSiteOptions {
  readonly seed?: number
  /** Of the runner on machines. */
  readonly env?: Readonly<Record<string, string>>
  /** More folders of this host that all machines read, or write too. */
  readonly shared?: readonly string[]
  readonly written?: readonly string[]
}

/** A cloud whose machines have the runner in their image, since a copy takes seconds of each. */
export async function cloudSite(options: CloudSiteOptions = {}): Promise<CloudSite> {
  const { seed = 1, env = {}, shared: read = [], written = [] } = options
  const folder = mkdtempSync(join(testBed().stateDir, 'site-'))
  const [image, audit] = [join(folder, 'image'), join(folder, 'audit')]
  for (const each of [image, audit]) mkdirSync(each)
  const { modules } = builtProgram(testBed().stateDir)
  const runner = join(modules, 'runner.cjs')
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value} `)
  const script = `#!/bin/sh\nexec env ${variables.join('')}${process.execPath} ${runner} "$@"\n`
  writeFileSync(join(image, 'skylab'), script, { mode: 0o755 })
  const shared = [image, dirname(process.execPath), modules, ...read]
  const cloud = await ownCloud({ machines: { shared, written: [audit, ...written] }, seed })
  return {
    ...{ cloud, audit, image, close: cloud.close },
    block: {
      ...{ Driver: 'ec2', DriverParameters: cloud.parameters, ImageID: 'ami-12345678', BootProbeCommand: probe },
      ...{ DeployRunnerBinary: '', DeployRunnerDirectory: image },
    },
  }
}
