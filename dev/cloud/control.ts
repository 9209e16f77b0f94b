/** Control of the front by HTTP, for tests in other processes and for people with curl. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Faults, Limits, Rate, Rule } from './faults.ts'
import type { Journal } from './journal.ts'

type Settings = Partial<
  Pick<Faults, 'lagMs' | 'findLagMs' | 'pendingMs' | 'honoursTokens' | 'pageSize'> & {
    readonly limits: Limits
    readonly rate: Rate | null
  }
>

/**
 * `GET /_cloud/journal`; `POST /_cloud/rules` with rules to add, `DELETE` to end them all; `PATCH /_cloud/settings` with
 * limits, a rate, and the other settings of `Faults`.
 */
export function answerControl(
  { method, url = '' }: IncomingMessage,
  body: string,
  response: ServerResponse,
  journal: Journal,
  faults: Faults,
): void {
  const answer = act(`${method} ${url}`, body, journal, faults)
  response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
  response.end(JSON.stringify(answer ?? { error: 'there is no such control' }))
}

function act(request: string, body: string, journal: Journal, faults: Faults): object | undefined {
  switch (request) {
    case 'GET /_cloud/journal':
      return journal.entries
    case 'POST /_cloud/rules':
      faults.add(...(JSON.parse(body) as Rule[]))
      return {}
    case 'DELETE /_cloud/rules':
      faults.clear()
      return {}
    case 'PATCH /_cloud/settings':
      setFaults(faults, JSON.parse(body) as Settings)
      return {}
    default:
      return undefined
  }
}

function setFaults(faults: Faults, { rate, ...settings }: Settings): void {
  Object.assign(faults, settings)
  if (rate !== undefined) faults.rate = rate ?? undefined
}
