/** Descriptions and examples of the routes of labs, for the document. */
import type { z } from '@hono/zod-openapi'
import type { LabEvent } from '../../base/domain.ts'
import type { ApiParts } from '../request/env.ts'
import { formatEvent, preamble } from '../sse/sse.ts'
import type { labStatus } from './schemas.ts'

export const createWords = `The answer comes when the creation is queued; its events report how it goes on. A lab that has failed is removed first.
Nobody can create the lab of another user, not even an administrator.

**Do not follow the 303.** It only says that the creation is accepted. Most clients follow it unless configured otherwise, and then
report another answer: by default \`Location\` is the route of administrators, so the user gets 403 although the lab is being
created. Choose one of these:
- send \`Prefer: return=minimal\`: the answer is 201 with the same \`Location\`, and no client follows that. This is the way for
  browsers, since \`redirect: 'manual'\` hides the answer there
- switch it off: \`redirect: 'manual'\` (fetch in Node), \`allow_redirects=False\` (requests); httpx, aiohttp with
  \`allow_redirects=False\`, and curl without \`-L\` do not follow
- let the site set \`api.createLocation: user-status\`: \`Location\` is then the status of the caller's own lab

A repeat with the same \`Idempotency-Key\` gets the form of answer that the repeat itself asks for.`

export const removeWords = `A deletion ends a creation in progress; a second request joins the deletion in progress. Its events report how it
goes on. After it the user has no lab, and the events can be read for ten minutes more.`

const op = 1767225600000000
export const exampleEvents: LabEvent[] = [
  { event: 'info', data: 'lab creation initiated for ada', id: `${op}-1` },
  { event: 'progress', data: '1', id: `${op}-2` },
  { event: 'complete', data: 'Operation complete for ada', id: `${op}-3` },
]

/** A whole stream, as text. */
export const exampleStream = `${preamble}${exampleEvents.map(formatEvent).join('')}`

export const eventsWords = `Server-sent events. Read them with a library for them: generated clients know the text of a stream only. The fields of
each event are those of \`#/components/schemas/Event\`: \`id\` is \`<operation>-<number>\`, without gaps; \`event\` is one of
- \`info\`: a message, or a stage that is done
- \`progress\`: a whole percentage, which never falls
- \`error\`: what went wrong or may go wrong, in words; the operation goes on
- \`complete\`: the operation has ended well
- \`failed\`: the operation has ended; the last \`error\` before it says why

The server closes the stream after \`complete\` or \`failed\`. Without \`Last-Event-ID\` a stream begins at the start of the current
operation. With it, the stream goes on after that event, at any replica, and in the operation of that event, although another one
may have begun. A stream that ends before its operation is continued in this way; \`retry\` says after how many milliseconds. A
comment line is sent after 15 s of silence. A user can have 20 open streams by default, and a reader that takes nothing is cut.

- The id of the last event of an ended operation, and the id of an operation that is not kept, are answered 204: stop asking.
- An id beyond the end of its operation is answered with all events from the first one, since the stream was lost and begun
  anew. An id that was seen before can then belong to a new event.

\`\`\`
${exampleStream.trimEnd()}
\`\`\``

const gibibyte = 2 ** 30
export const labExample: z.output<typeof labStatus> = {
  username: 'ada',
  status: 'running',
  pod: 'present',
  internal_url: 'http://nb-ada.nublado-ada:8888/',
  options: { image_type: 'recommended', size: 'small' },
  env: { TZ: 'UTC', JUPYTERHUB_API_TOKEN: '***' },
  uid: 4000000,
  gid: 4000000,
  groups: [{ name: 'ada', id: 4000000 }],
  quotas: { limits: { cpu: 1, memory: 4 * gibibyte }, requests: { cpu: 0.25, memory: gibibyte } },
  events: exampleEvents,
}

/** They are accepted unchanged: size and tag are those of the configuration. */
export function createExamples({ lab, images }: Pick<ApiParts['config'], 'lab' | 'images'>) {
  const size = lab.defaultSize
  return {
    plain: {
      summary: 'plain values',
      value: { options: { image_type: 'recommended', size }, env: { TZ: 'UTC' } },
    },
    form: {
      summary: 'values as JupyterHub’s form gives them',
      value: {
        options: { image_tag: [images.recommendedTag], size: [size], enable_debug: ['true'], _xsrf: ['2|abc'] },
        env: { JUPYTERHUB_API_URL: 'http://hub.nublado:8081/nb/hub/api' },
      },
    },
  }
}
