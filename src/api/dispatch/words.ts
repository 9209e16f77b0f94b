/** Descriptions and examples of the routes of containers, for the document. */
import type { z } from '@hono/zod-openapi'
import type { Told } from '../../containers/service.ts'
import { commonWords, type DocumentWords } from '../document/document.ts'
import { formatEvent, preamble } from '../sse/sse.ts'
import type { instances, queuedContainers } from './management-schemas.ts'
import type { containerBody, containerList } from './schemas.ts'

export const documentWords: DocumentWords = {
  title: 'Skylab: containers on machines of a cloud',
  description: `A container is a command in an image, which waits in a queue until a machine of a cloud has it. Machines are made for
those that wait, and end when nobody needs them. Fields and states have Arvados' names.

${commonWords}
- The routes take bearer tokens alone: a request with a cookie, or from a page in a browser, is answered 403.
- Users see their own containers. The routes under \`/dispatch/admin/v1\` show administrators all of them.
- What was only queued goes with Redis' data, if these are lost; what runs goes on. Clients send it again, with its
  \`Idempotency-Key\`.
- An event stream is read with a library for server-sent events, not with a generated client: see \`followContainer\`.`,
  tags: [
    { name: 'containers', description: 'Commands that run on machines of a cloud' },
    { name: 'management', description: 'The machines, by Arvados’ paths, for operators' },
  ],
}

export const createWords = `Puts a container into the queue. It is scheduled by priority, then by age, to the cheapest type of machine that it fits.
If it fits none, 422 names all types and what each of them lacks.

With an \`Idempotency-Key\`, a repeat of the same body within ten minutes gets the container of the first one, or 410 if that has ended and is
not kept any more: it never runs again by its key.

Values of \`secret_environment\`, and values of \`environment\` whose names look like secrets or that have a password in an address,
are stored sealed, and shown as \`***\`. They are on no command line, and in no log of Skylab. What the command itself prints is kept
as it is.`

export const listWords = `Containers by age, in pages. Those that have ended are kept for 7 days, or less where the site keeps fewer: the one that ended first
goes first.`
export const getWords = `All of a container but the values of its secrets. \`scheduling_status\` says why it waits.`
export const changeWords = `Changes its priority. 0 takes it from the scheduler; if a machine has it already, it is killed, and Cancelled.
409 if it has ended.`
export const cancelWords = `Cancels it. One that waits is Cancelled at once. One that runs gets SIGTERM, and SIGKILL if it goes on. One that has ended stays as it is;
the answer has its state.`

export const eventsWords = `Server-sent events, until the container has ended. \`id\` is \`<series>-<number>\`; \`event\` is one of
- \`state\`: \`{"state", "at", …}\`: it is in another state; \`Queued\` again says that it waits for another machine
- \`priority\`: \`{"priority"}\`
- \`cancelling\`: \`{"reason"}\`: it is being stopped
- \`gone\`: its data were lost with Redis', or dropped after its end; the last event, without an id

Without \`Last-Event-ID\` a stream begins with the first event. With it, it goes on after that event, at any replica. A comment line is
sent after 15 s of silence.`

export const logWords = `What its command writes, both streams as they come, as text: the first 64 KiB and the last 1 MiB. A line in brackets says how many
bytes are missing between. Nothing else of its output is kept: a command stores its results itself. 410: it has ended, and the site
keeps its output no longer. Where that happens while it is read, the text ends with \`[the rest is not kept any more]\`.

With \`follow\` it goes on until the container has ended, or \`api.limits.maxLogSeconds\`. Beyond \`api.limits.maxLogBytes\`, or if nobody
reads, the connection is cut.`

export const containerExample: z.output<typeof containerBody> = {
  ...{ uuid: 'zzzzz-dz642-000000000000a1b', owner: 'ada', tenant: 'default', state: 'Running', priority: 500 },
  ...{ command: ['python', 'fit.py', '--field', '17'], container_image: 'registry.example.org/fit:2.1' },
  ...{ environment: { FIELD: '17', ARCHIVE_TOKEN: '***' }, cwd: '.' },
  mounts: { '/scratch': { kind: 'tmp', capacity: 10_000_000_000 } },
  runtime_constraints: { vcpus: 2, ram: 4_294_967_296, gpus: 0 },
  scheduling_parameters: { preemptible: false, supervisor: false, max_run_time: 3600 },
  ...{ container_count_max: 3, attempt: 1, instance: 'i-0123456789abcdef0', instance_type: 'm6i.large' },
  ...{ gateway_address: '10.1.2.3:40111', exit_code: null, created_at: '2026-01-01T00:00:00.000Z' },
  ...{ started_at: '2026-01-01T00:02:00.000Z', finished_at: null, cost: 0.016, runtime_status: {} },
  scheduling_status: '',
}

export const listExample: z.output<typeof containerList> = { containers: [containerExample] }

const series = '371'
const told: Told[] = [
  { id: `${series}-1`, event: 'state', data: JSON.stringify({ state: 'Queued', at: '2026-01-01T00:00:00.000Z' }) },
  { id: `${series}-2`, event: 'state', data: JSON.stringify({ state: 'Locked', at: '2026-01-01T00:01:00.000Z' }) },
  { id: `${series}-3`, event: 'state', data: JSON.stringify({ state: 'Running', at: '2026-01-01T00:02:00.000Z' }) },
]

/** A stream, as text. */
export const exampleStream = `${preamble}${told.map(formatEvent).join('')}`

export const exampleQueued: z.output<typeof queuedContainers> = {
  items: [
    {
      container: {
        ...{ uuid: containerExample.uuid, owner: 'ada', state: 'Queued', priority: 500 },
        container_image: containerExample.container_image,
        runtime_constraints: containerExample.runtime_constraints,
        scheduling_parameters: containerExample.scheduling_parameters,
        ...{ created_at: containerExample.created_at, started_at: null },
      },
      instance_types: [
        {
          ...{ Name: 'm6i.large', ProviderType: 'm6i.large', VCPUs: 2, RAM: 8_589_934_592 },
          ...{ IncludedScratch: 16_000_000_000, AddedScratch: 0, Price: 0.096, Preemptible: false },
        },
      ],
      first_seen_at: containerExample.created_at,
      scheduling_status: 'It waits: no more than 64 machines may run.',
    },
  ],
  more: false,
}

export const exampleInstances: z.output<typeof instances> = {
  items: [
    {
      ...{ instance: containerExample.instance, address: '10.1.2.3:22', price: 0.096 },
      ...{ arvados_instance_type: 'm6i.large', provider_instance_type: 'm6i.large' },
      ...{ last_container_uuid: containerExample.uuid, last_busy: '2026-01-01T00:01:00.000Z' },
      ...{ running_container_uuids: [containerExample.uuid], worker_state: 'running', idle_behavior: 'run' },
      ...{ name: 'a1c', tenant: 'default', created_at: '2026-01-01T00:00:30.000Z', ending: '', broken: '' },
    },
  ],
}
