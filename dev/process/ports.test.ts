import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { tryLock } from './lock.ts'
import { freePort } from './ports.ts'

afterEach(() => void vi.restoreAllMocks())

/** Where the next search begins. */
function beginAt(port: number): void {
  vi.spyOn(Math, 'random').mockReturnValue((port - 20_000 + 0.5) / 9_000)
}

test('no port is given out twice, though nobody listens on it yet', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort))
  expect(new Set(ports).size).toBe(50)
  for (const port of ports) expect(port >= 20_000 && port < 29_000).toBe(true)
})

test('what another run was given is passed over', async () => {
  const port = await freePort()
  const next = port === 28_999 ? 20_000 : port + 1
  // Null where another process was given it in earnest: just as well.
  const lock = await tryLock(`port ${next}`)
  beginAt(next)
  expect(await freePort()).not.toBe(next)
  await lock?.release()
})

test('a port that somebody listens on is passed over, though no run was given it', async () => {
  const server = await listenSomewhere()
  const { port } = server.address() as AddressInfo
  beginAt(port)
  expect(await freePort()).not.toBe(port)
  server.close()
})

async function listenSomewhere(): Promise<Server> {
  for (;;) {
    const server = createServer()
    const port = 20_000 + Math.floor(Math.random() * 9_000)
    const isListening = await new Promise(resolve => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    if (isListening) return server
  }
}
