/** Bytes that two readers could read in two ways: whatever they are, an app gets one request of its own, or none. */
import { attack } from '../../../kit/attack/attack.ts'
import { echo, HttpApp } from '../../../kit/gateway/raw-app.ts'
import { host, statusOf } from '../../../kit/gateway/site.ts'
import { sharedSite } from './shared.ts'

/** What follows must never be a request. */
const smuggled = `GET /console/apps/raw/smuggled HTTP/1.1\r\nHost: ${host}\r\n\r\n`
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`
const length = (text: string) => `Content-Length: ${text.length}\r\n`

interface Row {
  readonly name: string
  /** The request line, then headers and body as they follow Host and cookie. */
  readonly line: string
  readonly rest?: string
  readonly host?: string
  readonly status: number
}

const own = '/console/apps/raw/'
const rows: readonly Row[] = [
  { name: 'dots', line: `GET ${own}../other/ HTTP/1.1`, status: 400 },
  { name: 'encoded dots', line: `GET ${own}%2e%2E/other/ HTTP/1.1`, status: 400 },
  { name: 'half encoded dots', line: `GET ${own}.%2e/other/ HTTP/1.1`, status: 400 },
  { name: 'a backslash', line: `GET ${own}..\\other HTTP/1.1`, status: 400 },
  { name: 'two slashes before the id', line: 'GET /console/apps//raw/ HTTP/1.1', status: 404 },
  { name: 'an encoded id', line: 'GET /console/apps/r%61w/ HTTP/1.1', status: 404 },
  { name: 'capitals', line: 'GET /console/apps/RAW/ HTTP/1.1', status: 404 },
  { name: 'a parameter', line: 'GET /console/apps/raw;x/ HTTP/1.1', status: 404 },
  { name: 'a fragment', line: `GET ${own}#/x HTTP/1.1`, status: 400 },
  { name: 'an origin', line: `GET http://${host}${own} HTTP/1.1`, status: 400 },
  { name: 'bytes that are not encoded', line: `GET ${own}\xe9 HTTP/1.1`, status: 400 },
  { name: 'another host', line: `GET ${own} HTTP/1.1`, host: 'evil.example.org', status: 421 },
  { name: 'two hosts', line: `GET ${own} HTTP/1.1`, rest: 'Host: b\r\n\r\n', status: 400 },
  {
    name: 'a length and chunks',
    line: `POST ${own} HTTP/1.1`,
    rest: `Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
    status: 400,
  },
  {
    name: 'two lengths',
    line: `POST ${own} HTTP/1.1`,
    rest: `Content-Length: 4\r\nContent-Length: 0\r\n\r\n${smuggled}`,
    status: 400,
  },
  {
    name: 'a length of hex',
    line: `POST ${own} HTTP/1.1`,
    rest: `Content-Length: 0x4\r\n\r\n${smuggled}`,
    status: 400,
  },
  { name: 'a signed length', line: `POST ${own} HTTP/1.1`, rest: `Content-Length: +4\r\n\r\n${smuggled}`, status: 400 },
  {
    name: 'another coding',
    line: `POST ${own} HTTP/1.1`,
    rest: `Transfer-Encoding: gzip, chunked\r\n\r\n${chunk('x')}`,
    status: 501,
  },
  {
    name: 'a coding after chunks',
    line: `POST ${own} HTTP/1.1`,
    rest: `Transfer-Encoding: chunked, identity\r\n\r\n${chunk(smuggled)}`,
    status: 400,
  },
  {
    name: 'a space before the colon',
    line: `POST ${own} HTTP/1.1`,
    rest: `Transfer-Encoding : chunked\r\n\r\n${chunk(smuggled)}`,
    status: 400,
  },
  { name: 'a fold', line: `GET ${own} HTTP/1.1`, rest: 'X-A: b\r\n c\r\n\r\n', status: 400 },
  {
    name: 'a fold of the coding',
    line: `POST ${own} HTTP/1.1`,
    rest: `Transfer-Encoding:\r\n chunked\r\n\r\n${chunk(smuggled)}`,
    status: 400,
  },
  { name: 'a bare line feed', line: `GET ${own} HTTP/1.1`, rest: `X-A: b\n${smuggled}\r\n`, status: 400 },
  {
    name: 'a chunk of a wrong size',
    line: `POST ${own} HTTP/1.1`,
    rest: `Transfer-Encoding: chunked\r\n\r\nzz\r\n${smuggled}`,
    status: 0,
  },
  {
    name: 'a chunked DELETE',
    line: `DELETE ${own} HTTP/1.1`,
    rest: `Transfer-Encoding: chunked\r\n\r\n${chunk(smuggled)}`,
    status: 200,
  },
  { name: 'a GET with a body', line: `GET ${own} HTTP/1.1`, rest: `${length(smuggled)}\r\n${smuggled}`, status: 200 },
  { name: 'Connection: cookie', line: `GET ${own} HTTP/1.1`, rest: 'Connection: close, cookie\r\n\r\n', status: 200 },
  {
    name: 'an upgrade with a body',
    line: `GET ${own} HTTP/1.1`,
    rest: `Connection: Upgrade\r\nUpgrade: websocket\r\nOrigin: https://${host}\r\n${length(smuggled)}\r\n${smuggled}`,
    status: 501,
  },
  { name: 'an encoded slash', line: `GET ${own}a%2fb HTTP/1.1`, status: 200 },
  { name: 'characters that other paths have', line: `GET ${own}a[]{}|^ HTTP/1.1`, status: 200 },
]

attack('gateway G4 a path serves its own app, and framing is read in one way', async trial => {
  const site = await sharedSite()
  const app = await HttpApp.start()
  trial.context.onTestFinished(() => app.stop())
  await site.route('raw', { address: app.address })
  const other = await site.app('other', echo)
  const cookie = await site.login('ada')
  for (const row of rows) {
    trial.injected()
    const before = app.lines.length
    const head = `${row.line}\r\nHost: ${row.host ?? host}\r\nCookie: ${cookie}\r\n`
    const client = await site.client()
    client.write(head + (row.rest ?? '\r\n'))
    await client.when(({ text, isOver }) => isOver || text.includes('\r\n\r\n'))
    // Whatever follows on the connection is answered by now, or never.
    client.socket.end()
    await client.over()
    const status = statusOf(client.text) || 0
    if (status === row.status) trial.landed()
    else trial.violation(`${row.name}: ${status}, not ${row.status}`)
    const lines = app.lines.slice(before)
    const may = row.status === 200 || row.status === 0 ? 1 : 0
    if (lines.length > may) trial.violation(`${row.name}: the app got ${JSON.stringify(lines)}`)
    if (lines.some(line => line.includes('smuggled'))) trial.violation(`${row.name}: a second request was read`)
    if (other.text !== '') trial.violation(`${row.name}: another app got a request`)
  }
})
