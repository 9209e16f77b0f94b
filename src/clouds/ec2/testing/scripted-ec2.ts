/** A server that answers the driver of EC2 with what the test says, in this order. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

const namespace = 'http://ec2.amazonaws.com/doc/2016-11-15'

/** Text of an answer 200, an error, or what becomes of the connection. */
export type Answer = string | { readonly code: string; readonly status?: number } | 'cut' | 'silent'

export interface Request {
  readonly action: string
  readonly agent: string
  readonly parameters: Readonly<Record<string, string>>
}

export interface ScriptedEc2 {
  readonly url: string
  readonly requests: Request[]
  readonly actions: readonly string[]
}

/** Closed at the end of the test. @param answers for each action; the last one stays */
export async function scriptedEc2(answers: Readonly<Record<string, readonly Answer[]>>): Promise<ScriptedEc2> {
  const left = new Map(Object.entries(answers).map(([action, list]) => [action, [...list]]))
  const requests: Request[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const parameters = Object.fromEntries(new URLSearchParams(body))
    const action = parameters.Action ?? ''
    requests.push({ action, parameters, agent: request.headers['user-agent'] ?? '' })
    const list = left.get(action) ?? []
    const answer = list.length > 1 ? list.shift() : list[0]
    if (answer === 'cut') request.socket.destroy()
    else if (typeof answer === 'string' && answer !== 'silent') response.end(answer)
    else if (answer !== 'silent') {
      const { code, status = 400 } = (answer as { code: string; status?: number }) ?? { code: 'NotScripted' }
      const error = `<Error><Code>${code}</Code><Message>as scripted</Message></Error>`
      response.writeHead(status).end(`<Response><Errors>${error}</Errors><RequestID>r</RequestID></Response>`)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests,
    get actions() {
      return requests.map(({ action }) => action)
    },
  }
}

const tagSet = (tags: Readonly<Record<string, string>>) =>
  Object.entries(tags)
    .map(([key, value]) => `<item><key>${key}</key><value>${value}</value></item>`)
    .join('')

const machine = (id: string, state: string, tags: Readonly<Record<string, string>>) =>
  `<instancesSet><item><instanceId>${id}</instanceId><instanceType>m5.large</instanceType>` +
  `<privateIpAddress>10.0.0.7</privateIpAddress><instanceState><code>0</code><name>${state}</name></instanceState>` +
  `<tagSet>${tagSet(tags)}</tagSet></item></instancesSet>`

export const made = (id: string, tags: Readonly<Record<string, string>> = { InstanceSetID: 'ours' }): string =>
  `<RunInstancesResponse xmlns="${namespace}">${machine(id, 'pending', tags)}</RunInstancesResponse>`

export interface Listed {
  readonly id: string
  readonly state?: string
  readonly tags?: Readonly<Record<string, string>>
}

export function listed(machines: readonly Listed[], next?: string): string {
  const items = machines.map(
    ({ id, state = 'running', tags = { InstanceSetID: 'ours' } }) => `<item>${machine(id, state, tags)}</item>`,
  )
  const token = next === undefined ? '' : `<nextToken>${next}</nextToken>`
  return `<DescribeInstancesResponse xmlns="${namespace}"><reservationSet>${items.join('')}</reservationSet>${token}</DescribeInstancesResponse>`
}

export const subnets = (...ids: readonly string[]): string =>
  `<DescribeSubnetsResponse xmlns="${namespace}"><subnetSet>${ids
    .map(id => `<item><subnetId>${id}</subnetId></item>`)
    .join('')}</subnetSet></DescribeSubnetsResponse>`

export interface ListedInterface {
  readonly id: string
  readonly status?: string
  readonly tags?: Readonly<Record<string, string>>
}

export function interfaces(list: readonly ListedInterface[], next?: string): string {
  const items = list.map(({ id, status = 'available', tags = { InstanceSetID: 'ours' } }) => {
    const attached = status === 'in-use' ? '<attachment><instanceId>i-1</instanceId></attachment>' : ''
    return `<item><networkInterfaceId>${id}</networkInterfaceId><status>${status}</status>${attached}<tagSet>${tagSet(tags)}</tagSet></item>`
  })
  const token = next === undefined ? '' : `<nextToken>${next}</nextToken>`
  return `<DescribeNetworkInterfacesResponse xmlns="${namespace}"><networkInterfaceSet>${items.join('')}</networkInterfaceSet>${token}</DescribeNetworkInterfacesResponse>`
}

export const done = (action: string): string =>
  `<${action}Response xmlns="${namespace}"><return>true</return></${action}Response>`
