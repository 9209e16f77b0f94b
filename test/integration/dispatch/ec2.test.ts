/** Containers on machines of the test cloud: the real driver of EC2, and a real SSH server. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startLimitMs, whyNoVms } from '../../kit/cloud/cloud.ts'
import { DispatchFleet, type DispatchFleetOptions } from '../../kit/dispatch/fleet.ts'
import { type CloudSite, cloudSite, ec2Types } from '../../kit/dispatch/on-ec2.ts'

const reason = whyNoVms()
const patience = { timeout: 120_000, interval: 50 }

describe.skipIf(reason !== null)(`a fleet on EC2${reason === null ? '' : `, which cannot run here: ${reason}`}`, () => {
  let site: CloudSite
  beforeAll(async () => {
    site = await cloudSite()
  }, startLimitMs)
  afterAll(() => site?.close())

  /** Runs one container, and waits until its machine has ended. @returns seconds until it had ended */
  async function runOne(cloud: DispatchFleetOptions['cloud'], name: string): Promise<number> {
    const fleet = await DispatchFleet.start({ cloud: { ...site.block, ...cloud, TimeoutIdle: '1s' }, types: ec2Types })
    try {
      const begunMs = performance.now()
      const file = join(site.audit, name)
      const uuid = await fleet.submit({ command: ['sh', '-c', `hostname >${file}; echo hello`] })
      await expect.poll(async () => (await fleet.find(uuid)).state, patience).toBe('Complete')
      const seconds = Number(((performance.now() - begunMs) / 1000).toFixed(1))
      const found = await fleet.find(uuid)
      expect(found).toMatchObject({ exitCode: 0, runs: 1, instanceType: 'small' })
      // A machine of the cloud has its id as its name.
      expect(readFileSync(file, 'utf8')).toBe(`${found.instance}\n`)
      expect(await fleet.output(uuid)).toBe('hello\n')
      await expect.poll(() => fleet.list(), patience).toEqual([])
      expect(site.cloud.live()).toEqual([])
      expect(site.cloud.machines!.running).toEqual([])
      expect(await fleet.broken()).toEqual([])
      return seconds
    } finally {
      await fleet.stop()
    }
  }

  test('a container runs on a machine that is made for it, and the machine ends when it is idle', async () => {
    const seconds = await runOne({}, 'baked')
    process.stdout.write(`RESULT ${JSON.stringify({ test: 'first container on EC2', seconds })}\n`)
  })

  test('a container runs by the program that its machine got over SSH', async () => {
    const copied = { DeployRunnerBinary: '/proc/self/exe', DeployRunnerDirectory: '/var/lib/skylab/bin' }
    const seconds = await runOne(copied, 'copied')
    process.stdout.write(`RESULT ${JSON.stringify({ test: 'first container on EC2, program copied', seconds })}\n`)
  })
})
