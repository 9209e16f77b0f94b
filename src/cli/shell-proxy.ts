/** Opens the stream of a shell at an installation: a request that becomes SSH. */
import { type IncomingMessage, request } from 'node:http'
import { request as requestSecurely } from 'node:https'
import type { Socket } from 'node:net'
import { prefixes } from '../api/dispatch/parts.ts'
import { asObject, asObjects, asText, parseJson } from '../base/json.ts'

export interface ShellAt {
  /** Of the installation, without a slash at its end. */
  readonly url: string
  readonly token: string
  readonly uuid: string
  /** Asks by the right of administrators. */
  readonly isAdmin: boolean
}

/** Why there is no shell, for people. */
export class ShellRefused extends Error {
  override readonly name = 'ShellRefused'
}

const limitMs = 30_000
const mostBytes = 64 * 1024

/** @throws {ShellRefused} */
export function openShell({ url, token, uuid, isAdmin }: ShellAt): Promise<Socket> {
  const path = `${prefixes[isAdmin ? 'admin' : 'user']}/containers/${uuid}/shell`
  const send = url.startsWith('https:') ? requestSecurely : request
  return new Promise((resolve, reject) => {
    const headers = { Authorization: `Bearer ${token}`, Connection: 'Upgrade', Upgrade: 'ssh', 'Content-Length': '0' }
    const asked = send(`${url}${path}`, { method: 'POST', headers, agent: false, timeout: limitMs })
    asked.on('timeout', () => asked.destroy(new Error('no answer in time')))
    asked.on('error', error => reject(new ShellRefused(`${url} does not answer: ${error.message}`)))
    asked.on('response', answer => void refusal(answer).then(words => reject(new ShellRefused(words)), reject))
    asked.on('upgrade', (_, socket, head) => {
      // The shell may be silent for as long as it likes.
      socket.setTimeout(0)
      socket.on('error', () => {})
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    asked.end()
  })
}

async function refusal(answer: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of answer) {
    text += String(chunk)
    if (text.length > mostBytes) break
  }
  const [{ msg } = {}] = asObjects(asObject(parseJson(text)).detail)
  const words = asText(msg)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .slice(0, 1000)
  return words === ''
    ? `the answer is ${answer.statusCode}: no shell is served there`
    : `${answer.statusCode}: ${words}`
}
