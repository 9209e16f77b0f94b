import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it } from 'vitest'
import { ManualClock } from '../../../test/kit/clock.ts'
import { siteOf } from '../policy/site.ts'
import { readForm } from './form.ts'

const site = siteOf('https://platform.example.org')
const head = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n'

it.each([
  ['a body', 'Content-Length: 7\r\n\r\ntoken=x', 'token=x'],
  ['no body', '\r\n', ''],
  ['an empty body', 'Content-Length: 0\r\n\r\n', ''],
])('readForm reads a form when it has %s', async (_, rest, fields) => {
  // As the door's.
  const server = createServer({ optimizeEmptyRequests: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.write(head + rest)
  const [incoming] = await once(server, 'request')
  expect(String(await readForm(incoming, site, new ManualClock()))).toBe(fields)
  client.destroy()
  server.close()
})
