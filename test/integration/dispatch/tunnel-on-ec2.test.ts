/** Shells and ports of containers on machines of the test cloud: other addresses, and real SSH servers beside the gateways. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startLimitMs, whyNoVms } from '../../kit/cloud/cloud.ts'
import { DispatchFleet } from '../../kit/dispatch/fleet.ts'
import { runShell } from '../../kit/dispatch/inside.ts'
import { type CloudSite, cloudSite, ec2Types } from '../../kit/dispatch/on-ec2.ts'

const reason = whyNoVms()
const patience = { timeout: 120_000, interval: 50 }

const server = `require('node:http').createServer((_, answer) => answer.end(require('node:os').hostname()))
  .listen(8080, '127.0.0.1', () => console.log('up'))`

describe.skipIf(reason !== null)(`a fleet on EC2${reason === null ? '' : `, which cannot run here: ${reason}`}`, () => {
  let site: CloudSite
  let fleet: DispatchFleet
  beforeAll(async () => {
    site = await cloudSite()
    const containers = { ShellAccess: { Admin: true, User: true } }
    fleet = await DispatchFleet.start({ replicas: 3, cloud: site.block, types: ec2Types, containers })
  }, startLimitMs)
  afterAll(async () => {
    await fleet?.stop()
    await site?.close()
  })

  test('every replica reaches a port of a container, and gives a shell in it, on its own machine', async () => {
    const uuid = await fleet.submit({ command: [process.execPath, '-e', server] })
    await vi.waitFor(async () => expect(await fleet.output(uuid)).toBe('up\n'), patience)
    const { instance, gatewayAddress } = await fleet.find(uuid)
    expect(gatewayAddress).toMatch(/^(?!127\.)[0-9.]+:\d{5}$/)
    for (const [replica, { url }] of fleet.replicas.entries()) {
      const answer = await fleet.rest('ada', `/dispatch/v1/containers/${uuid}/ports/8080/`, {}, replica)
      expect([answer.status, answer.body]).toEqual([200, instance])
      const said = await runShell({ url, token: fleet.tokenOf('ada'), args: [uuid, 'hostname; exit 4'] })
      expect(said).toMatchObject({ code: 4, out: `${instance}\n` })
    }
  })
})
