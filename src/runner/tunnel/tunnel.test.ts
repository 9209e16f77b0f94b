import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { specOf, TestMachine, uuidOf, warrantOf } from '../../../test/kit/runner/machine.ts'
import { exec, forward, shellAt } from '../../../test/kit/runner/shell.ts'
import { systemClock } from '../../base/clock.ts'
import { tunnelKey } from '../../dispatch/tunnel.ts'
import { dial, type Gateway } from '../../tunnel/dial.ts'

const uuid = uuidOf(1)
const key = tunnelKey('the token of this installation, of tests', uuid, 1)

/** A machine whose container waits until it is let go. */
async function running(env: Readonly<Record<string, string>> = {}) {
  const machine = await TestMachine.make({ env })
  const connected = await machine.attach(7)
  const go = join(machine.folder, 'go')
  const script = `while [ ! -e ${go} ]; do sleep 0.02; done`
  await connected.keeper.start(warrantOf(uuid, 1, specOf(script, { environment: { WORD: 'of the container' } })), key)
  const { entry } = await connected.running(uuid, 1)
  const { gatewayPort = 0, gatewayPin = '' } = entry as { gatewayPort?: number; gatewayPin?: string }
  const gateway: Gateway = { address: `127.0.0.1:${gatewayPort}`, pin: gatewayPin, keys: [key] }
  return { machine, connected, gateway, gatewayPort, gatewayPin, letGo: () => writeFileSync(go, '') }
}

describe.concurrent('the tunnel of a run', () => {
  it('is told with its port and its pin, again in each list, and its key never', async () => {
    const { machine, connected, gatewayPort, gatewayPin } = await running()
    await using _ = machine
    expect(gatewayPort).toBeGreaterThanOrEqual(32_768)
    expect(gatewayPort).toBeLessThanOrEqual(60_999)
    const { runs } = await connected.keeper.list()
    expect(runs).toMatchObject([{ state: 'running', gatewayPort, gatewayPin }])
    expect(JSON.stringify(runs)).not.toContain(key)
    expect(machine.processes().filter(({ line }) => line.includes(key))).toEqual([])
  })

  it.each(['with', 'without'])(
    'begins commands with the variables of the container, and none outlives it, %s control groups',
    async groups => {
      const env: Record<string, string> = groups === 'with' ? {} : { SKYLAB_RUNNER_CGROUPS: 'none' }
      const { machine, connected, gateway, letGo } = await running(env)
      await using _ = machine
      const client = await shellAt(gateway)
      const channel = await exec(client, 'trap "" HUP TERM; echo "$WORD"; sleep 986; sleep 986')
      const [said] = (await once(channel, 'data')) as [Buffer]
      expect(String(said)).toBe('of the container\n')
      letGo()
      expect((await connected.end(uuid, 1)).entry).toMatchObject({ end: { exitCode: 0 } })
      expect(machine.processes().filter(({ line }) => line.includes('sleep 986'))).toEqual([])
      client.destroy()
      await expect(dial(gateway, 'ssh', { clock: systemClock, limitMs: 5000 })).rejects.toMatchObject({
        why: 'unreachable',
      })
    },
  )

  it('passes signals on, and tells the signal that ended a command', async () => {
    const { machine, gateway } = await running()
    await using _ = machine
    const client = await shellAt(gateway)
    const channel = await exec(client, 'echo up; exec sleep 986')
    await once(channel, 'data')
    channel.signal('INT')
    expect((await once(channel, 'exit')).slice(0, 2)).toEqual([null, 'SIGINT'])
    client.end()
  })

  it('carries ports of the container alone, and outlives whatever their streams do', async () => {
    const { machine, gateway } = await running()
    await using _ = machine
    const server = createServer(socket => socket.end('hello')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const client = await shellAt(gateway)
    const channel = await forward(client, 'localhost', port)
    expect(String((await once(channel, 'data'))[0])).toBe('hello')
    await once(channel.resume(), 'close')
    server.close()
    await expect(forward(client, 'example.org', port)).rejects.toThrow('(SSH) Channel open failure')
    await expect(forward(client, 'localhost', port)).rejects.toThrow('(SSH) Channel open failure')
    // It still serves, and has nothing to tell.
    await once(await exec(client, 'true'), 'exit')
    client.destroy()
    expect(readFileSync(join(machine.dir, 'runs', `${uuid}.1`, 'log'), 'utf8')).toBe('')
  })

  it('is not there where a start has no key', async () => {
    await using machine = await TestMachine.make()
    const connected = await machine.attach(7)
    await connected.keeper.start(warrantOf(uuid, 1, specOf('sleep 60')))
    expect((await connected.running(uuid, 1)).entry).not.toHaveProperty('gatewayPort')
  })
})
