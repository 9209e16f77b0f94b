/** From the driver's call to a machine that answers by SSH, and to its end. */
import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Instance } from '../../src/clouds/driver.ts'
import {
  driverOf,
  intentOf,
  type OwnCloud,
  ownCloud,
  someCall,
  startLimitMs,
  whyNoVms,
} from '../../test/kit/cloud/cloud.ts'

const reason = whyNoVms()
const tags = { InstanceSetID: 'ours' }

describe.skipIf(reason !== null)(
  `machines of the cloud${reason === null ? '' : `, which cannot run here: ${reason}`}`,
  () => {
    let cloud: OwnCloud
    let keyFile: string

    beforeAll(async () => {
      cloud = await ownCloud({ machines: true })
      keyFile = join(cloud.stateDir, 'key')
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', keyFile])
    }, startLimitMs)
    afterAll(() => cloud?.close())

    const create = (token: string) => {
      const publicKey = readFileSync(`${keyFile}.pub`, 'utf8')
      const initCommand = `umask 077; printf '%s' 'secret-of-${token}' >/var/run/arvados-instance-secret`
      return driverOf(cloud, 'ours').create(intentOf({ token, tags, publicKey, initCommand }), [], someCall)
    }

    async function ssh({ address }: Instance, command: string): Promise<string> {
      const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'ConnectTimeout=5', 'BatchMode=yes']
      const [host = '', port = ''] = (address ?? '').split(':')
      const place = ['-q', '-i', keyFile, '-p', port, ...options.flatMap(option => ['-o', option]), `root@${host}`]
      return (await promisify(execFile)('ssh', [...place, command])).stdout
    }

    test('twenty machines boot at once at the addresses that the cloud gave out, each with its key and secret', async () => {
      const begunMs = performance.now()
      const made = await Promise.all(Array.from({ length: 20 }, (_, number) => create(`many-${number}`)))
      await Promise.all(made.map(({ id }) => cloud.machines!.get(id).booted))
      const ms = Math.round(performance.now() - begunMs)
      process.stdout.write(`RESULT ${JSON.stringify({ test: 'twenty machines', ms })}\n`)
      for (const number of [0, 19])
        expect(await ssh(made[number]!, 'cat /var/run/arvados-instance-secret')).toBe(`secret-of-many-${number}`)
      const driver = driverOf(cloud, 'ours')
      await Promise.all(made.map(({ id }) => driver.destroy(id, someCall)))
      expect(cloud.machines!.running).toEqual([])
    }, 60_000)

    test('an ended machine runs nothing by the time that the cloud says so', async () => {
      const driver = driverOf(cloud, 'ours')
      const made = await create('end')
      const machine = cloud.machines!.get(made.id)
      await machine.booted
      const { pid } = machine
      await driver.destroy(made.id, someCall)
      expect(await driver.find(made.id, someCall)).toMatchObject({ state: 'gone' })
      expect(existsSync(`/proc/${pid}`)).toBe(false)
    }, 60_000)

    test('a machine that turns itself off is gone for the cloud', async () => {
      const driver = driverOf(cloud, 'ours')
      const made = await create('off')
      await cloud.machines!.get(made.id).booted
      await ssh(made, 'poweroff').catch(() => {})
      await expect.poll(() => driver.find(made.id, someCall), { timeout: 10_000 }).toMatchObject({ state: 'gone' })
    }, 60_000)
  },
)
