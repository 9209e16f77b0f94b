/** Frames through a gateway as a process, by a login: byte for byte as without it. `npm run frames` carries many more. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { FramesApp } from '../../kit/gateway/frames/carry.ts'
import { compare } from '../../kit/gateway/frames/compare.ts'
import { directWay, gatewayWay } from '../../kit/gateway/frames/ways.ts'
import { framesByWs } from '../../kit/gateway/frames/ws.ts'
import { GatewaySite, host, origin } from '../../kit/gateway/site.ts'

const seed = Number(process.env.SKYLAB_SEED ?? Math.floor(Math.random() * 2 ** 31))
let site: GatewaySite
let app: FramesApp
beforeAll(async () => {
  site = await GatewaySite.start()
  app = await FramesApp.start()
})
afterAll(async () => {
  await site?.stop()
  app?.stop()
})

test(`frames of ws arrive through a gateway byte for byte, with seed ${seed}`, async () => {
  await site.route('frames', { address: { ip: '127.0.0.1', port: app.port } })
  const lines = [`Host: ${host}`, `Origin: ${origin}`, `Cookie: ${await site.login('ada')}`]
  const gateway = gatewayWay(site.gateways[0]!.port, '/console/apps/frames', lines)
  const common = { maker: framesByWs, libraries: ['ws'], atOnce: 8, seed } as const
  const outcome = await compare({ ...common, from: 0, count: 200, app, direct: directWay(app.port), gateway })
  expect([outcome.sequences, outcome.differences]).toEqual([200, []])
})
