import { type AddressInfo, createServer, type Server } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { tryLock } from './lock.ts'
import { freePort } from './ports.ts'

afterEach(() => void vi.restoreAllMocks())

/** Sets the port from which the next search starts. */
function beginAt(port: number): void {
  vi.spyOn(Math, 'random').mockReturnValue((port - 20_000 + 0.5) / 9_000)
}

test('freePort never returns a port twice, even before anything listens on it', async () => {
  const ports = await Promise.all(Array.from({ length: 50 }, freePort))
  expect(new Set(ports).size).toBe(50)
  for (const port of ports) expect(port >= 20_000 && port < 29_000).toBe(true)
})

test('freePort skips a port of another run', async () => {
  const port = await freePort()
  const next = port === 28_999 ? 20_000 : port + 1
  // Null when another process really has it: that serves as well.
  const lock = await tryLock(`port ${next}`)
  beginAt(next)
  expect(await freePort()).not.toBe(next)
  await lock?.release()
})

test('freePort skips a port that a program listens on without a reservation', async () => {
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
