/** Descriptions and examples of the routes of apps, for the document. */
import type { z } from '@hono/zod-openapi'
import type { AppEvent } from '../../appcontrol/events.ts'
import { commonWords, type DocumentWords } from '../document/document.ts'
import { formatEvent, preamble } from '../sse/sse.ts'
import type { appDetail, appList, podList } from './schemas.ts'

export const documentWords: DocumentWords = {
  title: 'Skylab: apps',
  description: `An app is a program of a group, with a web interface behind the platform's own address. It is an object of the kind
PhApplication: here it is seen, started, stopped, changed and deleted. What it is now follows what is wished: \`phase\` and the
events say how far it is.

${commonWords}
- The routes take bearer tokens alone: a request with a cookie, or from a page in a browser, is answered 403. So no app can speak
  to them in the name of its visitor.
- Users see the apps of their groups. The routes under \`/apps/admin/v1\` show administrators all apps.
- A change can be bound to a version: \`If-Match\` with the \`ETag\` of an answer; 412 says that the app has another one.
- An event stream is read with a library for server-sent events, not with a generated client: see \`followApp\`.`,
  tags: [
    { name: 'apps', description: 'Programs of groups behind the platform’s address' },
    { name: 'templates', description: 'What apps are made of' },
    { name: 'graphql', description: 'The same by the names of PrimeHub' },
    { name: 'sessions', description: 'The sessions of people in apps' },
  ],
}

export const listWords = `Apps by id, in pages. A user sees those of the groups that the caller is a member of. If there are more, \`cursor\` is the
parameter of the next page.`

export const detailWords = `All of an app but the values of secret variables, which are shown as \`***\`. Its \`ETag\` is the version of what is wished.`

export const createWords = `Makes an app of a template, for a group of the caller's. It begins to start at once; \`phase\` and the events say how far it is.

The id is the key of a repeat: the same wish again is answered 200 with the app that is there, and changes nothing. Values of secret
variables are not compared, since nobody can read them; send a change for these. Any other wish under an id that is taken is 409.

The variables are those of the template's container, then those of \`env\`. Without \`env\` they have the defaults of the template. A
variable of \`env\` without a value has its default; one that is not optional must have a value.`

export const changeWords = `Changes what is wished of an app; a key that is absent stays as it is. Id, group and template cannot be changed.

\`env\` replaces the variables that people gave it, as a whole. A variable without a value stays as it stands, and so does one
whose value is \`***\` as it was shown. Variables whose names are those of secrets, or whose values have a password in an address, are
stored in a Secret of the app. Kubernetes expands no \`$(NAME)\` in these.

The app's pod is replaced if that is needed. A request can be repeated.`

export const deleteWords = `Deletes the app with its Deployment, Service and Secret, and cuts its sessions. What it has stored in a volume of the group stays.`

export const startWords = `Wishes that it runs. It is answered at once, also if it runs already; \`phase\` and the events say how far it is.`
export const stopWords = `Wishes that it does not run. Its sessions are cut within a second. Its objects and its data stay.`

export const podsWords = `The pods that belong to the app now: one, and two while it is updated.`

export const activityWords = `What is known of its use, by the last look of any replica, and when it is stopped for idleness.`

export const revokeWords = `Ends the sessions of a user, of an app, or of a user in an app, at all gateways within a second: open streams and WebSockets
are cut. A user without an app is logged out. Whoever may can log in again.`

export const eventsWords = `Server-sent events that go on until the app is gone. \`id\` is \`<series>-<number>\`; \`event\` is one of
- \`info\`, \`error\`: what the cluster says of its pods, in words: where a pod is placed, that its image is pulled, why it cannot
- \`phase\`: \`{"phase", "message"}\`: the app is in another phase, or for another reason
- \`gone\`: the app is gone; the last event, without an id

Without \`Last-Event-ID\` a stream begins with all events that are kept: the last 200 of this app, for a week. With it, it goes on
after that event, at any replica. A comment line is sent after 15 s of silence.

- An app that is deleted and made again has a new series: an id of the former one is answered with all events of the new one.
- Events come from Redis. While it is silent there are none, and apps go on; what happened is reported when it answers again.`

const id = 'mlflow'
export const listExample: z.output<typeof appList> = {
  apps: [
    {
      ...{ id, displayName: 'Experiments', group: 'physics', scope: 'group', stop: false },
      ...{ phase: 'Ready', message: '', url: 'https://hub.example.org/console/apps/mlflow/' },
    },
  ],
}

export const detailExample: z.output<typeof appDetail> = {
  ...listExample.apps[0]!,
  ...{ uid: '0b0f6f0e-3a52-4f0c-8f2b-8f7d1b8f6f55', namespace: 'physics', instanceType: '' },
  image: 'registry.example.org/mlflow:2.14',
  env: [{ name: 'S3_SECRET_KEY', value: '***' }],
  templateEnv: [{ name: 'BACKEND_STORE_URI', value: 'sqlite:///$(PRIMEHUB_APP_ROOT)/mlflow.db' }],
  ...{ httpPort: 5000, rewrite: false },
  ...{ serviceName: 'app-mlflow', endpoints: ['app-mlflow.physics:5000'] },
  ...{ createdAt: '2026-01-01T00:00:00.000Z', generation: 3, observedGeneration: 3 },
  conditions: [{ type: 'Available', status: 'True', reason: 'Available', message: '' }],
}

export const podsExample: z.output<typeof podList> = {
  pods: [
    {
      ...{ name: 'app-mlflow-7c9d5b6f4-x2x8k', phase: 'Running', ready: true, restarts: 0, deleting: false },
      ...{ node: 'node-1', message: '' },
    },
  ],
}

const series = '1767225600000'
export const exampleEvents: AppEvent[] = [
  { id: `${series}-1`, event: 'phase', data: JSON.stringify({ phase: 'Starting', message: '' }) },
  { id: `${series}-2`, event: 'info', data: 'Successfully assigned physics/app-mlflow-7c9d5b6f4-x2x8k to node-1' },
  { id: `${series}-3`, event: 'phase', data: JSON.stringify({ phase: 'Ready', message: '' }) },
]

/** A stream, as text. */
export const exampleStream = `${preamble}${exampleEvents.map(formatEvent).join('')}`
