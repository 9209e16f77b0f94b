/**
 * Answers for labs that nodes of KWOK only pretend to run: the part of a single-user server that the Hub requests before
 * it calls a server ready. A process of its own.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerQuestions } from '../measure/worker.ts'

export interface StubQuestion {
  /** Version of JupyterHub; the Hub compares it with its own. */
  readonly version: string
}

/** Answers with its address. */
answerQuestions(async ({ version }: StubQuestion) => {
  const server = createServer((incoming, outgoing) => {
    incoming.resume()
    outgoing.writeHead(200, { 'content-type': 'application/json', 'x-jupyterhub-version': version })
    outgoing.end(JSON.stringify({ version }))
  })
  return new Promise<string>(resolve => {
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
  })
})
