/** The life of a lab through openapi-fetch, with the types that openapi-typescript made of the document: one line of JSON. */
import createClient from 'openapi-fetch'
import type { components, paths } from './skylab.d.ts'

const { ORIGIN = '', LAB_USER = '', TOKEN = '', ADMIN = '' } = process.env
const clientOf = (token: string) =>
  createClient<paths>({ baseUrl: ORIGIN, headers: { Authorization: `Bearer ${token}` } })
const [user, admin] = [clientOf(TOKEN), clientOf(ADMIN)]
const path = { username: LAB_USER }
const labs = '/nublado/spawner/v1/labs'

type ErrorType = components['schemas']['ErrorType']
const refusal = ({ error, response }: { error?: components['schemas']['ErrorBody']; response: Response }) => [
  response.status,
  error?.detail[0]?.type as ErrorType | undefined,
]

const body: components['schemas']['CreateLab'] = { options: { image_type: 'recommended', size: 'small' } }
// @ts-expect-error an unknown size
const wrong: components['schemas']['CreateLab'] = { options: { image_type: 'recommended', size: 'enormous' } }

const create = (sent: typeof body, header = {}) =>
  user.POST(`${labs}/{username}/create`, { params: { path, header }, body: sent })

async function lastEvent(): Promise<string | undefined> {
  const { data } = await user.GET(`${labs}/{username}/events`, { params: { path }, parseAs: 'text' })
  return data?.match(/(?<=^event: ).*$/gm)?.at(-1)
}

const refused = refusal(await create(wrong))
const created = await create(body, { Prefer: 'return=minimal' })
const outcome = await lastEvent()
const { data: lab } = await user.GET('/nublado/spawner/v1/user-status')
const { data: listed } = await admin.GET(labs)
const again = refusal(await create(body))
const forbidden = refusal(await user.GET(`${labs}/{username}`, { params: { path } }))
const { response: deleted } = await admin.DELETE(`${labs}/{username}`, { params: { path } })
const deletion = await lastEvent()
const gone = refusal(await user.GET('/nublado/spawner/v1/user-status'))

console.log(
  JSON.stringify({
    refused,
    created: created.error === undefined ? created.response.status : created.error,
    location: created.response.headers.get('location'),
    outcome,
    status: lab?.status,
    first: lab?.events[0]?.event,
    listed: listed?.includes(LAB_USER),
    again,
    forbidden,
    deleted: deleted.status,
    deletion,
    gone,
  }),
)
