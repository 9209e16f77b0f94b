/** The block `dispatch.queue.arvados`: the queue of an Arvados cluster. */
import { z } from 'zod'
import { mayGetTokens } from '../base/loopback.ts'
import { goDuration } from './go-values.ts'

const imageHash = z.string().regex(/^[0-9a-f]{32}\+[0-9]{1,12}$/, { error: 'is not a portable data hash' })
const imageName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._\-/:@]{0,511}$/, { error: 'is not the name of an image' })

export const arvadosQueue = z.strictObject({
  url: z
    .string()
    .refine(mayGetTokens, {
      error: 'must be https, or http on a loopback address, without a user, a query or a fragment',
    })
    .transform(text => (text.endsWith('/') ? text : `${text}/`))
    .describe('the API server, such as `https://zzzzz.example.org/`'),
  tokenFile: z
    .string()
    .describe('a file with a token of an administrator of Arvados that no other dispatcher uses: its locks are ours'),
  caFile: z.string().optional().describe('authorities that are trusted beside the usual ones, as PEM'),
  StaleLockTimeout: goDuration('1m', { zero: true }).describe(
    'how long a lock of this token may stand that neither a record nor a machine here knows of; then its container is adopted, or unlocked',
  ),
  maxWaiting: z
    .number()
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .describe('containers that are locked in Arvados and wait here; as many more wait if their priorities are higher'),
  images: z
    .record(imageHash, imageName)
    .default({})
    .describe('by the portable data hash of an image in Keep: its name in a registry, since machines reach no Keep'),
  unsupported: z
    .enum(['cancel', 'leave'])
    .default('cancel')
    .describe(
      'what becomes of a container that cannot be run here: it is cancelled, with its reason in `runtime_status`, or left to other dispatchers',
    ),
})

export type ArvadosQueue = z.infer<typeof arvadosQueue>
