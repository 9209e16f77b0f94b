import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { HubRefusal, HubVisitor, wordsOf } from './visitor.ts'

let stop = () => {}
afterEach(() => stop())

async function visitorOf(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<HubVisitor> {
  const server = createServer(answer)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return new HubVisitor({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, username: 'ada' })
}

test('Visitor sends a form with the XSRF token that its page has set', async () => {
  const asked: string[] = []
  const visitor = await visitorOf(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    asked.push(`${request.method} ${request.url} ${request.headers.cookie} ${Buffer.concat(chunks)}`)
    // Requests as a page: a script would get no cookie.
    expect(request.headers['sec-fetch-mode']).toBeUndefined()
    if (request.method === 'POST') response.writeHead(302, { location: '/hub/' })
    else response.setHeader('set-cookie', '_xsrf=against-forgery; Path=/hub/')
    response.end()
  })
  await visitor.login('secret')
  expect(asked).toEqual([
    'GET /hub/login  ',
    'POST /hub/login _xsrf=against-forgery username=ada&password=secret&_xsrf=against-forgery',
  ])
})

test("Visitor throws a refusal with the page's text when the form comes back", async () => {
  const visitor = await visitorOf((request, response) => {
    if (request.method === 'POST') response.writeHead(403)
    response.end('<head><title>Hub</title></head><p>Invalid <b>username</b> or password</p><script>x()</script>')
  })
  const login = visitor.login('wrong')
  await expect(login).rejects.toThrow(HubRefusal)
  await expect(login).rejects.toThrow('POST /hub/login: 403 Invalid username or password')
})

test('wordsOf returns the message of an API too', () => {
  expect(wordsOf('{"status": 400, "message": "Named servers are not enabled."}')).toBe('Named servers are not enabled.')
})
