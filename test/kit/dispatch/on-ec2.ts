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

/** A cloud whose machines have the runner in their image, since a copy takes seconds of each. */
export async function cloudSite(seed = 1): Promise<CloudSite> {
  const folder = mkdtempSync(join(testBed().stateDir, 'site-'))
  const [image, audit] = [join(folder, 'image'), join(folder, 'audit')]
  for (const each of [image, audit]) mkdirSync(each)
  const { modules } = builtProgram(testBed().stateDir)
  const runner = join(modules, 'runner.cjs')
  writeFileSync(join(image, 'skylab'), `#!/bin/sh\nexec ${process.execPath} ${runner} "$@"\n`, { mode: 0o755 })
  const shared = [image, dirname(process.execPath), modules]
  const cloud = await ownCloud({ machines: { shared, written: [audit] }, seed })
  return {
    ...{ cloud, audit, image, close: cloud.close },
    block: {
      ...{ Driver: 'ec2', DriverParameters: cloud.parameters, ImageID: 'ami-12345678', BootProbeCommand: probe },
      ...{ DeployRunnerBinary: '', DeployRunnerDirectory: image },
    },
  }
}
