/** The life of a lab through the client that @hey-api/openapi-ts made of the document: one line of JSON. */
import { createClient } from './skylab/client/index.ts'
import { createLab, deleteLab, followEvents, getLab, getOwnLab, listLabs } from './skylab/sdk.gen.ts'
import type { CreateLab, ErrorBody } from './skylab/types.gen.ts'

const { ORIGIN = '', LAB_USER = '', TOKEN = '', ADMIN = '' } = process.env
const clientOf = (token: string) => createClient({ baseUrl: ORIGIN, auth: () => token })
const [user, admin] = [clientOf(TOKEN), clientOf(ADMIN)]
const path = { username: LAB_USER }
const body: CreateLab = { options: { image_type: 'recommended', size: 'small' } }

const refusal = ({ error, response }: { error?: ErrorBody | undefined; response?: Response | undefined }) => [
  response?.status,
  error?.detail[0]?.type,
]

/** The client's own reader of streams: only here does it pass on the type of an event. */
async function lastEvent(): Promise<string | undefined> {
  let last: string | undefined
  const { stream } = await followEvents({
    client: user,
    path,
    onSseEvent: ({ event }) => {
      last = event
    },
  })
  for await (const data of stream) if (data === undefined) throw new Error('an event without data')
  return last
}

const created = await createLab({ client: user, path, body, headers: { Prefer: 'return=minimal' } })
const outcome = await lastEvent()
const { data: lab } = await getOwnLab({ client: user })
const { data: listed } = await listLabs({ client: admin })
const again = refusal(await createLab({ client: user, path, body }))
const forbidden = refusal(await getLab({ client: user, path }))
const { response: deleted } = await deleteLab({ client: admin, path })
const deletion = await lastEvent()
const gone = refusal(await getOwnLab({ client: user }))

console.log(
  JSON.stringify({
    created: created.error === undefined ? created.response?.status : created.error,
    location: created.response?.headers.get('location'),
    outcome,
    status: lab?.status,
    first: lab?.events[0]?.event,
    listed: listed?.includes(LAB_USER),
    again,
    forbidden,
    deleted: deleted?.status,
    deletion,
    gone,
  }),
)
