/** Requests with a secret in the wrong place: each is refused, and no answer or log contains the secret. */
import { connect } from 'node:net'
import type { Answer, Client, RequestOptions } from '../../kit/fleet/client.ts'
import type { Fleet } from '../../kit/fleet/fleet.ts'

/** The caller, the request, and the status of the answer. */
interface Misplaced {
  readonly as?: 'admin'
  readonly path?: string
  readonly request?: RequestOptions
  readonly status: number
}

const json = { 'content-type': 'application/json' }
const post = (body: unknown, headers = {}): RequestOptions => ({ method: 'POST', body, headers })
const tag = { image_type: 'recommended' }
const options = (more: object): Misplaced => ({ request: post({ options: { ...tag, ...more } }), status: 422 })
const env = (more: object): Misplaced => ({ request: post({ options: tag, env: more }), status: 422 })
const asking = (headers: Record<string, string>, status = 404): Misplaced => ({
  ...{ path: 'user-status', request: { headers }, status },
})
/** Limit of a request's body. A client sends a larger body completely before it gets the answer. */
export const maxBodyBytes = 65_536

/** By the place of the secret. The default `path` creates a lab for oneself. */
export const misplaced: Readonly<Record<string, (secret: string) => Misplaced>> = {
  'a body cut off': s => ({ request: post(`{"env": {"A_TOKEN": "${s}"`), status: 400 }),
  'a body that is text': s => ({ request: post(s, { 'content-type': 'text/plain' }), status: 415 }),
  'a body that is a string': s => ({ request: post(JSON.stringify(s)), status: 422 }),
  'a body too large': s => ({ request: post({ options: tag, env: { A_TOKEN: s.repeat(3000) } }), status: 413 }),
  'options that are a string': s => ({ request: post({ options: s }), status: 422 }),
  'a size': s => options({ size: s }),
  'a type of images': s => options({ image_type: s }),
  'a tag': s => options({ image_tag: `${s} ` }),
  'an image': s => options({ image_type: undefined, image_list: s }),
  'an image in the menu': s => options({ image_type: undefined, image_dropdown: s }),
  'a switch': s => options({ enable_debug: s }),
  'an env that is a string': s => ({ request: post({ options: tag, env: s }), status: 422 }),
  'a value that is no string': s => env({ A_TOKEN: { deep: s } }),
  'a value with NUL': s => env({ A_TOKEN: `${s}\0` }),
  'a service prefix': s => env({ JUPYTERHUB_SERVICE_PREFIX: s }),
  'a long Idempotency-Key': s => ({
    request: post({ options: tag }, { 'idempotency-key': s.repeat(20) }),
    status: 422,
  }),
  'a Last-Event-ID': s => ({ path: 'labs/ME/events', request: { headers: { 'last-event-id': s } }, status: 400 }),
  'a bearer nobody knows': s => asking({ authorization: `Bearer ${s}` }, 401),
  'a password': s => asking({ authorization: `Basic ${Buffer.from(`me:${s}`).toString('base64')}` }, 401),
  'a header of a proxy': s => asking({ 'x-auth-request-token': s }),
  'the secret of an ingress': s => asking({ 'x-skylab-ingress-secret': s }),
  'a cookie': s => asking({ cookie: `session=${s}` }),
  'a User-Agent': s => asking({ 'user-agent': s }),
  'a query': s => ({ path: `user-status?token=${s}`, status: 404 }),
  'an unknown path': s => ({ path: `${s}?x=${s}`, status: 404 }),
  'the name of another': s => ({ path: `labs/${s}/create`, request: post({ options: tag }), status: 403 }),
  'the name of a stream': s => ({ path: `labs/${s}/events`, status: 403 }),
  'a name to look for': s => ({ as: 'admin', path: `labs/${s}`, status: 404 }),
  'a name to delete': s => ({ as: 'admin', path: `labs/${s}`, request: { method: 'DELETE' }, status: 404 }),
  'a method': s => ({ path: `labs/${s}`, request: { method: 'PUT', headers: json }, status: 405 }),
}

/** Sends all of them, through one replica after another. Returns the names of those with a wrong status. */
export async function misplace(
  fleet: Fleet,
  user: Client,
  plant: (name: string) => string,
  keep: (answer: unknown) => void,
): Promise<string[]> {
  const wrong: string[] = []
  for (const [name, make] of Object.entries(misplaced)) {
    const { as, path = 'labs/ME/create', request, status } = make(plant(name))
    const client = as === 'admin' ? fleet.admin : user
    const answer: Answer = await client.request(path.replace('ME', user.username), request)
    keep([...answer.headers])
    keep(answer.body)
    if (answer.status !== status) wrong.push(`${name}: ${answer.status}`)
  }
  return wrong
}

/** Sends text that is barely HTTP, unchanged. Returns the answer. */
export function sendRaw(url: string, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(url).port) }, () => socket.write(text))
    socket.on('data', chunk => chunks.push(chunk))
    socket.once('error', reject)
    socket.once('close', () => resolve(Buffer.concat(chunks).toString()))
  })
}
