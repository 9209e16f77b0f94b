import type { IncomingMessage, ServerResponse } from 'node:http'
import { expect, it } from 'vitest'
import { Entering, type EnteringParts } from '../hosts/entering.ts'
import { hostsOf } from '../policy/hosts.ts'
import { Gateway, type GatewayParts } from './gateway.ts'

const addresses = { publicUrl: 'https://platform.example.org', appDomain: 'apps.example.net' }
const hosts = hostsOf(addresses)
const wayIn = new Entering({ hosts } as unknown as EnteringParts)
const metric = { inc: () => {}, dec: () => {}, observe: () => {} }

/** The answer of a gateway that cannot serve yet, or has a defect. */
function answerOf(url: string, isOpen: () => boolean, change: Partial<GatewayParts> = {}) {
  const parts = {
    ...{ hosts, wayIn, isOpen, isTrusted: () => false },
    metrics: { httpRequestDuration: metric, httpRequestsInFlight: metric, httpFaults: metric },
    gatewayMetrics: { refusals: metric },
    tracing: { request: () => ({ isSilent: true }) },
    clock: { monotonicMs: () => 0 },
    log: { isLevelEnabled: () => false, error: () => {} },
    ...change,
  } as unknown as GatewayParts
  const headers = { host: 'evil.apps.example.net' }
  const incoming = { url, method: 'GET', httpVersion: '1.1', headers, rawHeaders: [], socket: {}, complete: true }
  let answer: [status: number, headers: Record<string, unknown>] | undefined
  const outgoing = { writeHead: (...head: typeof answer & {}) => (answer = head), end: () => {} }
  new Gateway(parts).request(incoming as unknown as IncomingMessage, outgoing as unknown as ServerResponse)
  return answer!
}
const arrival = '/console/enter?code=c&next=%2F'
const defect = () => {
  throw new Error('a defect')
}

it.each([
  ['cannot serve yet', () => false, 'unavailable', 503],
  ['has a defect', defect, 'refused', 500],
])('Gateway leads an arrival to an address without the code when it %s', (_, isOpen, is, status) => {
  const left = `/console/enter?ended=${is}`
  const [first, headers] = answerOf(arrival, isOpen)
  expect([first, headers]).toMatchObject([
    303,
    { Location: left, 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Opener-Policy': 'same-origin' },
  ])
  for (const url of [left, '/console/enter', '/console/enters?code=c', '/console/apps/evil/?code=c']) {
    expect(answerOf(url, isOpen)[0]).toBe(status)
  }
})

it('Gateway leads nobody away when all apps are at one host', () => {
  expect(answerOf(arrival, () => false, { wayIn: undefined })[0]).toBe(503)
})
