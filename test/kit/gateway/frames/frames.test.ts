import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FramesApp, type Way } from './carry.ts'
import { compare } from './compare.ts'
import { directWay, type OpenWay, pumpWay } from './ways.ts'
import { framesByWs } from './ws.ts'

const seed = Number(process.env.SKYLAB_SEED ?? Math.floor(Math.random() * 2 ** 31))
let app: FramesApp
let pump: OpenWay
const cleanUps: (() => void)[] = []

beforeAll(async () => {
  app = await FramesApp.start()
  pump = await pumpWay(app.port)
})
afterAll(() => {
  for (const cleanUp of [...cleanUps, () => pump.stop(), () => app.stop()]) cleanUp()
})

let from = 0
/** Carries further sequences directly and by another way. */
function compared(gateway: Way, count: number) {
  from += count
  const common = { maker: framesByWs, libraries: ['ws'], atOnce: 8 } as const
  return compare({ ...common, from: from - count, count, seed, app, direct: directWay(app.port), gateway })
}

/** A gateway that spoils what clients send. */
async function spoilingWay(spoil: (bytes: Buffer) => Buffer): Promise<Way> {
  const server = createServer({ allowHalfOpen: true }, client => {
    const upstream = connect({ port: app.port, host: '127.0.0.1', allowHalfOpen: true })
    for (const socket of [client, upstream]) socket.on('error', () => {})
    pass(client, upstream, spoil)
    pass(upstream, client, bytes => bytes)
  })
  cleanUps.push(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { ...directWay(app.port), port: (server.address() as AddressInfo).port }
}

function pass(from: Socket, to: Socket, change: (bytes: Buffer) => Buffer): void {
  from.on('data', bytes => to.write(change(bytes)))
  from.on('end', () => to.end())
  from.on('close', () => to.destroySoon())
}

describe(`frames of ws, with seed ${seed}`, () => {
  it('arrive through a pump byte for byte, both ways', async () => {
    const { differences, ...counts } = await compared(pump, 200)
    expect(differences).toEqual([])
    expect(counts.sequences).toBe(200)
    expect(counts.frames).toBeGreaterThan(500)
    for (const what of ['garbage', 'flip', 'head', 'cut', 'none']) expect(counts.spoiled[what]).toBeGreaterThan(10)
    for (const end of ['ws fin', 'ws reset', 'ws wait']) expect(counts.ends[end]).toBeGreaterThan(20)
  })

  const isLong = (bytes: Buffer) => bytes.length > 300
  it.each([
    ['loses a byte', (bytes: Buffer) => (isLong(bytes) ? bytes.subarray(0, -1) : bytes)],
    ['changes a byte', (bytes: Buffer) => (isLong(bytes) ? bytes.fill(bytes.at(-1)! ^ 1, bytes.length - 1) : bytes)],
    ['repeats a byte', (bytes: Buffer) => (isLong(bytes) ? Buffer.concat([bytes, bytes.subarray(-1)]) : bytes)],
  ])('differ when a gateway %s', async (_, spoil) => {
    const { differences } = await compared(await spoilingWay(spoil), 20)
    expect(differences.length).toBeGreaterThan(0)
    expect(differences.every(words => words.includes(', gateway: the app got '))).toBe(true)
  })
})
